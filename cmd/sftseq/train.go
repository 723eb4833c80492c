package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

func trainCommand() *cli.Command {
	return &cli.Command{
		Name:  "train",
		Usage: "train a model, or go on where a run stopped",
		Description: `Trains a model for a task and keeps it in a run directory: config.json and
model.safetensors (the best on the validation split, and before the first evaluation
that of the last checkpoint: eval and predict read it at any time), last/ (the
checkpoint), metrics.jsonl and starts.jsonl (when and on what it ran).
Without --data the data set is generated once, into the user's cache directory,
where that can be done (listops); others come from their official files by sftseq
data convert. sftseq report and sftseq plot
draw what is in metrics.jsonl; with --tensorboard TensorBoard does, too.

Ctrl-C, or --stop-at STEP, stores a checkpoint and says how to go on. Killing the
program loses at most the work since the last checkpoint; a resumed run ends with
the same bits as one that was never interrupted, whatever --threads and --memory
are. It may go on on another device, too, or in another precision, with a warning.

Examples:
   sftseq train listops
   sftseq train listops --preset paper --out runs/paper --memory 8GiB
   sftseq train image --data data/image
   sftseq train listops --out runs/listops --resume
   sftseq train custom --data data/reviews --select macro-f1 --class-weights balanced
   sftseq train listops --seeds 1,2,3`,
		Subcommands: trainTasks(),
	}
}

// trainTasks is a command for each task.
func trainTasks() []*cli.Command {
	var out []*cli.Command
	for _, name := range lra.Names() {
		task, err := lra.Lookup(name)
		if err != nil {
			panic(err)
		}
		example := fmt.Sprintf("sftseq train %s --preset quick --seed 1 --out runs/first", name)
		if !task.CanGenerate() {
			example += " --data data/" + name
		}
		out = append(out, &cli.Command{
			Name: name, Usage: task.Description, Description: describePresets(task), Flags: trainFlags("runs/" + name),
			UsageText: fmt.Sprintf("sftseq train %s [flags]\n\nExample: %s", name, example),
			Action:    func(c *cli.Context) error { return train(c, task) },
		})
	}
	return append(out, trainCustomCommand())
}

// describePresets lists the ways to train on a task.
func describePresets(task *lra.Task) string {
	lines := []string{"Presets:"}
	for _, p := range task.Presets {
		lines = append(lines, fmt.Sprintf("   %-6s %s", p.Name, p.Description))
	}
	return strings.Join(lines, "\n")
}

// train handles the command line: one run, or one for each seed.
func train(c *cli.Context, task *lra.Task) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := readConfigFlags(c); err != nil {
		return err
	}
	if c.String("out") == "" {
		return usage(c, "--out is empty, a run directory was expected")
	}
	if c.IsSet("stop-at") && c.Int("stop-at") < 1 {
		return usage(c, "--stop-at %d, expected a step from 1", c.Int("stop-at"))
	}
	if c.String("seeds") == "" {
		r, err := newTrainRun(c, task, c.String("out"), c.Uint64("seed"), nil)
		if err != nil {
			return err
		}
		_, err = r.run(c)
		return err
	}
	return trainSeeds(c, task)
}

// trainRun is one run, ready to start.
type trainRun struct {
	dir       string
	trainer   *sft.Trainer
	device    tensor.Device
	opened    []io.Closer // on it
	progress  *trainProgress
	events    *trainEvents // nil without --tensorboard
	out       io.Writer
	resume    string           // the command that goes on with it
	reproduce string           // the command that repeats it
	baseline  *baseline.Result // of the validation split; nil where its conversion measured none
	kernels   string           // what it began with; "" of a run that older versions began
}

// newTrainRun prepares a run. One that is fresh must have the settings of begun, a run of
// another seed, unless that is nil.
func newTrainRun(c *cli.Context, task *lra.Task, dir string, seed uint64, begun *sft.Checkpoint) (_ *trainRun, err error) {
	from, err := checkpointOf(c, dir)
	if err != nil {
		return nil, err
	}
	r := &trainRun{dir: dir, out: c.App.Writer, progress: newTrainProgress(c.App.ErrWriter),
		resume: resumption(c, task, "", dir)}
	var started *provenance
	if from != nil {
		if started, err = resumeFlags(c, from); err != nil {
			return nil, err
		}
		r.reproduce, r.kernels = started.Command, started.Kernels
		if c.IsSet("init-from") && c.String("init-from") != string(started.InitFrom) {
			return nil, errors.New("--init-from: a resumed run has its weights already")
		}
	} else {
		r.reproduce = reproduction(c, task, dir, seed)
	}
	preset, err := task.Preset(c.String("preset"))
	if err != nil {
		return nil, usage(c, "--preset: %w", err)
	}
	memory, err := memoryLimit(c)
	if err != nil {
		return nil, err
	}
	settings, config := preset.Settings, preset.Config
	settings.Seed = seed
	if c.IsSet("data") {
		settings.Stages = nil // they are meant for the preset's own data
	}
	if err := initConfig(c, &config, &settings); err != nil {
		return nil, err
	}
	if err := applyTrainFlags(c, &settings, &config); err != nil {
		return nil, err
	}
	if err := settings.Validate(); err != nil {
		return nil, usage(c, "%w", err)
	}
	if r.device, err = openDevice(c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close(c))
		}
	}()
	data, err := trainingData(c, task, preset)
	if err != nil {
		return nil, err
	}
	if from == nil {
		r.kernels = r.device.Kernels()
	}
	var model *sft.Model // a resumed run's is in its checkpoint
	if from != nil {
		if err = resumeSettings(c, &settings, from); err == nil {
			err = sameWeights(c, data.set, from)
		}
		if err == nil {
			r.reproduce, err = moveEnd(c, dir, &settings, from, started)
		}
	} else if err = describeRun(c, task, &config, &settings, data.set); err == nil {
		if task.Name == lra.CustomName {
			describeCustom(c, data.set.Manifest, &config, &settings)
		}
		if err = checkBegun(c, begun, &config, &settings, data.fingerprint); err != nil {
			return nil, err
		}
		model, err = startingModel(c, &config, provenance{Sftseq: version(), Command: r.reproduce, Preset: preset.Name, DataDir: storedPath(c.String("data")),
			DataName: data.set.Manifest.Name, Data: data.fingerprint, InitFrom: storedPath(c.String("init-from")), Precision: chosenPrecision(c), Kernels: r.kernels, Settings: settings})
	}
	if err != nil {
		return nil, err
	}
	return r, r.open(c, data, model, settings, from, memory)
}

// describeRun copies what the data decides, where they are the task's.
func describeRun(c *cli.Context, task *lra.Task, config *sft.Config, settings *sft.Settings, set *seq.Dataset) error {
	if err := modelUsage(c, describeData(config, set)); err != nil {
		return err
	}
	if err := checkTask(c, task, set); err != nil {
		return err
	}
	weights, err := classWeights(c, set)
	if err == nil && weights != nil {
		settings.ClassWeights = weights
		fmt.Fprintln(c.App.ErrWriter, describeWeights(config.LabelNames, weights))
	}
	return err
}

// open opens the data and prepares the trainer.
func (r *trainRun) open(c *cli.Context, data *trainData, model *sft.Model, settings sft.Settings, from *sft.Checkpoint, memory int64) error {
	var config *sft.Config
	if from != nil {
		config = from.Config
	} else {
		config = model.Config
	}
	train, err := data.set.OpenWindow("train", config.TruncatesAt())
	if err != nil {
		return err
	}
	r.opened = append(r.opened, train)
	val, err := data.set.OpenWindow("val", config.TruncatesAt())
	if err != nil {
		return fmt.Errorf("what a run is judged by: %w (of your own data, sftseq data convert takes some: see --split and --val-part)", err)
	}
	r.opened = append(r.opened, val)
	r.baseline = storedBaseline(c, data.set, "val", leftOut)
	r.trainer, err = sft.NewTrainer(model, settings, r.device, train, val, from, sft.Options{
		Dir: r.dir, Memory: memoryOn(c, r.device, memory), SaveEvery: c.Duration("save-every"), StopAt: c.Int("stop-at"), Data: data.fingerprint, Observe: r.observe,
	})
	if err != nil {
		return err
	}
	r.opened = append(r.opened, r.trainer)
	if c.Bool("tensorboard") {
		if r.events, err = newTrainEvents(r.dir, r.trainer.State().Step); err != nil {
			return err
		}
		r.opened = append(r.opened, r.events)
	}
	if err := tokenizers.CopyFile(config.Tokenizer, data.set.Dir, r.dir); err != nil {
		return err
	}
	if err := r.recordStart(train.Len(), val.Len()); err != nil {
		return err
	}
	r.progress.begin(r.trainer, r.device.Name())
	return nil
}

// observe takes the trainer's events.
func (r *trainRun) observe(event any) {
	r.progress.observe(event)
	if r.events != nil {
		r.progress.observe(r.events.observe(event))
	}
}

// close closes what was opened, the last first.
func (r *trainRun) close(c *cli.Context) (err error) {
	for _, o := range slices.Backward(r.opened) {
		err = errors.Join(err, o.Close())
	}
	closeDevice(c, r.device)
	return err
}

// checkpointOf returns the checkpoint to resume from, nil for a fresh start. A
// directory that holds a run is not overwritten.
func checkpointOf(c *cli.Context, dir string) (*sft.Checkpoint, error) {
	from, err := sft.LoadCheckpoint(dir)
	switch {
	case err == nil && !c.Bool("resume"):
		return nil, fmt.Errorf("%s holds a run already: go on with --resume, or choose another --out", dir)
	case errors.Is(err, os.ErrNotExist) && c.Bool("resume") && c.String("seeds") == "":
		return nil, fmt.Errorf("%s holds no run to resume: %w", dir, err)
	case errors.Is(err, os.ErrNotExist):
		for _, name := range []string{"config.json", "model.safetensors", "metrics.jsonl"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return nil, fmt.Errorf("%s holds a %s that is not of a run: choose another --out", dir, name)
			}
		}
		return nil, nil
	case err != nil && !c.Bool("resume"):
		return nil, fmt.Errorf("%s holds something else: %w", dir, err)
	}
	return from, err
}

// run trains to the end and returns the best accuracy on the validation split.
func (r *trainRun) run(c *cli.Context) (float64, error) {
	err := r.trainer.Run(c.Context)
	r.progress.finish()
	s := r.trainer.State()
	if err = errors.Join(err, r.close(c)); err != nil {
		if errors.Is(err, context.Canceled) {
			return 0, fmt.Errorf("stopped at step %d, the checkpoint is stored; go on with:\n  %s", s.Step, r.resume)
		}
		if device.Lost(err) {
			return 0, fmt.Errorf("step %d: %w; the last checkpoint is stored; go on with:\n  %s", s.Step+1, err, r.resume)
		}
		return 0, err
	}
	if !r.trainer.Finished() {
		fmt.Fprintf(r.out, "stopped at step %d, the checkpoint is stored; go on with:\n  %s\n", s.Step, r.resume)
		return s.Best, nil
	}
	selected := ""
	if by := r.trainer.Settings().Select; by != "" {
		selected = fmt.Sprintf(", selected by %s %.4f", by, s.Selected)
	}
	fmt.Fprintf(r.out, "validation accuracy %.2f%%%s (step %d of %d), model in %s\n", 100*s.Best, selected, s.BestStep, s.Step, r.dir)
	if r.baseline != nil {
		fmt.Fprintf(r.out, "simple models reach there: %s\n", r.baseline)
	}
	fmt.Fprintln(r.out, describeKernels(r.kernels, r.trainer.Kernels()))
	fmt.Fprintf(r.out, "repeat with: %s\n", r.reproduce)
	return s.Best, nil
}

// describeKernels says what a run's bits depend on beside the command that repeats it.
func describeKernels(first, last string) string {
	if first != "" && first != last {
		return fmt.Sprintf("computed with %s kernels at first, and with %s at the end: a run with one kind of them has other bits", first, last)
	}
	if slices.ContainsFunc(simd.Levels(), func(k *simd.Kernels) bool { return k.Name == last }) {
		return fmt.Sprintf("computed with %s kernels (%s=%s): another instruction set gives other bits", last, simd.Variable, last)
	}
	return fmt.Sprintf("computed with %s kernels: another device or driver gives other bits", last)
}
