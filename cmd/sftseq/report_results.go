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
	"github.com/sftseq/sftseq/internal/metrics"
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
	split      string
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
	m, err := sft.Load(dir)
	if err != nil {
		return err
	}
	if !m.Config.Answers() && !m.Config.LabelsHold() && !m.Config.Predicts() {
		r.Missing = "the model was trained without labels (sftseq eval says how well it tells masked tokens)"
		if m.Config.Tags() {
			r.Missing = "the model tags tokens, and has no class of a row (sftseq eval says how well it finds spans)"
		}
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
	if m.Config.Predicts() {
		r.Numbers, err = measureNumbers(c, m, in, dir)
		return err
	}
	if m.Config.LabelsHold() {
		r.Labels, err = measureLabels(c, m, in, dir)
		return err
	}
	r.Results, err = measure(c, m, in, dir)
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
	return &reportRows{path: path, name: fmt.Sprintf("%s, split %s", set.Dir, split), rows: set.Manifest.Splits[split].Rows, set: set, split: split}, nil
}

// measure evaluates the model of a run as eval does, and explains the rows that are picked.
func measure(c *cli.Context, m *sft.Model, in *reportRows, dir string) (*report.Results, error) {
	reader, err := in.open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := fits(m.Config, reader.Spec()); err != nil {
		return nil, fmt.Errorf("%s does not fit the model %s: %w", in.path, dir, err)
	}
	scorer, release, err := openScorer(c, m)
	if err != nil {
		return nil, err
	}
	defer release()
	pick := evaluation.NewPicker(m.Config.NumLabels, c.Int("examples"))
	e := &evaluation.Evaluation{Name: in.path, Scorer: scorer, Score: scorer.Examples, Tally: metrics.NewTally(m.Config.NumLabels), Seen: pick.See}
	p := newProgress(in.rows, "evaluating", "rows")
	err = e.Run(c.Context, reader, p.Add)
	p.Finish()
	if err != nil {
		return nil, err
	}
	out := &report.Results{Data: in.name, Note: in.note, Report: e.Tally.Report(), Curves: e.Tally.Curves()}
	if out.Report == nil {
		return nil, fmt.Errorf("%s: no rows, at least 1 was expected", in.path)
	}
	if in.set != nil && slices.Contains(baseline.Splits(in.set.Manifest), in.split) {
		if out.Baseline, err = baselineOf(c, in.set, in.split); err != nil {
			return nil, err
		}
	}
	out.Examples, err = pick.Explain(c.Context, scorer, in.path)
	return out, err
}
