package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// reportRows are what a run's model is measured on.
type reportRows struct {
	path, name string
	rows       int64 // 0 where not known
	note       string
	set        *seq.Dataset // nil where they are of none
	dir, split string       // of the data set
}

// open begins to read them.
func (r *reportRows) open() (*seq.Reader, error) {
	if r.set == nil {
		return seq.Open(r.path)
	}
	return r.set.Reader(r.split)
}

// addResults measures a run's model and explains some rows, or says why it cannot.
func addResults(c *cli.Context, r *report.Run, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); errors.Is(err, fs.ErrNotExist) {
		r.Missing = "the run has no model yet, which it stores with its first checkpoint"
		return nil
	}
	m, err := load(c.Context, dir)
	if err != nil {
		return err
	}
	if m.Config.Task == sft.FillMask {
		r.Missing = "the model was trained without labels (sftseq eval says how well it tells masked tokens)"
		return nil
	}
	var in *reportRows
	if c.String("data") != "" {
		in, err = givenRows(c, m.Config)
	} else {
		in, err = ownRows(c, m.Config)
		if err != nil {
			r.Missing = err.Error()
			return nil
		}
	}
	if err != nil {
		return err
	}
	switch {
	case m.Config.Tags() && m.Config.Featured():
		r.NodeTags, err = measureNodeTags(c, m, in, dir)
	case m.Config.Tags():
		r.Tags, err = measureTags(c, m, in, dir)
	case m.Config.Predicts():
		r.Numbers, err = measureNumbers(c, m, in, dir)
	case m.Config.LabelsHold():
		r.Labels, err = measureLabels(c, m, in, dir)
	default:
		r.Results, err = measureClasses(c, m, in, dir)
	}
	return err
}

// givenRows are those of --data.
func givenRows(c *cli.Context, config *sft.Config) (*reportRows, error) {
	path := c.String("data")
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return &reportRows{path: path, name: path}, nil // what is wrong with it shows when it is opened
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil, err
	}
	in, err := splitRows(c, set)
	if p, _ := provenance.Of(config); err == nil && p.Data != set.Fingerprint() {
		in.note = fmt.Sprintf("These rows are of %s, which is not the data that the run was trained on.", path)
	}
	return in, err
}

// ownRows are those of the data set that a run was trained on. An error says why they
// are not to be had, which a page can do without.
func ownRows(c *cli.Context, config *sft.Config) (*reportRows, error) {
	p, err := provenance.Of(config)
	if err != nil || p.Data == "" {
		return nil, errors.New("its config.json does not say which data it was trained on (--data names some)")
	}
	dir := string(p.DataDir)
	if dir == "" { // it was generated into the cache
		task, err := lra.Lookup(p.DataName)
		if err != nil {
			return nil, fmt.Errorf("%w (--data names its data)", err)
		}
		preset, err := task.Preset(p.Preset)
		if err != nil {
			return nil, fmt.Errorf("%w (--data names its data)", err)
		}
		if dir, err = cachedData(preset); err != nil {
			return nil, err
		}
	}
	set, err := seq.OpenDataset(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the data that it was trained on is not in %s, as seen from here (--data names it)", dir)
	}
	if err != nil {
		return nil, err
	}
	if set.Fingerprint() != p.Data {
		return nil, fmt.Errorf("%s is no longer the data that it was trained on (--data takes it all the same)", dir)
	}
	return splitRows(c, set)
}

func splitRows(c *cli.Context, set *seq.Dataset) (*reportRows, error) {
	split := c.String("split")
	path, err := set.Path(split)
	if err != nil {
		return nil, err
	}
	return &reportRows{path: path, name: fmt.Sprintf("%s, split %s", set.Dir, split), rows: set.Manifest.Splits[split].Rows, set: set, dir: set.Dir, split: split}, nil
}

// measure scores the rows; seen is called with each of them, and may be nil.
func (r *reportRows) measure(c *cli.Context, m *sft.Model, dir string, kind evalKind, seen func(x *seq.Example, length int, logits []float32)) error {
	return r.score(c, m, dir, func(e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
		e.Seen = seen
		return runKind(c.Context, kind, e, rows, done)
	})
}

// evaluated describes the rows.
func (r *reportRows) evaluated() evaluated {
	return evaluated{Data: r.dir, Split: r.split, file: r.path}
}

// measure has a run's model measured on the rows as eval does.
func (r *reportRows) score(c *cli.Context, m *sft.Model, dir string, run func(e *evaluation.Evaluation, in *seq.Reader, done func(int64)) error) error {
	reader, err := r.open()
	if err != nil {
		return err
	}
	defer reader.Close()
	if err := checkRows(m.Config, reader.Spec(), r.path, dir); err != nil {
		return err
	}
	scorer, release, err := openScorer(c, models{Model: m})
	if err != nil {
		return err
	}
	defer release()
	p := newProgress(r.rows, "evaluating", "rows")
	defer p.Finish()
	return run(&evaluation.Evaluation{Name: r.path, Scorer: scorer, Score: scorer.Examples}, reader, p.Add)
}

// measureClasses measures a model of classes, and explains the rows that are picked.
func measureClasses(c *cli.Context, m *sft.Model, in *reportRows, dir string) (out *report.Results, err error) {
	err = in.score(c, m, dir, func(e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
		kind, pick := newClassKind(m.Config), evaluation.NewPicker(m.Config.NumLabels, c.Int("examples"))
		e.Seen = pick.See
		if err := runKind(c.Context, kind, e, rows, done); err != nil {
			return err
		}
		out = &report.Results{Data: in.name, Note: in.note, Report: kind.tally.Report(), Curves: kind.tally.Curves()}
		if out.Report == nil {
			return fmt.Errorf("%s: no rows, at least 1 was expected", in.path)
		}
		if in.set != nil && slices.Contains(baseline.Splits(in.set.Manifest), in.split) {
			if out.Baseline, err = baselineOf(c, in.set, in.split); err != nil {
				return err
			}
		}
		out.Examples, err = pick.Explain(c.Context, e.Scorer, in.path)
		return err
	})
	return out, err
}
