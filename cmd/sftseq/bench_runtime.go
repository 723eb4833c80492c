package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/tensor"
)

func benchRuntimeCommand() *cli.Command {
	return &cli.Command{
		Name:  "runtime",
		Usage: "measure one layer, as the paper's runtime table does",
		UsageText: `sftseq bench runtime [--shape NAME] [--threads N] [--plot FILE] [--json]

Example: sftseq bench runtime --plot runtime.svg`,
		Description: fmt.Sprintf(`Measures the forward pass of a layer of 256 channels on %d sequences of %d tokens: SFT layers by k, with
the relative encoding and without, and a layer of full attention. Prints medians beside the seconds of the
paper's Table 6, whose machine is not known: compare the ratios. More:
docs/performance.md`, bench.TableBatch, bench.TableLength),
		Flags: benchFlags(
			&cli.StringFlag{Name: "shape", Value: "usual",
				Usage: "measure layers of `SHAPE`: usual (16 heads) or notebook (the authors', 8 heads)"},
			&cli.IntFlag{Name: "length", Value: bench.TableLength, Usage: "measure sequences of `N` tokens"},
			&cli.IntFlag{Name: "reps", Value: 5, Usage: "measure `N` rounds"},
			plotFlag("draw seconds over k")),
		Action: benchRuntime,
	}
}

// layerResult is a row of the table.
type layerResult struct {
	Layer    string  `json:"layer"`
	Relative string  `json:"relative"`
	K        int     `json:"k"`
	Length   int     `json:"length"`
	Batch    int     `json:"batch"`
	Threads  int     `json:"threads"`
	Device   string  `json:"device"`
	Heads    int     `json:"heads"`
	MLP      int     `json:"mlp"`
	Seconds  float64 `json:"seconds"`
	// Ratio is the median of the ratios to the vanilla layer in the same round.
	Ratio        float64 `json:"ratio_to_vanilla"`
	PaperSeconds float64 `json:"paper_seconds,omitempty"`
	PaperRatio   float64 `json:"paper_ratio,omitempty"` // ratio to the paper's transformer
}

// runtimeBench holds the measured times of each layer in each round.
type runtimeBench struct {
	layers  []bench.Layer
	runs    []bench.Run
	seconds [][]float64 // seconds by layer and round
}

// countFlag returns the integer value of a flag, or an error if it is out of range.
func countFlag(c *cli.Context, name string, low, high int) (int, error) {
	n := c.Int(name)
	if n < low || n > high {
		return 0, badFlag(c, name, "%d to %d", low, high)
	}
	return n, nil
}

func benchRuntime(c *cli.Context) error {
	if err := checkPlotPath(c, "plot"); err != nil {
		return err
	}
	shape, ok := bench.LayerShapes[c.String("shape")]
	if !ok {
		return badFlag(c, "shape", "usual or notebook")
	}
	length, err := countFlag(c, "length", 64, 1<<20)
	if err != nil {
		return err
	}
	rounds, err := countFlag(c, "reps", 1, 1<<20)
	if err != nil {
		return err
	}
	d, release, err := openBenchDevice(c)
	if err != nil {
		return err
	}
	defer release()
	b, err := newRuntimeBench(d, bench.Layers(shape, length))
	if err != nil {
		return err
	}
	progress := newBenchProgress(c.App.ErrWriter, rounds*len(b.layers))
	for range rounds {
		if err := b.measureRound(c.Context, progress); err != nil {
			return err
		}
	}
	report := newResults(c, 2, runtimeColumns...)
	notes, err := b.addRows(c, d, report.add)
	if err == nil {
		err = report.finish(notes...)
	}
	if err != nil || !c.IsSet("plot") {
		return err
	}
	return saveBenchChart("Time of a layer by k", b.chart(), c.String("plot"))
}

func newRuntimeBench(d tensor.Device, layers []bench.Layer) (*runtimeBench, error) {
	b := &runtimeBench{layers: layers}
	b.seconds = make([][]float64, len(b.layers))
	for _, l := range b.layers {
		f, err := l.Prepare(d)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", l, err)
		}
		b.runs = append(b.runs, f)
	}
	return b, nil
}

// measureRound measures every layer once.
func (b *runtimeBench) measureRound(ctx context.Context, progress *benchProgress) error {
	for i, l := range b.layers {
		err := progress.measure(l.String(), func() error {
			s, err := bench.LayerSeconds(ctx, b.runs[i])
			b.seconds[i] = append(b.seconds[i], s)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var runtimeColumns = []string{"layer", "relative", "k", "time", "ratio to vanilla", "paper's time", "paper's ratio"}

// addRows calls add for each row of the table, and returns the notes below the table.
func (b *runtimeBench) addRows(c *cli.Context, d tensor.Device,
	add func(value any, row ...string) error) (notes []string, err error) {
	shape := b.layers[0].LayerShape
	notes = []string{fmt.Sprintf("%s; threads %d, rounds %d; %d heads, MLP %d", d.Name(), benchThreads(c),
		len(b.seconds[0]), shape.Heads, shape.Intermediate)}
	for i, l := range b.layers {
		r := layerResult{Layer: l.Kind, Relative: l.Relative, K: l.K, Length: l.Length, Batch: bench.TableBatch,
			Heads: l.Heads, MLP: l.Intermediate,
			Threads: benchThreads(c), Device: d.Name(), Seconds: bench.SpreadOf(b.seconds[i]).Median,
			Ratio: b.ratioToVanilla(i), PaperSeconds: l.PaperSeconds()}
		row := []string{l.Kind, strings.TrimSuffix(l.Relative, "_hadamard"), strconv.Itoa(l.K),
			bench.FormatSeconds(r.Seconds), bench.FormatDigits(r.Ratio), "", ""}
		if r.PaperSeconds > 0 {
			r.PaperRatio = r.PaperSeconds / b.layers[0].PaperSeconds()
			row[5], row[6] = bench.FormatSeconds(r.PaperSeconds), bench.FormatDigits(r.PaperRatio)
		}
		if err := add(r, row...); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// ratioToVanilla returns the median ratio of layer i to the vanilla layer, which is the first
// layer.
func (b *runtimeBench) ratioToVanilla(i int) float64 {
	var ratios []float64
	for round, s := range b.seconds[i] {
		ratios = append(ratios, s/b.seconds[0][round])
	}
	return bench.SpreadOf(ratios).Median
}

// chart plots seconds over k. The vanilla layer does not depend on k and is a horizontal line.
func (b *runtimeBench) chart() chart.Chart {
	var ks []int
	lines, names := map[string][]chart.Datum{}, []string{}
	for i, l := range b.layers {
		if l.Kind != "sft" {
			continue
		}
		name := "SFT, relative " + strings.TrimSuffix(l.Relative, "_hadamard")
		if lines[name] == nil {
			names = append(names, name)
		}
		lines[name] = append(lines[name], chart.Datum{X: float64(l.K), Y: bench.SpreadOf(b.seconds[i]).Median})
		if !slices.Contains(ks, l.K) {
			ks = append(ks, l.K)
		}
	}
	for i, l := range b.layers {
		if l.Kind != "vanilla" {
			continue
		}
		names = append(names, "vanilla")
		for _, k := range ks {
			lines["vanilla"] = append(lines["vanilla"],
				chart.Datum{X: float64(k), Y: bench.SpreadOf(b.seconds[i]).Median})
		}
	}
	p := benchChart("k", "time of a layer (s)", ks)
	for _, name := range names {
		p.Series = append(p.Series, chart.Series{Name: name, Points: lines[name]})
	}
	return p
}
