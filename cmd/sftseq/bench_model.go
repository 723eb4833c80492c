package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

func benchModelCommand() *cli.Command {
	return &cli.Command{
		Name:  "model",
		Usage: "measure prediction and training of a model",
		UsageText: `sftseq bench model [--config NAME|PATH] [--length N,…] [--batch B,…] [flags]

Example: sftseq bench model --config listops --batch 8
         sftseq bench model --what forward --length 1024,4096,16384 --batch 1 --plot time.svg
         sftseq bench model --config text:quick --length 1024 --what train --profile
         sftseq bench model --device vulkan --profile --what train`,
		Description: `Measures a model with random weights on random tokens, points or graphs: forward as predict does,
train as a step of training. Prints tokens per second, the time (the median after a warm-up), the fraction
of the peak rate (a loop of float32 multiply-adds) and the peak memory. --profile adds the time of
each kernel. More: docs/performance.md`,
		Flags: benchFlags(append(group(modelGroup,
			&cli.StringFlag{Name: "config", Value: lra.ListOps.Name,
				Usage:     "measure the model of `NAME`: TASK[:PRESET], graphs, a directory or a config.json",
				TakesFile: true},
			&cli.IntFlag{Name: "k", Usage: "attend to `N` sampled tokens", DefaultText: "from the configuration"},
			&cli.StringFlag{Name: "convolutions", Usage: "convolve tokens over `TAPS,…` before attention; none: no convolutions",
				DefaultText: "from the configuration"},
			&cli.StringFlag{Name: "length", Usage: "measure rows of `N,…` tokens",
				DefaultText: "2048, or the maximum length of the model"},
			&cli.StringFlag{Name: "batch", Value: "8", Usage: "measure batches of `B,…` rows"},
			&cli.IntFlag{Name: "edges-per-node", Value: bench.DefaultEdges,
				Usage: "draw graphs with `N` edges per node on average"},
			&cli.StringFlag{Name: "what", Value: "both", Usage: "measure `PASS`: forward, train or both"},
			&cli.IntFlag{Name: "reps", Value: 5, Usage: "repeat `N` times"},
			&cli.StringFlag{Name: "memory", Value: "4GiB", Usage: "limit memory to `SIZE`; larger batches are skipped"},
			&cli.BoolFlag{Name: "profile", Usage: "add the time of each kernel"}),
			plotFlag("draw tokens per second over length"))...),
		Action: benchModel,
	}
}

// modelBench holds the options of bench model.
type modelBench struct {
	config           *sft.Config
	settings         train.Settings
	passes           []string
	lengths, batches []int
	edges            int // edges per node
	reps             int
	memory           int64
	profile          bool
	ceilings         *bench.Ceilings // nil if unknown
}

func benchModel(c *cli.Context) error {
	m, err := newModelBench(c)
	if err != nil {
		return err
	}
	report := newResults(c, 1, "what", "length", "batch", "k", "tokens/s", "time", "of peak", "peak memory")
	progress := newBenchProgress(c.App.ErrWriter, 1+len(m.passes)*len(m.lengths)*len(m.batches))
	if err := progress.measure("peak rates", func() error { return m.measureCeilings(c) }); err != nil {
		return err
	}
	var results []bench.ModelResult
	for _, batch := range m.batches {
		for _, length := range m.lengths {
			for _, pass := range m.passes {
				var r bench.ModelResult
				err := progress.measure(fmt.Sprintf("%s at length %d, batch %d", pass, length,
					batch), func() (err error) {
					r, err = m.measure(c, pass, length, batch)
					return err
				})
				if exceedsMemory(err) {
					fmt.Fprintf(c.App.ErrWriter, "%s at length %d, batch %d is skipped: %v\n", pass, length, batch, err)
					continue
				}
				if err != nil {
					return err
				}
				results = append(results, r)
				if err := report.add(r, r.What, strconv.Itoa(r.Length), strconv.Itoa(r.Batch), strconv.Itoa(r.K),
					bench.FormatDigits(r.TokensPerSec), bench.FormatSeconds(r.Seconds), bench.FormatPercent(r.Ceiling),
					bench.FormatBytes(r.PeakBytes)); err != nil {
					return err
				}
			}
		}
	}
	if len(results) == 0 {
		return errors.New("nothing was measured: every measurement needs too much memory: use a smaller --length or " +
			"--batch, or a larger --memory")
	}
	if err := report.finish(fmt.Sprintf("%s, %s", c.String("config"), results[0].Device),
		bench.DescribeArithmetic(m.ceilings)); err != nil {
		return err
	}
	for i := range results {
		if err := printKernels(c, &results[i]); err != nil {
			return err
		}
	}
	if c.IsSet("plot") {
		return m.plot(results, c.String("plot"))
	}
	return nil
}

// measureCeilings opens a device and measures its peak arithmetic rates.
func (m *modelBench) measureCeilings(c *cli.Context) error {
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	m.ceilings, err = bench.NewCeilings(d, benchThreads(c))
	return err
}

// exceedsMemory reports whether a measurement failed because it needs more memory than --memory allows
// or the device has.
func exceedsMemory(err error) bool {
	var planned *config.MemoryError
	return errors.As(err, &planned) || device.Full(err)
}

// measure performs one measurement on a newly opened device, so that the memory of earlier
// measurements is free.
func (m *modelBench) measure(c *cli.Context, pass string, length, batch int) (bench.ModelResult, error) {
	d, release, err := openBenchDevice(c)
	if err != nil {
		return bench.ModelResult{}, err
	}
	defer release()
	w := m.workload(d, length, batch)
	w.Memory = deviceMemoryLimit(c, d, m.memory)
	measured, err := w.Measure(c.Context, pass, m.reps, m.profile)
	if err != nil {
		return bench.ModelResult{}, err
	}
	return m.toResult(c, w, pass, measured)
}

func (m *modelBench) workload(d tensor.Device, length, batch int) *bench.Workload {
	w := &bench.Workload{Config: m.config, Settings: m.settings, Length: length, EdgesPerNode: m.edges,
		Device: d, Memory: m.memory}
	w.Settings.Batch = batch
	return w
}

// toResult converts a measurement to a result, with the operations per token and the fraction of
// the device's peak rate.
func (m *modelBench) toResult(c *cli.Context, w *bench.Workload, pass string,
	measured bench.Measurement) (bench.ModelResult, error) {
	operations, err := w.Operations(pass)
	if err != nil {
		return bench.ModelResult{}, err
	}
	r := bench.ModelResult{What: pass, Config: c.String("config"), Length: w.Length, Batch: w.Settings.Batch,
		K:       m.config.NumSampledTokens,
		Threads: benchThreads(c), Device: w.Device.Name(), Precision: precisionOf(w.Device),
		Seconds: measured.Seconds, TokensPerSec: float64(w.Tokens()) / measured.Seconds,
		Operations: operations.Total() / float64(w.Tokens()),
		PeakBytes:  measured.Peak, Kernels: bench.KernelShares(measured.Kernels, operations, m.ceilings)}
	if m.config.Edged() {
		r.EdgesPerNode = m.edges
	}
	if m.ceilings != nil {
		r.Ceiling = m.ceilings.Fraction(r.Operations * r.TokensPerSec)
	}
	return r, nil
}

func newModelBench(c *cli.Context) (*modelBench, error) {
	m := &modelBench{reps: c.Int("reps"), profile: c.Bool("profile")}
	switch pass := c.String("what"); pass {
	case "both":
		m.passes = []string{bench.Forward, bench.Train}
	case bench.Forward, bench.Train:
		m.passes = []string{pass}
	default:
		return nil, badFlag(c, "what", "forward, train or both")
	}
	if m.reps < 1 {
		return nil, badFlag(c, "reps", "at least 1")
	}
	var err error
	if m.config, m.settings, err = benchConfig(c.String("config")); err != nil {
		return nil, fmt.Errorf("--config %w", err)
	}
	if m.config.Chunks != nil {
		return nil, fmt.Errorf("--config %s: expected a model without chunks, found chunks of %d tokens: bench "+
			"measures one program per length, but a chunked model has two: measure it with sftseq predict or eval",
			c.String("config"), m.config.Chunks.Average)
	}
	if c.IsSet("k") {
		if m.config.NumSampledTokens = c.Int("k"); !m.config.HasAttention() {
			m.config.Relative = config.NoRelation
		}
		if err := m.config.Validate(); err != nil {
			return nil, modelUsage(c, err)
		}
	}
	if c.IsSet("convolutions") {
		if m.config.Convolutions, err = config.ParseConvolutions(c.String("convolutions")); err != nil {
			return nil, invalidFlag(c, "convolutions", err)
		}
	}
	switch m.edges = c.Int("edges-per-node"); {
	case c.IsSet("edges-per-node") && !m.config.Edged():
		return nil, usage(c, "--edges-per-node: tokens of %s have no edges", c.String("config"))
	case m.edges < 0 || m.edges > 1<<16:
		return nil, badFlag(c, "edges-per-node", "0 to %d", 1<<16)
	}
	if m.memory, err = memoryLimit(c); err != nil {
		return nil, err
	}
	if m.batches, err = parseCounts(c, "batch"); err != nil {
		return nil, err
	}
	return m, m.readLengths(c)
}

// readLengths parses --length, and checks the lengths against the model and --plot. Models of point
// clouds and graphs have no maximum length, so readLengths raises the configured value if necessary.
func (m *modelBench) readLengths(c *cli.Context) (err error) {
	minLength := m.config.Sequences() // one token per sequence
	maxLength := minLength * m.config.MaxLength
	if c.IsSet("length") {
		if m.lengths, err = parseCounts(c, "length"); err != nil {
			return err
		}
	} else {
		m.lengths = []int{min(bench.DefaultLength, maxLength)}
	}
	if m.config.HasFeatures() {
		longest := slices.Max(m.lengths)
		maxLength = max(maxLength, longest)
		m.config.MaxLength = max(maxLength, sft.PlannedTokens(longest, longest*m.edges))
	}
	for _, n := range m.lengths {
		if n > maxLength || n < minLength {
			return usage(c, "--length %d: expected %d to %d tokens, the limits of the model", n, minLength, maxLength)
		}
	}
	if err := checkPlotPath(c, "plot"); err != nil {
		return err
	}
	if c.IsSet("plot") && len(m.lengths) < 2 {
		return usage(c, "--plot draws over length: expected at least two lengths, such as --length 1024,2048")
	}
	return nil
}

// benchConfig returns the model configuration and training settings for a name: a task and
// optionally a preset after a colon, generated data, or a path. The default preset is the task's
// last, which is the published preset if the task has one.
func benchConfig(name string) (*sft.Config, train.Settings, error) {
	if task, spec := lra.Generated(name); task != nil {
		return presetConfig(task.Presets[0], spec)
	}
	taskName, presetName, hasPreset := strings.Cut(name, ":")
	task, err := lra.Lookup(taskName)
	if err != nil {
		path := name
		info, statErr := os.Stat(path)
		if statErr != nil {
			return nil, train.Settings{}, fmt.Errorf("%s: expected a config.json, a model directory or a task, such "+
				"as text or text:paper (one of %s): %w", name, strings.Join(lra.Names(), ", "),
				atomicfile.Cause(statErr))
		}
		if info.IsDir() {
			path = filepath.Join(path, "config.json")
		}
		cfg, err := config.Read(path)
		switch runs := describeRuns(name, "--config "); {
		case err != nil && runs != "":
			err = errors.New(runs)
		case err != nil && info.IsDir() && errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s: expected a model directory with config.json%s", name, foundInstead(name))
		case err == nil && cfg.IsLinear():
			err = withoutLayers(name)
		}
		// A configuration file has no training settings, and their values do not change the time.
		return cfg, lra.ListOps.Presets[0].Settings, err
	}
	if !hasPreset {
		presetName = task.Presets[len(task.Presets)-1].Name
	}
	preset, err := task.Preset(presetName)
	if err != nil {
		return nil, train.Settings{}, fmt.Errorf("%s: %w", name, err)
	}
	spec, err := task.Spec()
	if err != nil {
		return nil, train.Settings{}, err
	}
	return presetConfig(preset, spec)
}

// foundInstead returns the end of an error about a directory without config.json.
func foundInstead(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, seq.ManifestName)); err == nil {
		return ", found a data set"
	}
	return ", found none"
}

// presetConfig returns the model configuration of a preset, adapted to a data specification.
func presetConfig(preset *lra.Preset, spec seq.Spec) (*sft.Config, train.Settings, error) {
	config := preset.Config
	return &config, preset.Settings, config.DescribeData(spec)
}

// plot draws tokens per second over length, with a line for each pass and batch size.
func (m *modelBench) plot(results []bench.ModelResult, path string) error {
	p := benchChart("length (tokens)", "tokens/s", m.lengths)
	for _, pass := range m.passes {
		for _, batch := range m.batches {
			series := chart.Series{Name: fmt.Sprintf("%s, batch %d", pass, batch)}
			for _, r := range results {
				if r.What == pass && r.Batch == batch {
					series.Points = append(series.Points, chart.Datum{X: float64(r.Length), Y: r.TokensPerSec})
				}
			}
			if len(series.Points) > 0 {
				p.Series = append(p.Series, series)
			}
		}
	}
	return saveBenchChart("Speed by length", p, path)
}
