package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/study"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// trainingFlags are those of a study that trains models.
func trainingFlags(name string, more ...cli.Flag) []cli.Flag {
	return append(append(studyFlags(name, more...),
		&cli.StringFlag{Name: "task", Value: lra.Shapes.Name, Usage: "what is learned: " + strings.Join(lra.Names(), ", ") + " or custom (of --data); shapes are clouds of --points, generated once, with the settings of train custom"},
		&cli.StringFlag{Name: "preset", Value: "quick", Usage: "of the task: its model and settings, but for what the study changes"},
		&cli.StringFlag{Name: "data", Usage: "data set `DIR`, where the task's is not generated", TakesFile: true},
		&cli.IntFlag{Name: "points", Value: 1024, Usage: "of a cloud, with --task shapes"},
		&cli.IntFlag{Name: "steps", Value: 300, Usage: "updates of a run"},
		&cli.IntFlag{Name: "epochs", Usage: "passes over the training split, instead of --steps"},
		&cli.IntFlag{Name: "batch", Usage: "examples in a batch", DefaultText: "of the preset"},
		&cli.IntFlag{Name: "evaluations", Value: 10, Usage: "of a run, with --steps; with --epochs there is one after each"},
		&cli.StringFlag{Name: "seeds", Usage: "train with each `SEED,SEED,…`, instead of --seed"},
		&cli.StringFlag{Name: "memory", Value: "4GiB", Usage: "limit on memory, as of train"},
		threadsFlag()), deviceFlags(device.Fastest)...)
}

// variant is a model that a study trains: what it changes of the preset's.
type variant struct {
	name   string
	dir    string // of its runs
	change func(c *sft.Config)
}

// trainedRun is a run of a variant.
type trainedRun struct {
	variant string
	seed    uint64
	dir     string
	metrics *sft.Metrics
}

// studyTraining is what all runs of a study have in common.
type studyTraining struct {
	task     *lra.Task
	preset   *lra.Preset
	data     *trainData
	config   sft.Config
	settings sft.Settings
	longest  int // tokens of a sequence, as the model reads them
	seeds    []uint64
	memory   int64
}

// newStudyTraining reads the flags, and opens the data.
func newStudyTraining(c *cli.Context) (*studyTraining, error) {
	s := &studyTraining{}
	if err := s.flags(c); err != nil {
		return nil, err
	}
	var err error
	if s.memory, err = memoryLimit(c); err != nil {
		return nil, err
	}
	if s.task, s.preset, s.data, err = studyData(c); err != nil {
		return nil, err
	}
	s.config, s.settings = s.preset.Config, s.preset.Settings
	if s.settings.Steps, s.settings.Epochs = c.Int("steps"), 1; c.IsSet("epochs") {
		s.settings.Steps, s.settings.Epochs = 0, c.Int("epochs")
	}
	if c.IsSet("batch") {
		s.settings.Batch = c.Int("batch")
	}
	s.settings.Patience = 0
	if s.settings.EvalEvery = 0; s.settings.Steps > 0 {
		s.settings.EvalEvery = max(1, s.settings.Steps/c.Int("evaluations"))
	}
	s.settings.Select = selection(s.settings.Select, s.task.Kind)
	if err := describeRun(c, s.task, &s.config, &s.settings, s.data.set); err != nil {
		return nil, err
	}
	if !s.config.Answers() {
		return nil, usage(c, "--task %s: its rows have no class each, and so no accuracy to compare", s.task.Name)
	}
	for _, split := range []string{"train", "val"} {
		f, err := s.config.OpenSplit(s.data.set, split)
		if err != nil {
			return nil, err
		}
		_, n := f.Longest()
		s.longest = max(s.longest, n)
		if split == "train" {
			s.settings.LogEvery = s.settings.EvalEvery
			if s.settings.LogEvery == 0 {
				s.settings.LogEvery = max(1, (f.Len()+s.settings.Batch-1)/s.settings.Batch)
			}
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	if w := s.config.InputWindow; w != nil {
		s.longest = min(s.longest, w.Length)
	}
	return s, s.settings.Validate()
}

// flags checks numbers, and reads the seeds.
func (s *studyTraining) flags(c *cli.Context) error {
	for name, low := range map[string]int{"points": 2, "steps": 1, "evaluations": 1} {
		if _, err := countFlag(c, name, low, 1<<24); err != nil {
			return err
		}
	}
	for _, name := range []string{"epochs", "batch"} {
		if _, err := countFlag(c, name, 1, 1<<24); c.IsSet(name) && err != nil {
			return err
		}
	}
	if c.IsSet("steps") && c.IsSet("epochs") {
		return usage(c, "--steps and --epochs exclude each other")
	}
	if c.String("seeds") == "" {
		s.seeds = []uint64{c.Uint64("seed")}
		return nil
	}
	if c.IsSet("seed") {
		return usage(c, "--seed and --seeds exclude each other")
	}
	for word := range strings.SplitSeq(c.String("seeds"), ",") {
		seed, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil || slices.Contains(s.seeds, seed) {
			return usage(c, "--seeds: %q, expected different numbers separated by commas", word)
		}
		s.seeds = append(s.seeds, seed)
	}
	return nil
}

// train trains every variant with every seed, in directories of their own in --out. Runs that
// are there already are gone on with, or taken as they are.
func (s *studyTraining) train(c *cli.Context, variants []variant) (out []trainedRun, err error) {
	d, err := openDevice(c)
	if err != nil {
		return nil, err
	}
	defer closeDevice(c, d)
	for _, v := range variants {
		for _, seed := range s.seeds {
			r := trainedRun{variant: v.name, seed: seed, dir: filepath.Join(c.String("out"), "runs", v.dir, fmt.Sprintf("seed-%d", seed))}
			fmt.Fprintf(c.App.ErrWriter, "%s, seed %d (run %d of %d)\n", v.name, seed, len(out)+1, len(variants)*len(s.seeds))
			if err := s.run(c, d, v, &r); err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// run trains one model, or goes on with it.
func (s *studyTraining) run(c *cli.Context, d tensor.Device, v variant, r *trainedRun) (err error) {
	config, settings := s.config, s.settings
	settings.Seed = r.seed
	v.change(&config)
	if err := config.Validate(); err != nil {
		return modelUsage(c, err)
	}
	command := c.Command.HelpName + givenFlags(c, commandFlags(c)...)
	model, err := startingModel(c, &config, provenance.Provenance{Sftseq: version(), Command: command, Preset: s.preset.Name, DataDir: provenance.Path(s.data.set.Dir),
		DataName: s.data.set.Manifest.Name, Data: s.data.fingerprint, Precision: chosenPrecision(c), Kernels: d.Kernels(), Settings: settings})
	if err != nil {
		return err
	}
	from, err := sft.LoadCheckpoint(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		from = nil
	case err != nil:
		return err
	default:
		had, has := *from.Config, config
		had.Extra, has.Extra = nil, nil
		if from.Data != s.data.fingerprint || !provenance.Same(from.Settings, settings) || !provenance.Same(had, has) {
			return fmt.Errorf("%s holds a run of other data, settings or another model: choose another --out", r.dir)
		}
	}
	train, err := config.OpenSplit(s.data.set, "train")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, train.Close()) }()
	val, err := config.OpenSplit(s.data.set, "val")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, val.Close()) }()
	progress := newTrainProgress(c.App.ErrWriter)
	trainer, err := sft.NewTrainer(model, settings, d, train, val, from, sft.Options{Dir: r.dir, Memory: memoryOn(c, d, s.memory),
		SaveEvery: time.Minute, Data: s.data.fingerprint, Observe: progress.observe})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trainer.Close()) }()
	if err := tokenizers.CopyFile(config.Tokenizer, s.data.set.Dir, r.dir); err != nil {
		return err
	}
	progress.begin(trainer, d.Name())
	err = trainer.Run(c.Context)
	progress.finish()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("stopped, the checkpoint is stored; the same command goes on")
	}
	if err != nil {
		return err
	}
	r.metrics, err = sft.ReadMetrics(r.dir)
	return err
}

// commandFlags are the names of a command's flags.
func commandFlags(c *cli.Context) (names []string) {
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; name != cli.HelpFlag.Names()[0] {
			names = append(names, name)
		}
	}
	return names
}

// describe says what runs of a model were made with.
func (s *studyTraining) describe(m *sft.Config) string {
	end := fmt.Sprintf("%d steps", s.settings.Steps)
	if s.settings.Steps == 0 {
		end = fmt.Sprintf("%d epochs", s.settings.Epochs)
	}
	splits := s.data.set.Manifest.Splits
	return fmt.Sprintf("%s of batches of %d, %d rows for training, %d for validation, of at most %d tokens; %d layers of %d channels, %d heads; seeds %s",
		end, s.settings.Batch, splits["train"].Rows, splits["val"].Rows, s.longest, m.NumLayers, m.HiddenSize, m.NumHeads, strings.Trim(strings.ReplaceAll(fmt.Sprint(s.seeds), " ", ", "), "[]"))
}

// accuracies are the curves of a run in training and in validation.
func (r *trainedRun) accuracies() (training, validation study.Curve) {
	for _, m := range r.metrics.Train {
		if m.Accuracy != nil {
			training.Steps, training.Values = append(training.Steps, m.Step), append(training.Values, *m.Accuracy)
		}
	}
	for _, m := range r.metrics.Validation {
		if m.Accuracy != nil {
			validation.Steps, validation.Values = append(validation.Steps, m.Step), append(validation.Values, *m.Accuracy)
		}
	}
	return training, validation
}
