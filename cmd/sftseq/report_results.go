package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/metrics"
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
	if p := provenanceOf(config); err == nil && p.Data != set.Fingerprint() {
		in.note = fmt.Sprintf("These rows are of %s, which is not the data that the run was trained on.", path)
	}
	return in, err
}

// ownRows are those of the data set that a run was trained on. An error says why they
// are not to be had, which a page can do without.
func ownRows(c *cli.Context, config *sft.Config) (*reportRows, error) {
	p := provenanceOf(config)
	if p.Data == "" {
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

// provenanceOf is what a model says of where it comes from; a model from elsewhere says
// nothing that could be read.
func provenanceOf(config *sft.Config) (p provenance) {
	if err := json.Unmarshal(config.Extra, &p); err != nil {
		return provenance{}
	}
	return p
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
	pick := newPicker(m.Config.NumLabels, c.Int("examples"))
	e := &evaluation{name: in.path, scorer: scorer, score: scorer.Examples, tally: metrics.NewTally(m.Config.NumLabels), seen: pick.see}
	p := newProgress(in.rows, "evaluating", "rows")
	err = e.run(c.Context, reader, p)
	p.Finish()
	if err != nil {
		return nil, err
	}
	out := &report.Results{Data: in.name, Note: in.note, Report: e.tally.Report(), Curves: e.tally.Curves()}
	if out.Report == nil {
		return nil, fmt.Errorf("%s: no rows, at least 1 was expected", in.path)
	}
	if in.set != nil && slices.Contains(baseline.Splits(in.set.Manifest), in.split) {
		if out.Baseline, err = baselineOf(c, in.set, in.split); err != nil {
			return nil, err
		}
	}
	out.Examples, err = explainRows(c, scorer, in.path, pick.rows())
	return out, err
}

// explainRows reads rows again, one by one: an explanation takes memory.
func explainRows(c *cli.Context, scorer *sft.Scorer, path string, rows []picked) ([]report.Example, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	f, err := seq.OpenWindow(path, scorer.Config().TruncatesAt())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []report.Example
	for _, row := range rows {
		x, err := f.Example(int(row.row))
		if err != nil {
			return nil, err
		}
		outputs, err := scorer.Explain(c.Context, []seq.Example{x})
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, row.row, err)
		}
		e := report.Example{Row: row.row, ID: row.id, Label: x.Label, Tokens: [][]int32{x.A}, Output: outputs[0]}
		if x.B != nil {
			e.Tokens = append(e.Tokens, x.B)
		}
		out = append(out, e)
	}
	return out, nil
}

// exampleRule is what picker does, for the reader of a page.
const exampleRule = "The rows are chosen by a rule: the classes take turns, in the order of their labels, and each gives by turns the first of its rows that is answered right and the first that is answered wrong."

// picker picks rows of an evaluation to be shown.
type picker struct {
	want  int
	found [][2][]picked // by class: rows answered right, and wrong, the first ones
}

// picked is a row of a data set, and what it is called there.
type picked struct {
	row uint32
	id  string
}

func newPicker(classes, want int) *picker { return &picker{want, make([][2][]picked, classes)} }

func (p *picker) see(x *seq.Example, logits []float32) {
	wrong := 0
	if sft.Argmax(logits) != int(x.Label) {
		wrong = 1
	}
	if rows := &p.found[x.Label][wrong]; len(*rows) < p.want {
		*rows = append(*rows, picked{x.Index, strings.Clone(x.ID)}) // which shares the memory of many
	}
}

// rows are at most as many as wanted.
func (p *picker) rows() (out []picked) {
	for turn := 0; ; turn++ {
		before := len(out)
		for class := range p.found {
			kind := (class + turn) % 2
			if len(p.found[class][kind]) == 0 {
				kind = 1 - kind
			}
			if rows := &p.found[class][kind]; len(*rows) > 0 && len(out) < p.want {
				out, *rows = append(out, (*rows)[0]), (*rows)[1:]
			}
		}
		if len(out) == before {
			return out
		}
	}
}
