package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

const (
	numEvaluations = 10      // approximate number of evaluations per run
	trainingMemory = 4 << 30 // bytes
)

// training trains models that differ in part of their configuration.
type training struct {
	runDevice
	data    string
	steps   int
	seeds   []uint64
	sampled []int // numbers of sampled tokens in the study sampling

	set      *seq.Dataset
	preset   *lra.Preset
	config   sft.Config // configuration of the preset, for the data
	settings train.Settings
	longest  int // length of the longest sequence in tokens, after truncation to the input window
}

// variant is a model that a study trains: the preset's model after change has modified its
// configuration.
type variant struct {
	name   string
	dir    string // folder of its runs
	change func(c *sft.Config)
}

// trainedRun is a run of a variant with its accuracies.
type trainedRun struct {
	variant              string
	seed                 uint64
	dir                  string
	training, validation curve
}

// trainingStudy returns a study that compares the learning curves of variants. The argument paper
// is a note with the paper's results.
func trainingStudy(name, summary, help, title, paper string, variants func(t *training) ([]variant, error)) *study {
	return &study{name: name, summary: summary,
		help: help + `
Most settings are those of sftseq train custom, but runs do not stop early, select a model or
fit a temperature. Runs are stored in --out, where sftseq report and plot can read them. After
Ctrl-C, run the same command to resume.`,
		columns: []string{"model", "best in training", "best in validation", "at the end"},
		prepare: func(f *flags) measurement {
			t := f.trainingFlags()
			if name == "sampling" {
				f.sampledTokensFlag(&t.sampled, 4, 64, 128, 256, 512)
			}
			return func(ctx context.Context, r *report) error {
				if err := t.openData(); err != nil {
					return err
				}
				r.title, r.notes = title, []string{paper}
				variants, err := variants(t)
				if err != nil {
					return err
				}
				return t.compare(ctx, r, variants)
			}
		}}
}

func (f *flags) trainingFlags() *training {
	t := &training{seeds: []uint64{1}}
	f.StringVar(&t.data, "data", "",
		"`directory` of a data set with classes, for example from sftseq data generate shapes (required)")
	f.intFlag(&t.steps, "steps", 300, 1, 1<<24, "updates of a run")
	f.Func("seeds", "train with each seed, `SEED,SEED,…` (default 1)", func(text string) error {
		t.seeds = nil
		for word := range strings.SplitSeq(text, ",") {
			seed, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
			if err != nil || slices.Contains(t.seeds, seed) {
				return fmt.Errorf("%q: expected distinct whole numbers, separated by commas", word)
			}
			t.seeds = append(t.seeds, seed)
		}
		return nil
	})
	f.deviceFlags(&t.runDevice, runtime.GOMAXPROCS(0))
	return t
}

// openData opens the data set and chooses the settings from it.
func (t *training) openData() (err error) {
	if t.data == "" {
		return usagef("--data is missing: expected the directory of a data set with classes")
	}
	if t.set, err = seq.OpenDataset(t.data); err != nil {
		return err
	}
	t.preset = lra.CustomRun(t.set.Manifest, lra.RunFlags{Schedule: "step"}).Presets[0]
	t.config, t.settings = t.preset.Config, t.preset.Settings
	// Selecting the best model of a run, or fitting a temperature, would hide the differences between the
	// variants.
	t.settings.Select, t.settings.TemperatureScaling, t.settings.SpanDecoding,
		t.settings.Warmup = "", false, false, "100"
	t.settings.Steps, t.settings.Epochs = t.steps, 1
	t.settings.EvalEvery = max(1, t.steps/numEvaluations)
	t.settings.LogEvery, t.settings.Patience, t.settings.EmbeddingInit = t.settings.EvalEvery, 0, ""
	if err := t.config.DescribeData(t.set.Spec()); err != nil {
		return fmt.Errorf("--data %s: %w", t.data, err)
	}
	if !task.ComparesAccuracy(&t.config) {
		return fmt.Errorf("--data %s: expected a class for each row, found the task %s", t.data, t.config.Task)
	}
	for _, split := range []string{"train", "val"} {
		f, err := t.config.OpenSplit(t.set, split)
		if err != nil {
			return err
		}
		_, n := f.Longest()
		t.longest = max(t.longest, n)
		if err := f.Close(); err != nil {
			return err
		}
	}
	return t.settings.Validate()
}

// compare trains every variant with every seed, in separate directories under --out, and adds their
// curves to the report.
func (t *training) compare(ctx context.Context, r *report, variants []variant) (err error) {
	d, err := t.runDevice.open(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var runs []trainedRun
	for _, v := range variants {
		for _, seed := range t.seeds {
			run := trainedRun{variant: v.name, seed: seed, dir: filepath.Join(r.dir, "runs", v.dir,
				fmt.Sprintf("seed-%d", seed))}
			fmt.Fprintf(r.log, "%s, seed %d (run %d of %d)\n", v.name, seed, len(runs)+1, len(variants)*len(t.seeds))
			if err := t.train(ctx, r, d, v, &run); err != nil {
				return err
			}
			runs = append(runs, run)
		}
	}
	r.addCurves(variants, runs)
	splits := t.set.Manifest.Splits
	r.note("Here: %s, %d steps of batches of %d, %d rows for training, %d for validation, of at most %d tokens; %d layers of %d channels, %d heads; seeds %s.",
		t.set.Manifest.Name, t.steps, t.settings.Batch, splits["train"].Rows, splits["val"].Rows, t.longest,
		t.config.NumLayers, t.config.HiddenSize, t.config.NumHeads,
		strings.Trim(strings.ReplaceAll(fmt.Sprint(t.seeds), " ", ", "), "[]"))
	return nil
}

// train trains a variant with run.seed in run.dir, or resumes the run in this directory, and sets the
// accuracies of run. A run that is already complete is not trained again.
func (t *training) train(ctx context.Context, r *report, d tensor.Device, v variant, run *trainedRun) (err error) {
	config, settings := t.config, t.settings
	settings.Seed = run.seed
	v.change(&config)
	if err := config.Validate(); err != nil {
		return err
	}
	data := t.set.Fingerprint()
	from, err := train.LoadCheckpoint(run.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		from = nil
	case err != nil:
		return err
	default:
		earlier := *from.Config
		earlier.Extra = nil
		if from.Data != data || !provenance.Same(from.Settings, settings) || !provenance.Same(earlier, config) {
			return fmt.Errorf("%s contains a run with other data, settings or another model: choose another "+
				"--out", run.dir)
		}
	}
	p := provenance.Provenance{Sftseq: version(), Command: r.command, Preset: t.preset.Name,
		DataDir:  provenance.Path(t.set.Dir),
		DataName: t.set.Manifest.Name, Data: data, Kernels: d.Kernels(), Settings: settings}
	if err := p.Store(&config); err != nil {
		return err
	}
	rows, err := config.OpenSplit(t.set, "train")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	val, err := config.OpenSplit(t.set, "val")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, val.Close()) }()
	trainer, err := train.NewTrainer(sft.NewModel(&config, run.seed), settings, d, rows, val, from,
		train.Options{Dir: run.dir, Memory: trainingMemory, SaveEvery: time.Minute, Data: data,
			Observe: func(event any) {
				if e, ok := event.(train.EvaluationReport); ok {
					fmt.Fprintf(r.log, "step %d of %d: validation accuracy %s\n", e.Step, t.steps, percent(*e.Accuracy))
				}
			}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trainer.Close()) }()
	if err := tokenizers.CopyFile(config.Tokenizer, t.set.Dir, run.dir); err != nil {
		return err
	}
	if err := trainer.Run(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted, stored the checkpoint; run the same command to resume")
		}
		return err
	}
	metrics, err := train.ReadMetrics(run.dir)
	if err != nil {
		return err
	}
	for _, m := range metrics.Train {
		run.training.add(m.Step, m.Accuracy)
	}
	for _, m := range metrics.Validation {
		run.validation.add(m.Step, m.Accuracy)
	}
	return nil
}

// version returns the version of the program, which is recorded in the provenance of runs.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
