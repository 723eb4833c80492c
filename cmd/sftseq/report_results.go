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
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// reportRows are the rows on which a report evaluates the model of a run.
type reportRows struct {
	path, name string
	rows       int64        // 0 if unknown
	note       string       // sentence for the page if the rows are not from the run's data set, or ""
	set        *seq.Dataset // nil if --data is a file
	dir, split string       // directory and split of the data set
}

// open returns a reader of the rows, which the caller must close.
func (r *reportRows) open() (*seq.Reader, error) {
	if r.set == nil {
		return seq.Open(r.path)
	}
	return r.set.Reader(r.split)
}

// addResults evaluates a run's model and explains some rows, or sets r.Missing to the reason why
// there are no results.
func addResults(c *cli.Context, r *report.Run, dir string) (err error) {
	if c.String("data") != "" {
		defer func() {
			if err != nil && c.Context.Err() == nil {
				err = fmt.Errorf("%w%s", err, recordedHint(dir))
			}
		}()
	}
	if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); errors.Is(err, fs.ErrNotExist) {
		r.Missing = "the run has no model yet, because it has not written a checkpoint"
		return nil
	}
	m, err := loadWithContext(c.Context, dir)
	if err != nil {
		return err
	}
	kind := task.Of(m.Config)
	if kind.Evaluator() == nil {
		r.Missing = "the model was trained without labels (evaluate its predictions of masked tokens with sftseq eval)"
		return nil
	}
	in, err := rowsOf(c, m.Config)
	if err != nil && c.String("data") == "" {
		r.Missing = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	page := kind.Page(task.PageInput{Path: in.path, Name: in.name, Note: in.note, Dir: in.dir,
		Split: in.split, Rows: in.rows,
		Examples: c.Int("examples"), Baseline: func() (*baseline.Result, error) { return in.baseline(c) }})
	return in.score(c, m, dir, func(e *evaluation.Evaluation, rows *seq.Reader, done func(int64)) error {
		if err := page.Run(c.Context, e, rows, done, r); err != nil {
			return err
		}
		r.Evidence, err = reportEvidence(c, e.Scorer, in.path)
		return err
	})
}

// reportEvidence measures how the predicted class depends on the tokens with the largest weights, on
// --evidence rows. It returns nil for 0 rows and for models without classes or weights of tokens.
func reportEvidence(c *cli.Context, s *sft.Scorer, path string) (*report.Evidence, error) {
	if c.Int("evidence") == 0 || evaluation.CanMeasureEvidence(s) != nil {
		return nil, nil
	}
	v, err := measureEvidence(c.Context, s, path, c.Int("evidence"))
	if err != nil {
		return nil, err
	}
	fraction := func(n int) float64 { return float64(n) / float64(max(1, v.Rows)) }
	return &report.Evidence{Rows: v.Rows, Kept: fraction(v.Kept), RandomKept: fraction(v.RandomKept),
		Changed: fraction(v.Changed), RandomChanged: fraction(v.RandomChanged), P: v.P}, nil
}

// baseline returns the baselines of the rows, or nil if the rows are not a split with measurable
// baselines.
func (r *reportRows) baseline(c *cli.Context) (*baseline.Result, error) {
	if r.set == nil || !slices.Contains(baseline.Splits(r.set.Manifest), r.split) {
		return nil, nil
	}
	return baselineOf(c, r.set, r.split)
}

// rowsOf returns the rows of --data, or rows of the run's data set.
func rowsOf(c *cli.Context, config *sft.Config) (*reportRows, error) {
	if c.String("data") != "" {
		return dataFlagRows(c, config)
	}
	return recordedRows(c, config)
}

// dataFlagRows returns the rows of --data.
func dataFlagRows(c *cli.Context, config *sft.Config) (*reportRows, error) {
	path := c.String("data")
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return &reportRows{path: path, name: path}, nil // opening the path reports the error
	}
	set, err := seq.OpenDataset(path)
	if err != nil {
		return nil, err
	}
	in, err := splitRows(c, set)
	if p, _ := provenance.Of(config); err == nil && p.Data != set.Fingerprint() {
		in.note = fmt.Sprintf("These rows are from %s, not from the data set of the run.", path)
	}
	return in, err
}

// recordedRows returns the rows of --split in the data set on which a run was trained. If they are
// unavailable, the error has the reason, and the page omits the results.
func recordedRows(c *cli.Context, config *sft.Config) (*reportRows, error) {
	p, err := provenance.Of(config)
	if err != nil || p.Data == "" {
		return nil, errors.New("the run's config.json does not record the training data (pass a data set with --data)")
	}
	dir := string(p.DataDir)
	if dir == "" { // the data set was generated into the cache
		task, err := lra.Lookup(p.DataName)
		if err != nil {
			return nil, fmt.Errorf("%w (pass its data set with --data)", err)
		}
		preset, err := task.Preset(p.Preset)
		if err != nil {
			return nil, fmt.Errorf("%w (pass its data set with --data)", err)
		}
		if dir, err = cachedData(preset); err != nil {
			return nil, err
		}
	}
	set, err := seq.OpenDataset(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the run's training data does not exist at %s (pass its path with --data)", dir)
	}
	if err != nil {
		return nil, err
	}
	if set.Fingerprint() != p.Data {
		return nil, fmt.Errorf("%s has changed since the training (use it anyway with --data)", dir)
	}
	return splitRows(c, set)
}

func splitRows(c *cli.Context, set *seq.Dataset) (*reportRows, error) {
	split := c.String("split")
	path, err := set.Path(split)
	if err != nil {
		return nil, err
	}
	return &reportRows{path: path, name: fmt.Sprintf("%s, split %s", set.Dir, split),
		rows: set.Manifest.Splits[split].Rows, set: set, dir: set.Dir, split: split}, nil
}

// score calls the function run with an evaluation of the model m, a reader of the rows, and a
// function that adds rows to the progress. dir is the directory of the model, for error messages.
func (r *reportRows) score(c *cli.Context, m *sft.Model, dir string, run func(e *evaluation.Evaluation, in *seq.Reader,
	done func(int64)) error) error {
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
