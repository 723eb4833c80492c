package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
)

// flags of where and how a run is made; they do not change its result.
func runFlags(out string) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "data", Usage: "data set `DIR`; without it, one is generated once into the cache directory if the task's can be", TakesFile: true},
		&cli.StringFlag{Name: "out", Value: out, Usage: "run `DIR`", TakesFile: true},
		&cli.BoolFlag{Name: "resume", Usage: "go on from the checkpoint in --out"},
		&cli.StringFlag{Name: "config", Usage: "JSON `FILE` of flags, such as {\"batch\": 32, \"lr\": 0.0005}; the command line wins", TakesFile: true},
		&cli.StringFlag{Name: "init-from", Usage: "fine-tune the weights of the model in `DIR`; for other labels or another task with a fresh head", TakesFile: true},
		&cli.StringFlag{Name: "seeds", DefaultText: "of the preset, mostly --seed alone", Usage: "repeat for each `SEED,SEED,…` and report the mean; eval, predict and serve take --out as their --model, whose models then answer together"},
		threadsFlag(),
		&cli.StringFlag{Name: "memory", Value: "4GiB", Usage: "limit on memory; with less, fewer pieces train at once, with the same result; unless it is given, a graphics processor may take all it has"},
		&cli.DurationFlag{Name: "save-every", Value: time.Minute, Usage: "time between checkpoints"},
		&cli.IntFlag{Name: "stop-at", Usage: "stop after that `STEP`, to go on with --resume; the run's end, to which the learning rate falls, stays"},
		&cli.BoolFlag{Name: "tensorboard", Usage: "write the metrics to event files in --out, too, which TensorBoard draws"},
	}, append(rankFlags(), deviceFlags(device.Fastest)...)...)
}

// presetFlag has the presets of a task.
func presetFlag(task *lra.Task) cli.Flag {
	lasts := map[string]string{"quick": " (minutes of two cores, at most half an hour)", "hour": " (an hour of two cores at most)", "paper": " (the published configuration, for a graphics processor)"}
	var names []string
	for _, p := range task.Presets {
		names = append(names, p.Name+lasts[p.Name])
	}
	return &cli.StringFlag{Name: "preset", Value: "quick", Usage: strings.Join(names, ", ")}
}

// numberFlags are the numbers of a preset, which they replace.
func numberFlags(task *lra.Task) []cli.Flag {
	whole := func(name, usage string) cli.Flag {
		return &cli.IntFlag{Name: name, Usage: usage, DefaultText: "of the preset"}
	}
	real := func(name, usage string) cli.Flag {
		return &cli.Float64Flag{Name: name, Usage: usage, DefaultText: "of the preset"}
	}
	word := func(name, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, Usage: usage, DefaultText: "of the preset"}
	}
	return append([]cli.Flag{
		presetFlag(task),
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of weights, order, noise and dropout; one run, also of a preset of several"},
		whole("epochs", "passes over the training split"), whole("steps", "updates, those of --stages included, instead of epochs"),
		whole("batch", "examples in a batch"), real("lr", "learning rate"), real("weight-decay", "AdamW's"),
		word("schedule", "how the learning rate falls: step (by --decay-rate every --step-size epochs), or over the whole run to --final-rate: cosine or linear"),
		word("warmup", "untuned, or a number of steps"), whole("step-size", "epochs between two decays of the learning rate, with --schedule step"),
		real("decay-rate", "factor of a decay, with --schedule step"),
		real("final-rate", "where --schedule cosine or linear ends, as a fraction of --lr: 0 to 1, 0 unless it is given"), real("max-grad-norm", "clip the gradient's norm; 0 does not"),
		word("stages", "steps on some of the rows before the epochs: STEPS:LENGTH,…, such as 1000:160,500:400, on those of at most LENGTH tokens; STEPS:firstROWS on the first ROWS of a split that begins with what is easy; none"),
		whole("eval-every", "steps between evaluations; 0 is once an epoch"), whole("log-every", "steps between lines of metrics"),
		whole("patience", "stop after that many evaluations without a better one; 0 does not"),
		&cli.StringFlag{Name: "select", DefaultText: "accuracy", Usage: "what the kept model is best in on the validation split: accuracy, loss, macro-f1 (mean of the classes), auc (of more than two classes the mean of each against the rest); of several labels a row loss (default), macro-f1, map (mean average precision); of tags span-f1 (default where they are BIO), iou (default of points whose tags are CATEGORY/PART), macro-f1 (default otherwise), accuracy, loss; of numbers loss (default), r2, mae (mean absolute error, the mean of numbers of one unit); --patience counts by it"},
		&cli.StringFlag{Name: "class-weights", DefaultText: "all the same", Usage: "weights of the classes in the training loss: balanced (a class counts the same however few its rows are), or a JSON `FILE` such as {\"rare\": 5}, where others have 1; scaled so that their mean over the training rows is 1 (of several labels a row each is a factor of the loss of the rows that have it, balanced: the rows without it over those with it); validation's loss has none", TakesFile: true},
		word("embedding-init", "how fresh embeddings begin: normal, or fourier where tokens are levels, such as gray values or samples of sound: neighbouring ones begin alike; or codebook for spectra of sound: similar ones begin alike"),
		real("token-deletion", "probability that training leaves out a token of a row, so that a model learns less of few rows by heart"),
		real("token-replacement", "probability that training replaces a token by any of the vocabulary"),
		word("point-scale", "factors by which training scales a point cloud, LEAST:MOST, such as 0.6:1.4; none"),
		word("point-stretch", "factors by which training stretches a point cloud along each axis, LEAST:MOST, such as 0.8:1.25; none"),
		word("point-rotation", "rotations by which training turns a point cloud: none, z (about that axis), any"),
		real("point-shift", "by how much training moves a point cloud at most, along each axis"),
		whole("input-window", "tokens that the model reads of a longer sequence; 0 reads all"),
		word("convolutions", "of neighbouring tokens, before each layer's attention: TAPS or TAPS:DILATION,…, such as 5,5:32; none"),
	}, newArchitectureFlags(architectureFlags, "of the preset")...)
}

func trainFlags(task *lra.Task) []cli.Flag {
	return append(numberFlags(task), runFlags("runs/"+task.Name)...)
}

// numberNames are the names of a command's flags that are numbers of its run.
func numberNames(c *cli.Context) (names []string) {
	ofRun := runFlags("")
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; name != cli.HelpFlag.Names()[0] && flagCalled(ofRun, name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// applyTrainFlags puts the numbers given as flags into the preset's places.
func applyTrainFlags(c *cli.Context, s *sft.Settings, m *sft.Config) error {
	for _, name := range numberNames(c) {
		if c.IsSet(name) {
			if err := applyTrainFlag(c, name, s, m); err != nil {
				return err
			}
		}
	}
	if c.IsSet("steps") && s.Steps < 1 {
		return usage(c, "--steps %d, expected at least 1", s.Steps)
	}
	if c.IsSet("epochs") && !c.IsSet("steps") {
		s.Steps = 0
	}
	if c.IsSet("hidden") && !c.IsSet("intermediate") {
		m.IntermediateSize = 4 * m.HiddenSize
	}
	if c.IsSet("hidden") && !c.IsSet("sinusoid-dim") {
		m.SinusoidDim = m.HiddenSize
	}
	return nil
}

// applyTrainFlag puts one flag's number into its place.
func applyTrainFlag(c *cli.Context, name string, s *sft.Settings, m *sft.Config) (err error) {
	place := map[string]any{
		"epochs": &s.Epochs, "steps": &s.Steps, "batch": &s.Batch, "step-size": &s.StepSize, "eval-every": &s.EvalEvery,
		"log-every": &s.LogEvery, "patience": &s.Patience, "warmup": &s.Warmup,
		"lr": &s.LearningRate, "weight-decay": &s.WeightDecay, "decay-rate": &s.DecayRate, "final-rate": &s.FinalRate, "max-grad-norm": &s.MaxGradNorm,
		"token-deletion": &s.TokenDeletion, "token-replacement": &s.TokenReplacement, "point-shift": &s.PointShift,
	}[name]
	for _, f := range slices.Concat(architectureFlags, maskFlags, regressionFlags) {
		if f.name == name {
			place = configValue(m, f.key)
		}
	}
	switch {
	case place != nil:
		reflect.ValueOf(place).Elem().Set(reflect.ValueOf(c.Value(name))) // which has its type
	case name == "input-window":
		m.InputWindow = nil
		if n := c.Int(name); n != 0 {
			m.InputWindow = &sft.InputWindow{Length: n, Policy: "head"}
		}
	case name == "mask-targets":
		n, err := parseMaskTargets(c.String(name))
		if err != nil {
			return usage(c, "--mask-targets %w", err)
		}
		if n != m.MaskTargets.Len() {
			m.MaskTargets = sft.NewMaskTargets(n)
		}
	case name == "select":
		if s.Select = c.String(name); !slices.Contains(sft.Selections, s.Select) {
			return usage(c, "--select %q, expected one of %s", s.Select, sft.DescribeSelections(sft.Selections))
		}
		s.Select = selection(s.Select, m.Task)
	case name == "point-scale":
		if s.PointScale, err = parseFactors(c.String(name)); err != nil {
			return usage(c, "--%s: %w", name, err)
		}
	case name == "point-stretch":
		if s.PointStretch, err = parseFactors(c.String(name)); err != nil {
			return usage(c, "--%s: %w", name, err)
		}
	case name == "point-rotation":
		if s.PointRotation = c.String(name); !slices.Contains(sft.Rotations, s.PointRotation) {
			return usage(c, "--point-rotation %q, expected one of %s", s.PointRotation, strings.Join(sft.Rotations, ", "))
		}
		if s.PointRotation == sft.Rotations[0] {
			s.PointRotation = ""
		}
	case name == "embedding-init":
		if s.EmbeddingInit = c.String(name); !slices.Contains(sft.EmbeddingInits, s.EmbeddingInit) {
			return usage(c, "--embedding-init %q, expected one of %s", s.EmbeddingInit, strings.Join(sft.EmbeddingInits, ", "))
		}
		if s.EmbeddingInit == sft.EmbeddingInits[0] {
			s.EmbeddingInit = "" // as in runs of before
		}
	case name == "schedule":
		if !slices.Contains(sft.Schedules, c.String(name)) {
			return usage(c, "--schedule %q, expected one of %s", c.String(name), strings.Join(sft.Schedules, ", "))
		}
		lra.SetSchedule(s, c.String(name))
	case name == "convolutions":
		if m.Convolutions, err = sft.ParseConvolutions(c.String(name)); err != nil {
			return usage(c, "--convolutions: %w", err)
		}
	case name == "stages":
		if s.Stages, err = parseStages(c.String(name)); err != nil {
			return usage(c, "%w", err)
		}
	}
	return nil
}

// selection is what a run of a task is selected by, as its settings have it: those of runs on classes
// leave accuracy out, as before there was a choice.
func selection(by, task string) string {
	if by == sft.Selections[0] && (task == sft.Classification || task == sft.Retrieval) {
		return ""
	}
	return by
}

// parseFactors reads LEAST:MOST, or none.
func parseFactors(text string) ([]float64, error) {
	if text == "none" {
		return nil, nil
	}
	least, most, _ := strings.Cut(text, ":")
	low, errLow := strconv.ParseFloat(least, 64)
	high, errHigh := strconv.ParseFloat(most, 64)
	if errLow != nil || errHigh != nil {
		return nil, fmt.Errorf("%q, expected LEAST:MOST, such as 0.6:1.4, or none", text)
	}
	return []float64{low, high}, nil
}

// parseStages reads STEPS:LENGTH or STEPS:firstROWS, with commas between them, or none.
func parseStages(text string) ([]sft.Stage, error) {
	if text == "none" {
		return nil, nil
	}
	var out []sft.Stage
	for _, word := range strings.Split(text, ",") {
		steps, which, _ := strings.Cut(word, ":")
		rows, first := strings.CutPrefix(which, "first")
		n, errN := strconv.Atoi(steps)
		most, errMost := strconv.Atoi(rows)
		if errN != nil || errMost != nil {
			return nil, fmt.Errorf("--stages: %q, expected STEPS:LENGTH or STEPS:firstROWS, with commas between them, or none", word)
		}
		if first {
			out = append(out, sft.Stage{Steps: n, Rows: most})
		} else {
			out = append(out, sft.Stage{Steps: n, Length: most})
		}
	}
	return out, nil
}

// readConfigFlags sets the flags that a --config file holds and the command
// line does not.
func readConfigFlags(c *cli.Context) error {
	path := c.String("config")
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return fmt.Errorf("%s: expected a JSON object of flags: %w", path, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: text after the JSON object", path)
	}
	if values == nil {
		return fmt.Errorf("%s: expected a JSON object of flags, found null", path)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // of several errors always the same
		v := values[name]
		if flagCalled(c.Command.Flags, name) == nil {
			return fmt.Errorf("%s: unknown flag %q", path, name)
		}
		switch v.(type) {
		case string, json.Number, bool:
		default:
			return fmt.Errorf("%s: %s: %v, expected a string, a number, true or false", path, name, v)
		}
		if c.IsSet(name) {
			continue
		}
		if err := c.Set(name, fmt.Sprint(v)); err != nil {
			return fmt.Errorf("%s: %s: %v: %w", path, name, v, err)
		}
	}
	return nil
}

// memoryLimit reads --memory and tells the garbage collector of it.
func memoryLimit(c *cli.Context) (int64, error) {
	n, err := humanize.ParseBytes(c.String("memory"))
	if err != nil || n == 0 || n > 1<<60 {
		return 0, usage(c, "--memory %q: expected a size such as 4GiB", c.String("memory"))
	}
	debug.SetMemoryLimit(int64(n))
	return int64(n), nil
}

// memoryOn is the limit on a device. One with memory of its own may take all of it,
// unless --memory is given.
func memoryOn(c *cli.Context, d tensor.Device, limit int64) int64 {
	if _, own := tensor.Capability[tensor.OwnMemory](d); own && !c.IsSet("memory") {
		return 0
	}
	return limit
}

// commandOf is the command that trains on a task.
func commandOf(task *lra.Task) string {
	if task.Name == lra.PretrainName {
		return task.Name
	}
	return "train " + task.Name
}

// reproduction is the command that repeats a run.
func reproduction(c *cli.Context, task *lra.Task, dir string, seed uint64) string {
	names := []string{"data", "init-from", "device", "precision"}
	for _, name := range numberNames(c) {
		if !slices.Contains([]string{"preset", "seed", "epochs", "steps"}, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("sftseq %s --preset %s --seed %d%s --out %s%s", commandOf(task), c.String("preset"), seed, givenFlags(c, names...), again(c, dir), givenFlags(c, "epochs", "steps"))
}

// again is where a run is repeated.
func again(c *cli.Context, dir string) string {
	if c.String("seeds") != "" { // not in the folder whose models answer together
		return shellQuote(filepath.Join(filepath.Clean(c.String("out"))+"-again", filepath.Base(dir)))
	}
	return shellQuote(filepath.Clean(dir) + "-again")
}

// resumption is the command that goes on with what --out holds, on the same
// device; seeds are those of --seeds, or "". Of several, those that have not begun need
// all that the others were started with.
func resumption(c *cli.Context, task *lra.Task, seeds, dir string) string {
	if seeds != "" {
		seeds = " --seeds " + shellQuote(seeds) + givenFlags(c, append([]string{"data", "init-from"}, numberNames(c)...)...)
	}
	return fmt.Sprintf("sftseq %s%s --out %s --resume%s", commandOf(task), seeds, shellQuote(dir), givenFlags(c, "device", "precision", "threads", "memory", "tensorboard"))
}

// givenFlags are those of the flags that were given, as a shell reads them.
func givenFlags(c *cli.Context, names ...string) string {
	var out strings.Builder
	for _, name := range names {
		if !c.IsSet(name) {
			continue
		}
		separator := " "
		if _, ok := c.Value(name).(bool); ok {
			separator = "="
		}
		fmt.Fprintf(&out, " --%s%s%s", name, separator, shellQuote(fmt.Sprint(c.Value(name))))
	}
	return out.String()
}
