package main

import (
	"fmt"
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
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// kind is a property of a task's data on which a flag depends. A flag of kind "" applies to all tasks.
type kind string

const (
	tokensKind   kind = "tokens"   // tokens with ids
	featuresKind kind = "features" // tokens with features instead of ids
	imagesKind   kind = "images"   // square images, pixel by pixel
	pointsKind   kind = "points"   // tokens with positions in space
	labelsKind   kind = "labels"   // labels, or numbers to predict
	classesKind  kind = "classes"
	numbersKind  kind = "numbers"
	masksKind    kind = "masks" // masked tokens to predict, instead of labels
)

// hasKind reports whether a task may have data of kind k. Only pretrain has masksKind. Train custom may
// have data of every other kind, because its data set is not known before the flags are parsed.
func hasKind(task *lra.Task, k kind) bool {
	custom, pretrains := task.Name == lra.CustomName, task.Name == lra.PretrainName
	switch k {
	case "":
		return true
	case masksKind:
		return pretrains
	case tokensKind:
		return custom || task.Features == nil
	case featuresKind:
		return custom || task.Features != nil
	case pointsKind:
		return custom || seq.Points(task.Features) != nil
	case imagesKind:
		return custom || string(task.Tokenizer) == `{"type":"pixel"}`
	case numbersKind:
		return custom || task.Numbers != nil
	case classesKind:
		return custom || task.Numbers == nil && !pretrains
	}
	return !pretrains
}

// runFlags returns the flags that [settingsFlags] does not return, such as those of data, seeds,
// members, output, device and ranks.
func runFlags(task *lra.Task) []cli.Flag {
	data, generated, initial := "train on the data set in `DIR`", "", "start from the weights of the model in `DIR`"
	if hasKind(task, labelsKind) {
		initial += "; other labels get a new output layer"
	}
	if task.Name == lra.PretrainName {
		data += "; also the first argument"
	}
	if task.Generator != nil {
		generated = "generated into the cache directory"
	}
	return slices.Concat(
		group(dataGroup,
			&cli.StringFlag{Name: "data", Usage: data, DefaultText: generated, TakesFile: true},
			&cli.StringFlag{Name: "init-from", Usage: initial, TakesFile: true}),
		flagsIf(hasKind(task, labelsKind), group(trainingGroup,
			&cli.StringFlag{Name: "seeds", DefaultText: "--seed alone",
				Usage: "train a run for each `SEED,…` and report the mean"})),
		group(trainingGroup, membersFlags(task)...),
		advancedGroup(trainingGroup,
			&cli.StringFlag{Name: "config",
				Usage:     "read flags from a JSON `FILE` such as {\"batch\": 32}; the command line takes precedence",
				TakesFile: true}),
		group(outputGroup,
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "runs/" + task.Name,
				Usage: "write the run to `DIR`", TakesFile: true},
			&cli.BoolFlag{Name: "resume", Usage: "continue from the checkpoint in --out"},
			&cli.BoolFlag{Name: "tensorboard", Usage: "write TensorBoard event files to --out"}),
		advancedGroup(outputGroup,
			&cli.DurationFlag{Name: "save-every", Value: time.Minute, Usage: "write a checkpoint every `TIME`"},
			&cli.IntFlag{Name: "stop-at", Usage: "stop after step `STEP`; --resume continues to the same end"}),
		deviceFlags(device.Fastest),
		group(deviceGroup,
			&cli.StringFlag{Name: "memory", Value: "4GiB", DefaultText: "4GiB; all of a GPU",
				Usage: "use at most `SIZE` of memory; the result is the same"}),
		rankFlags(),
	)
}

// presetFlag returns the flag that selects a preset of a task.
func presetFlag(task *lra.Task) cli.Flag {
	var names []string
	for _, p := range task.Presets {
		names = append(names, p.Name)
	}
	return &cli.StringFlag{Name: "preset", Value: "quick", Usage: "use preset `NAME`: " + strings.Join(names, ", ")}
}

// selectFlag returns the flag that selects a task's validation metric.
func selectFlag(task *lra.Task) cli.Flag {
	names := "accuracy (default), accuracy-1se, loss, macro-f1, auc"
	switch {
	case task.Name == lra.CustomName:
		return &cli.StringFlag{Name: "select", DefaultText: "by task",
			Usage: "save the model with the best `METRIC` (docs/training.md)"}
	case task.Kind == config.Regression:
		names = "loss (default), r2, mae"
	case task.Kind == config.MultiLabel:
		names = "loss (default), macro-f1, map"
	case task.Kind == config.Tagging && strings.Contains(task.Labels[0], "/"):
		names = "iou (default), macro-f1, accuracy, loss"
	case task.Kind == config.Tagging:
		names = "macro-f1 (default), accuracy, loss"
	}
	first, _, _ := strings.Cut(names, " ")
	return &cli.StringFlag{Name: "select", DefaultText: first, Usage: "save the model with the best `METRIC`: " + names}
}

// settingsFlags returns the flags that override a preset's settings.
func settingsFlags(task *lra.Task) []cli.Flag {
	whole := func(name, usage string) cli.Flag {
		return &cli.IntFlag{Name: name, Usage: usage, DefaultText: presetDefault}
	}
	real := func(name, usage string) cli.Flag {
		return &cli.Float64Flag{Name: name, Usage: usage, DefaultText: presetDefault}
	}
	word := func(name, usage string) cli.Flag {
		return &cli.StringFlag{Name: name, Usage: usage, DefaultText: presetDefault}
	}
	presets := group(trainingGroup, presetFlag(task))
	if len(task.Presets) == 1 {
		presets = advancedGroup(trainingGroup, presetFlag(task))
	}
	return slices.Concat(presets,
		group(trainingGroup,
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "draw weights, order, noise and dropout from seed `N`"},
			whole("epochs", "train for `N` epochs"),
			whole("steps", "train for `N` steps, in place of --epochs"),
			whole("batch", "train on batches of `N` rows"),
			real("lr", "set the peak learning rate"),
			whole("patience", "stop after `N` evaluations without improvement; 0 never stops")),
		advancedGroup(trainingGroup,
			real("weight-decay", "set the weight decay of AdamW"),
			word("schedule", "lower the learning rate by step, or over the whole run by cosine, linear or exponential"),
			word("warmup", "raise the learning rate over `STEPS`, or untuned (2000, from AdamW's β2)"),
			whole("step-size", "multiply the learning rate by --decay-rate every `N` epochs (--schedule step)"),
			real("decay-rate", "set the factor of --step-size"),
			real("final-rate", "end cosine, linear or exponential at this fraction of --lr, 0 to 1"),
			real("max-grad-norm", "clip the norm of the gradient; 0 disables clipping"),
			word("stages", "train on some rows before the epochs: `STEPS:LENGTH,…`, STEPS:firstROWS, STEPS:lastROWS or none"),
			whole("eval-every", "evaluate every `N` steps; 0 evaluates once per epoch"),
			whole("log-every", "log metrics every `N` steps")),
		flagsIf(hasKind(task, labelsKind), group(trainingGroup,
			selectFlag(task))),
		flagsIf(hasKind(task, classesKind), advancedGroup(trainingGroup,
			&cli.BoolFlag{Name: "span-decoding",
				Usage:       "choose on the validation split how logits become spans (--select span-f1)",
				DefaultText: presetDefault},
			&cli.BoolFlag{Name: "temperature-scaling",
				Usage:       "calibrate probabilities by a temperature fitted on the validation split",
				DefaultText: presetDefault})),
		flagsIf(hasKind(task, classesKind), group(trainingGroup,
			&cli.StringFlag{Name: "class-weights", DefaultText: "equal",
				Usage: "weight the classes: balanced, or a JSON `FILE` {\"rare\": 5}", TakesFile: true})),
		flagsIf(hasKind(task, tokensKind), advancedGroup(trainingGroup,
			word("embedding-init", "initialise embeddings: normal, fourier (gray levels or audio) or codebook (spectra)"),
			real("token-deletion", "delete a token in training with this probability"))),
		flagsIf(hasKind(task, tokensKind) && hasKind(task, labelsKind), advancedGroup(trainingGroup,
			real("token-replacement", "replace a token by a random one in training with this probability"))),
		flagsIf(hasKind(task, pointsKind), advancedGroup(trainingGroup,
			word("point-scale", "scale clouds at random by `MIN:MAX`, such as 0.6:1.4, or none"),
			word("point-stretch", "scale each axis of clouds at random by `MIN:MAX`, such as 0.8:1.25, or none"),
			word("point-rotation", "rotate clouds at random: none, z (about that axis) or any"),
			real("point-shift", "shift clouds at random along each axis, by this distance at most"))),
		flagsIf(hasKind(task, imagesKind), advancedGroup(trainingGroup,
			&cli.BoolFlag{Name: "image-flip", Usage: "mirror square images from left to right at random in training",
				DefaultText: presetDefault},
			whole("image-shift", "shift square images at random along each axis, by `N` pixels at most"))),
		flagsIf(task.Name == lra.Pathfinder.Name, advancedGroup(trainingGroup,
			&cli.BoolFlag{Name: "fresh", Usage: "draw other images in every epoch, by the rule of the data set",
				DefaultText: presetDefault})),
		group(modelGroup,
			word("input-window",
				"read the first `N` tokens; N:tail=M reads the first N-M and the last M; 0: all")),
		advancedGroup(modelGroup,
			word("convolutions",
				"convolve tokens over `TAPS,…` before attention, such as 5,5:32 (dilation 32); or none"),
			word("ngrams",
				"embed n-grams beside tokens: tokens:1-2:2^18 or bytes:3-6+2:2^20 (lengths, slots), or none")),
		chunkFlags(task),
		newArchitectureFlags(task, architectureFlags, presetDefault),
		newArchitectureFlags(task, maskFlags, "from the data"),
		newArchitectureFlags(task, regressionFlags, "smooth_l1"),
	)
}

func trainFlags(task *lra.Task) []cli.Flag {
	return append(settingsFlags(task), runFlags(task)...)
}

// settingsFlagNames returns the names of a command's flags that [runFlags] does not return. They
// determine the settings and the configuration of a run.
func settingsFlagNames(c *cli.Context) (names []string) {
	runNames := append(runFlags(lra.Custom(&seq.Manifest{})), cli.HelpFlag, helpAllFlag())
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; findFlag(runNames, name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// applyTrainFlags changes the settings and the configuration by the given flags. kind is the task of the
// data.
func applyTrainFlags(c *cli.Context, kind string, s *train.Settings, m *sft.Config) error {
	for _, name := range settingsFlagNames(c) {
		if c.IsSet(name) {
			if err := applyTrainFlag(c, name, s, m); err != nil {
				return err
			}
		}
	}
	if c.IsSet("steps") && s.Steps < 1 {
		return badFlag(c, "steps", "at least 1")
	}
	if c.IsSet("epochs") && s.Epochs < 1 {
		return badFlag(c, "epochs", "at least 1")
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
	return applyChunkFlags(c, kind, m)
}

// checkPointFlags returns an error for flags that change point clouds if the data has no points.
func checkPointFlags(c *cli.Context, features []string) error {
	if seq.Points(features) != nil {
		return nil
	}
	for _, name := range []string{"point-scale", "point-stretch", "point-rotation", "point-shift"} {
		if text := fmt.Sprint(c.Value(name)); c.IsSet(name) && text != "none" && text != "0" {
			return usage(c, "--%s %s: expected data with the features x, y and z: omit the flag", name, text)
		}
	}
	return nil
}

// applyTrainFlag changes the settings or the configuration by one flag.
func applyTrainFlag(c *cli.Context, name string, s *train.Settings, m *sft.Config) (err error) {
	field := map[string]any{
		"epochs": &s.Epochs, "steps": &s.Steps, "batch": &s.Batch, "step-size": &s.StepSize, "eval-every": &s.EvalEvery,
		"span-decoding": &s.SpanDecoding, "temperature-scaling": &s.TemperatureScaling, "log-every": &s.LogEvery,
		"patience": &s.Patience, "warmup": &s.Warmup, "image-flip": &s.ImageFlip, "image-shift": &s.ImageShift,
		"lr": &s.LearningRate, "fresh": &s.Fresh, "weight-decay": &s.WeightDecay, "decay-rate": &s.DecayRate,
		"final-rate": &s.FinalRate, "max-grad-norm": &s.MaxGradNorm,
		"token-deletion": &s.TokenDeletion, "token-replacement": &s.TokenReplacement, "point-shift": &s.PointShift,
	}[name]
	for _, f := range slices.Concat(architectureFlags, maskFlags, regressionFlags) {
		if f.name == name {
			field = configValue(m, f.key)
		}
	}
	switch {
	case field != nil:
		reflect.ValueOf(field).Elem().Set(reflect.ValueOf(c.Value(name))) // the flag's value has the type of the field
		if name == "k" && !m.HasAttention() && !c.IsSet("relative") {
			m.Relative = config.NoRelation
		}
	case name == "input-window":
		w, err := seq.ParseWindow(c.String(name))
		if err != nil {
			return usage(c, "--input-window %w", err)
		}
		m.SetReadWindow(w)
	case name == "mask-targets":
		n, err := parseMaskTargets(c.String(name))
		if err != nil {
			return usage(c, "--mask-targets %w", err)
		}
		if n != m.MaskTargets.Len() {
			m.MaskTargets = config.NewMaskTargets(n)
		}
	case name == "select":
		if s.Select = c.String(name); !slices.Contains(train.Selections, s.Select) {
			return badFlag(c, "select", "one of %s (docs/training.md)", strings.Join(train.Selections, ", "))
		}
		s.Select = storedSelection(s.Select, m.Task)
	case name == "point-scale":
		if s.PointScale, err = parseFactors(c.String(name)); err != nil {
			return invalidFlag(c, name, err)
		}
	case name == "point-stretch":
		if s.PointStretch, err = parseFactors(c.String(name)); err != nil {
			return invalidFlag(c, name, err)
		}
	case name == "point-rotation":
		s.PointRotation, err = enumValue(c, name, train.Rotations)
	case name == "embedding-init":
		s.EmbeddingInit, err = enumValue(c, name, config.EmbeddingInits)
	case name == "schedule":
		if !slices.Contains(train.Schedules, c.String(name)) {
			return badFlag(c, "schedule", "one of %s", strings.Join(train.Schedules, ", "))
		}
		lra.SetSchedule(s, c.String(name))
	case name == "ngrams":
		m.NGrams = nil
		if text := c.String(name); text != "none" {
			if m.NGrams, err = config.ParseNGrams(text); err != nil {
				return invalidFlag(c, name, err)
			}
		}
	case name == "convolutions":
		if m.Convolutions, err = config.ParseConvolutions(c.String(name)); err != nil {
			return invalidFlag(c, name, err)
		}
	case name == "stages":
		if s.Stages, err = parseStages(c.String(name)); err != nil {
			return invalidFlag(c, name, err)
		}
	}
	return err
}

// enumValue returns the value of a flag, or an error unless values contains it. The first value is the
// default and is returned as "", which is its representation in runs stored before the flag existed.
func enumValue(c *cli.Context, name string, values []string) (string, error) {
	value := c.String(name)
	if !slices.Contains(values, value) {
		return "", badFlag(c, name, "one of %s", strings.Join(values, ", "))
	}
	if value == values[0] {
		return "", nil
	}
	return value, nil
}

// storedSelection returns the selection metric in the form that settings store. For classification and
// retrieval, accuracy is stored as "", as in runs stored before the flag existed.
func storedSelection(metric, task string) string {
	if metric == train.Selections[0] && (task == config.Classification || task == config.Retrieval) {
		return ""
	}
	return metric
}

// checkSelection returns an error if --select names a metric that the task of the data does not have.
func checkSelection(c *cli.Context, config sft.Config, data seq.Spec) error {
	if !c.IsSet("select") || config.DescribeData(data) != nil { // a later step reports unsuitable data
		return nil
	}
	measured := slices.DeleteFunc(slices.Clone(train.Selections), func(metric string) bool {
		return !train.Measures(&config, metric)
	})
	if slices.Contains(measured, c.String("select")) {
		return nil
	}
	kind := config.Task
	if config.Task == seq.Tagging && config.HasFeatures() {
		kind += " for tokens with features, which have no order and therefore no spans"
	}
	return badFlag(c, "select", "a metric of task %s, one of %s", kind, train.DescribeSelections(measured))
}

// parseFactors parses MIN:MAX or none.
func parseFactors(text string) ([]float64, error) {
	if text == "none" {
		return nil, nil
	}
	lowText, highText, _ := strings.Cut(text, ":")
	low, errLow := strconv.ParseFloat(lowText, 64)
	high, errHigh := strconv.ParseFloat(highText, 64)
	if errLow != nil || errHigh != nil {
		return nil, fmt.Errorf("expected MIN:MAX, such as 0.6:1.4, or none")
	}
	return []float64{low, high}, nil
}

// parseStages parses a comma-separated list of STEPS:LENGTH, STEPS:firstROWS or STEPS:lastROWS, or none.
func parseStages(text string) ([]train.Stage, error) {
	if text == "none" {
		return nil, nil
	}
	var out []train.Stage
	for _, word := range strings.Split(text, ",") {
		steps, bound, _ := strings.Cut(word, ":")
		var stage train.Stage
		limit := &stage.Length
		if rows, first := strings.CutPrefix(bound, "first"); first {
			bound, limit = rows, &stage.Rows
		} else if rows, last := strings.CutPrefix(bound, "last"); last {
			bound, limit = rows, &stage.LastRows
		}
		var errSteps, errLimit error
		stage.Steps, errSteps = strconv.Atoi(steps)
		*limit, errLimit = strconv.Atoi(bound)
		if errSteps != nil || errLimit != nil || *limit < 1 {
			return nil, fmt.Errorf("expected STEPS:LENGTH, STEPS:firstROWS or STEPS:lastROWS, separated by commas, "+
				"or none, found %q", word)
		}
		out = append(out, stage)
	}
	return out, nil
}

// memoryLimit returns --memory in bytes, and sets it as the memory limit of the garbage collector.
func memoryLimit(c *cli.Context) (int64, error) {
	n, err := humanize.ParseBytes(c.String("memory"))
	if err != nil || n == 0 || n > 1<<60 {
		return 0, badFlag(c, "memory", "a size such as 4GiB")
	}
	debug.SetMemoryLimit(int64(n))
	return int64(n), nil
}

// deviceMemoryLimit returns the memory limit of a run on a device in bytes, or 0 for no limit. A
// device with its own memory has no limit unless --memory is set.
func deviceMemoryLimit(c *cli.Context, d tensor.Device, limit int64) int64 {
	if _, own := tensor.Capability[tensor.OwnMemory](d); own && !c.IsSet("memory") {
		return 0
	}
	return limit
}

// commandOf returns the command that trains on a task.
func commandOf(task *lra.Task) string {
	if task.Name == lra.PretrainName {
		return task.Name
	}
	return "train " + task.Name
}

// reproduceCommand returns the command that repeats a run.
func reproduceCommand(c *cli.Context, task *lra.Task, dir string, seed uint64) string {
	names := []string{"members", "data", "init-from", "device", "precision"}
	for _, name := range settingsFlagNames(c) {
		if !slices.Contains([]string{"preset", "seed", "epochs", "steps"}, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("sftseq %s --preset %s --seed %d%s --out %s%s", commandOf(task), c.String("preset"), seed,
		formatSetFlags(c, names...), repeatDir(c, dir), formatSetFlags(c, "epochs", "steps"))
}

// repeatDir returns the output directory for repeating a run.
func repeatDir(c *cli.Context, dir string) string {
	if c.String("seeds") != "" { // not in --out, whose models form an ensemble
		return shellQuote(filepath.Join(filepath.Clean(c.String("out"))+"-again", filepath.Base(dir)))
	}
	return shellQuote(filepath.Clean(dir) + "-again")
}

// resumeCommand returns the command that resumes the run in dir on the same device. seeds is the
// value of --seeds, or "". With seeds, the command repeats the other flags, because seeds that have
// not started have no checkpoint with their settings.
func resumeCommand(c *cli.Context, task *lra.Task, seeds, dir string) string {
	if seeds != "" {
		seeds = " --seeds " + shellQuote(seeds) + formatSetFlags(c,
			append([]string{"members", "data", "init-from"}, settingsFlagNames(c)...)...)
	}
	return fmt.Sprintf("sftseq %s%s --out %s --resume%s", commandOf(task), seeds, shellQuote(dir),
		formatSetFlags(c, "device", "precision", "threads", "memory", "tensorboard"))
}

// formatSetFlags formats the named flags that are set, quoted for a shell.
func formatSetFlags(c *cli.Context, names ...string) string {
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
