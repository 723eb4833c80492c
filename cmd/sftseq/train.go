package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

func trainCommand() *cli.Command {
	return &cli.Command{
		Name:      "train",
		Usage:     "train a model, or continue a run",
		UsageText: "sftseq train TASK [flags]\n\nExample: sftseq train listops\n         sftseq train custom --data data/reviews --out runs/reviews\n         sftseq train listops --out runs/listops --resume",
		Description: `Writes a run directory: the model that is best on the validation split, checkpoints and metrics.
Without --data, ` + namesOf(generatedTasks()) + ` generate their data once; for other
tasks, create a data set with sftseq data convert, for files with sftseq data files. Ctrl-C stores a checkpoint, from which
--resume continues with bit-identical results. More: docs/training.md, docs/results.md, docs/own-data.md`,
		Subcommands: trainTasks(),
	}
}

// trainTasks returns the subcommands of train: one for each task of [lra.Tasks], files and custom.
func trainTasks() []*cli.Command {
	var out []*cli.Command
	for _, task := range append(lra.Tasks(), lra.Files) {
		name := task.Name
		example := "sftseq train " + name + " --out runs/first"
		if task.Generator == nil {
			example += " --data data/" + name
		}
		out = append(out, &cli.Command{
			Name: name, Usage: "predict " + strings.ToLower(task.Description[:1]) +
				strings.TrimSuffix(task.Description[1:], "."),
			Description: describePresets(task), Flags: trainFlags(task),
			UsageText: fmt.Sprintf("sftseq train %s [flags]\n\nExample: %s", name, example),
			Action:    onAllRanks(func(c *cli.Context) error { return trainTask(c, task) }),
		})
	}
	return append(out, trainCustomCommand())
}

// trainTask runs the command for a task: one run, or a run for each seed.
func trainTask(c *cli.Context, task *lra.Task) error {
	if c.Command.ArgsUsage == "" {
		if err := noArguments(c); err != nil {
			return err
		}
	}
	if err := readTaskFlags(c, task); err != nil {
		return err
	}
	if c.String("out") == "" {
		return usage(c, "--out is empty: expected a run directory")
	}
	if err := checkOut(c.String("out")); err != nil {
		return err
	}
	if c.IsSet("stop-at") && c.Int("stop-at") < 1 {
		return badFlag(c, "stop-at", "a step from 1")
	}
	if c.Duration("save-every") < 0 {
		return badFlag(c, "save-every", "0s (after each step) or more")
	}
	preset, err := task.Preset(c.String("preset"))
	if err != nil {
		return usage(c, "--%w", err)
	}
	_, missing := os.Stat(filepath.Join(c.String("out"), train.CheckpointFile))
	if preset.Linear && !(c.Bool("resume") && missing == nil) { // a run of another preset can be resumed
		return ranksOf(c).runOnFirst(func() error { return trainLinear(c, task) })
	}
	if c.String("seeds") == "" {
		r, err := newTrainRun(c, task, c.String("out"), c.Uint64("seed"), nil, nil)
		if err != nil {
			return err
		}
		return r.run(c)
	}
	return trainSeeds(c, task)
}

// trainRun is a prepared run.
type trainRun struct {
	dir       string
	trainer   *train.Trainer
	device    tensor.Device
	opened    []io.Closer // closed with the run, in reverse order
	progress  *trainProgress
	events    *trainEvents // nil without --tensorboard
	out       io.Writer
	resume    string // command that continues the run
	anyRanks  string // note on ranks in the advice on resuming; "" for a single process
	reproduce string // command that repeats the run
	set       *seq.Dataset
	baseline  *baseline.Result // baselines on the validation split; nil if unknown
	config    *sft.Config      // configuration of the model
	longest   int              // length of the longest training row in tokens
	kernels   string           // kernels at the start of the run; "" for runs of older versions
	fusion    *fusedRun        // nil for a single model
	member    string           // name as a member of a fusion, or ""
	watch     func(event any)  // also receives the trainer's events; may be nil
}

// newTrainRun prepares a run. begun is nil or the checkpoint of another seed's run, whose settings a
// new run must have. fusion is nil unless the model is a member of a fusion.
func newTrainRun(c *cli.Context, task *lra.Task, dir string, seed uint64,
	begun *train.Checkpoint, fusion *fusedRun) (_ *trainRun, err error) {
	from, err := checkpointOf(c, dir)
	if err != nil {
		return nil, err
	}
	r := &trainRun{dir: dir, out: c.App.Writer, progress: newTrainProgress(c.App.ErrWriter),
		resume: resumeCommand(c, task, "", dir), fusion: fusion}
	if ranksOf(c) != nil {
		r.anyRanks = " (on any number of ranks)"
	}
	var started *provenance.Provenance
	if from == nil {
		r.reproduce = reproduceCommand(c, task, dir, seed)
	} else {
		if started, err = resumeFlags(c, task, dir, from); err != nil {
			return nil, err
		}
		if err := checkResumed(c, from, started); err != nil {
			return nil, err
		}
		r.reproduce, r.kernels = started.Command, started.Kernels
	}
	preset, err := task.Preset(c.String("preset"))
	if err != nil {
		return nil, usage(c, "--%w", err)
	}
	memory, err := memoryLimit(c)
	if err != nil {
		return nil, err
	}
	r.progress.paper = preset.Name == "paper"
	settings, config, err := flaggedSettings(c, task, preset, seed)
	if err != nil {
		return nil, err
	}
	if r.device, err = openDevice(c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close(c))
		}
	}()
	var data *trainData
	err = ranksOf(c).inTurn(func() (err error) {
		data, err = trainingData(c, task, preset)
		return err
	})
	if err != nil {
		return nil, err
	}
	if from == nil {
		r.kernels = r.device.Kernels()
		model, err := r.freshModel(c, task, preset.Name, data, &config, &settings, begun)
		if err != nil {
			return nil, err
		}
		return r, r.open(c, data, model, settings, nil, memory)
	}
	if from.Data != data.fingerprint {
		return nil, otherData(dir, string(started.DataDir), data.set.Dir)
	}
	if err := resumeSettings(c, &settings, from); err != nil {
		return nil, err
	}
	if err := checkWeights(c, data.set, from); err != nil {
		return nil, err
	}
	if r.reproduce, err = moveEnd(c, task, dir, &settings, from, started); err != nil {
		return nil, err
	}
	return r, r.open(c, data, nil, settings, from, memory) // the checkpoint has the model
}

// checkResumed returns an error for flags that contradict a run's checkpoint.
func checkResumed(c *cli.Context, from *train.Checkpoint, started *provenance.Provenance) error {
	if at := from.State.Step; c.IsSet("stop-at") && c.Int("stop-at") <= at {
		return badFlag(c, "stop-at", "a step after %d, which the run has reached", at)
	}
	if c.IsSet("init-from") && c.String("init-from") != string(started.InitFrom) {
		return errors.New("--init-from: a resumed run keeps its own weights: omit the flag, or choose another --out")
	}
	return nil
}

// flaggedSettings returns the settings and the model configuration of a preset, modified by flags.
func flaggedSettings(c *cli.Context, task *lra.Task, preset *lra.Preset,
	seed uint64) (train.Settings, sft.Config, error) {
	settings, config := preset.Settings, preset.Config
	settings.Seed = seed
	if c.IsSet("data") {
		settings.Stages, settings.Fresh = nil, false // meant for the preset's own data
	}
	if err := initConfig(c, task.Kind, &config, &settings); err != nil {
		return settings, config, err
	}
	if err := applyTrainFlags(c, task.Kind, &settings, &config); err != nil {
		return settings, config, err
	}
	settings.Select = storedSelection(settings.Select, task.Kind)
	if published(task) {
		spec, err := task.Spec()
		if err != nil {
			return settings, config, err
		}
		if err := checkSelection(c, config, spec); err != nil {
			return settings, config, err
		}
	}
	if err := settings.Validate(); err != nil {
		return settings, config, usage(c, "--%w", err)
	}
	return settings, config, nil
}

// freshModel returns the model of a new run. Its configuration may depend on the data.
func (r *trainRun) freshModel(c *cli.Context, task *lra.Task, preset string, data *trainData, config *sft.Config,
	settings *train.Settings, begun *train.Checkpoint) (*sft.Model, error) {
	if err := checkSelection(c, *config, data.set.Spec()); err != nil {
		return nil, err
	}
	if err := checkPointFlags(c, data.set.Manifest.FeatureNames); err != nil {
		return nil, err
	}
	if err := describeRun(c, task, config, settings, data.set); err != nil {
		return nil, err
	}
	if !published(task) {
		if text := describeCustom(data.set.Manifest, config, settings); r.fusion.isNew(text) {
			fmt.Fprintln(c.App.ErrWriter, text)
		}
	}
	if err := checkSameFlags(c, begun, config, settings, data.fingerprint); err != nil {
		return nil, err
	}
	if err := data.set.CheckSplit("train"); err != nil {
		return nil, err
	}
	lengths := data.set.Manifest.Splits["train"].Lengths
	return startingModel(c, config, r.fusion.addTo(provenance.Provenance{Sftseq: version(), Command: r.reproduce,
		Preset: preset, DataDir: provenance.Path(c.String("data")), DataName: data.set.Manifest.Name,
		Data: data.fingerprint, InitFrom: provenance.Path(c.String("init-from")), Precision: chosenPrecision(c),
		Kernels: r.kernels, Shortest: lengths.Min, Longest: lengths.Max, Settings: *settings}))
}

// open opens the data and prepares the trainer.
func (r *trainRun) open(c *cli.Context, data *trainData, model *sft.Model, settings train.Settings,
	from *train.Checkpoint, memory int64) error {
	var config *sft.Config
	if from != nil {
		config = from.Config
	} else {
		config = model.Config
	}
	rows, err := config.OpenSplit(data.set, "train")
	if err != nil {
		return err
	}
	r.opened, r.set, r.config = append(r.opened, rows), data.set, config
	r.longest = int(data.set.Manifest.Splits["train"].Lengths.Max)
	if model != nil {
		if err := model.CollectNGrams(c.Context, rows); err != nil {
			return err
		}
	}
	val, err := config.OpenSplit(data.set, "val")
	if err != nil {
		if _, ok := data.set.Manifest.Splits["val"]; !ok || errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (create a validation split with sftseq data convert --split or --val-part)", err)
		}
		return fmt.Errorf("validation data: %w", err)
	}
	r.opened = append(r.opened, val)
	if task.Of(config).Evaluator() != nil {
		if r.fusion == nil { // fuse reads the baselines of a fusion
			r.baseline = storedBaseline(c, data.set, "val", noBaselinesShown)
		}
	} else if ranksOf(c).first() {
		if r.progress.frequencies, err = validationUnigramBits(c, config, data.set); err != nil {
			return err
		}
	}
	options := train.Options{Dir: r.dir, Memory: deviceMemoryLimit(c, r.device, memory),
		SaveEvery: c.Duration("save-every"), StopAt: c.Int("stop-at"), Data: data.fingerprint, Observe: r.observe,
		Communicator: communicator(c)}
	if options.Redraw, err = redrawFunction(data.set, &settings); err != nil {
		return err
	}
	r.trainer, err = train.NewTrainer(model, settings, r.device, rows, val, from, options)
	if long := (*train.LengthError)(nil); errors.As(err, &long) {
		return fmt.Errorf("%w: %s", err, lengthAdvice(c, config, long))
	}
	if err != nil {
		return err
	}
	r.opened = append(r.opened, r.trainer)
	r.progress.begin(r.trainer, r.device.Name()+ranksOf(c).describe())
	if t := describeResolution(val.Len()); task.Of(config).ComparisonMetric(r.trainer.Settings().Select) == "" &&
		r.fusion.isNew(t) {
		r.progress.line(t)
	}
	if !ranksOf(c).first() {
		return nil
	}
	if c.Bool("tensorboard") {
		if r.events, err = newTrainEvents(r.dir, r.trainer.State().Step); err != nil {
			return err
		}
		r.opened = append(r.opened, r.events)
	}
	if err := tokenizers.CopyFile(config.Tokenizer, data.set.Dir, r.dir); err != nil {
		return err
	}
	return r.recordStart(ranksOf(c), rows.Len(), val.Len())
}

// recordStart records the start of training in the run directory, unless the run is finished.
func (r *trainRun) recordStart(ranks *ranks, train, val int) error {
	if r.trainer.Finished() {
		return nil
	}
	start := provenance.Start{Time: time.Now().UTC().Truncate(time.Second),
		Step: r.trainer.State().Step, Device: r.device.Name(),
		TrainRows: train, ValidationRows: val, Version: version()}
	if ranks != nil {
		start.Ranks, start.MPI = ranks.Size(), ranks.library()
	}
	return provenance.AddStart(r.dir, start)
}

// observe handles an event of the trainer.
func (r *trainRun) observe(event any) {
	r.progress.observe(event)
	if r.watch != nil {
		r.watch(event)
	}
	if r.events != nil {
		r.progress.observe(r.events.observe(event))
	}
}

// close closes the opened files and the trainer in reverse order, and then the device.
func (r *trainRun) close(c *cli.Context) (err error) {
	for _, o := range slices.Backward(r.opened) {
		err = errors.Join(err, o.Close())
	}
	closeDevice(c, r.device)
	return err
}

// checkpointOf returns the checkpoint to resume, or nil for a new run. Rank 0 reads it for all
// ranks.
func checkpointOf(c *cli.Context, dir string) (*train.Checkpoint, error) {
	from, err := loadCheckpoint(c, dir)
	if _, ok := errors.AsType[*distributed.Error](err); ok {
		return nil, err
	}
	r := ranksOf(c)
	if r.first() {
		from, err = provenance.Found(dir, from, err, c.Bool("resume"), c.String("seeds") == "")
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if r != nil {
		if _, failed := distributed.Agree(r.World, err, 0); failed != nil {
			return nil, failed
		}
	}
	return from, err
}

// compared returns the name and the value of the validation score by which seeds are compared:
// accuracy for single-label classes, otherwise the metric that selected the saved model.
func (r *trainRun) compared() (by string, value float64) {
	s := r.trainer.State()
	if by := task.Of(r.config).ComparisonMetric(r.trainer.Settings().Select); by != "" {
		return by, s.Selected
	}
	return "accuracy", s.Best
}

// run trains to the end, and reports the results.
func (r *trainRun) run(c *cli.Context) error {
	err := r.trainer.Run(c.Context)
	r.progress.finish()
	s, baselines, betterBaseline := r.trainer.State(), "", ""
	if err == nil && r.trainer.Finished() && r.member == "" { // fuse compares the sum of the members
		baselines, betterBaseline = r.baselineScores(c)
	}
	if err = errors.Join(err, r.close(c)); err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("stopped at step %d and stored the checkpoint; %s", s.Step, r.resumeAdvice())
		}
		if device.Lost(err) {
			return fmt.Errorf("step %d: %w; the last checkpoint remains; %s", s.Step+1, err, r.resumeAdvice())
		}
		return err
	}
	if !r.trainer.Finished() {
		fmt.Fprintf(r.out, "stopped at step %d and stored the checkpoint; %s\n", s.Step, r.resumeAdvice())
		return nil
	}
	selected := ""
	switch by := r.trainer.Settings().Select; by {
	case "":
	case train.OneStandardError:
		selected = fmt.Sprintf(", the lowest loss within one standard error of the best, %.2f%%", 100*s.Selected)
	default:
		selected = fmt.Sprintf(", selected by %s %.4f", by, s.Selected)
	}
	score := fmt.Sprintf("accuracy %.2f%%", 100*s.Best)
	if !task.Of(r.config).HasAccuracy() {
		score = fmt.Sprintf("loss %.4f", s.BestLoss)
	}
	if f := r.progress.frequencies; f > 0 {
		score = fmt.Sprintf("bits per token %.4f (baseline of token frequencies %.4f)", s.BestLoss/math.Ln2, f)
	}
	if r.member != "" {
		fmt.Fprintf(r.out, "%s: ", r.member)
	}
	fmt.Fprintf(r.out, "validation %s%s (step %d of %d), model in %s\n", score, selected, s.BestStep, s.Step, r.dir)
	if text := describeBest(s, r.trainer.Settings().Patience, r.trainer.Steps()); text != "" {
		fmt.Fprintln(r.out, text)
	}
	if baselines != "" {
		fmt.Fprintf(r.out, "validation baselines: %s\n", baselines)
	}
	if r.member != "" {
		return nil
	}
	fmt.Fprintf(r.out, "%s%s\nrepeat with: %s\n", evalAdvice(r.dir, r.set),
		describeKernels(r.kernels, r.trainer.Kernels()), r.reproduce)
	if betterBaseline != "" {
		fmt.Fprintf(r.out, "on the validation split %s%s\n", betterBaseline,
			advice(r.config, r.dir, r.longest, s.SinceBest == 0))
	}
	return nil
}

// resumeAdvice returns the command that resumes the run, with an introduction.
func (r *trainRun) resumeAdvice() string {
	return fmt.Sprintf("continue with%s:\n  %s", r.anyRanks, r.resume)
}

// describeKernels names the first and the last kernels of a run, because the bits of the weights depend
// on them.
func describeKernels(first, last string) string {
	if first != "" && first != last {
		return fmt.Sprintf("computed with %s kernels at first, and with %s at the end: "+
			"a run with one kind of kernels produces other bits", first, last)
	}
	if slices.ContainsFunc(simd.Levels(), func(k *simd.Kernels) bool { return k.Name == last }) {
		return fmt.Sprintf("computed with %s kernels (%s=%s): another instruction set produces other bits",
			last, simd.Variable, last)
	}
	return fmt.Sprintf("computed with %s kernels: another device or driver produces other bits", last)
}
