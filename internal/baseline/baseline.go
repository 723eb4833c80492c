// Package baseline measures baselines on a data set. Reports show the results of baselines and models
// side by side. The baselines are:
//
// - the largest class
// - logistic regression on n-grams of words or tokens (package linear)
// - for pairs, the cosine of their bags of words or tokens
// - for rows of equal length whose tokens are levels, such as pixels, the nearest class mean
// - for ListOps, the operator at the root
// - for point clouds and graphs, logistic regression on moments of their features
// - for numbers, ridge regression on bags of words or tokens, or on moments
// - for masked tokens, the token frequencies
//
// Each baseline takes seconds, or minutes on images.
package baseline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/seq"
)

// Result has the accuracies of the baselines on a split. They lie between 0 and 1.
type Result struct {
	Split string `json:"split"`
	// Class is the largest class of the training split. Majority is the accuracy of always
	// predicting Class.
	Class    string  `json:"largest_class"`
	Majority float64 `json:"majority"`
	Models   []Model `json:"models,omitempty"` // trained baselines, if any
	Only     *Model  `json:"model,omitempty"`  // the only baseline in a file of an older version
}

// Model is a trained baseline.
type Model struct {
	Name     string  `json:"name"`
	Accuracy float64 `json:"accuracy"`
	Rows     int     `json:"rows"`       // number of evaluated rows
	Trained  int     `json:"train_rows"` // number of training rows
}

// Measure trains the baselines on the training split and evaluates them on the given splits. The
// results have the order of splits. progress, which may be nil, receives the number of rows
// processed since its last call. The total is unknown in advance, because the number of training
// passes depends on the data.
func Measure(ctx context.Context, set *seq.Dataset, progress func(rows int64), splits ...string) ([]Result, error) {
	return measure(ctx, set, splits, usual, progress)
}

func measure(ctx context.Context, set *seq.Dataset, splits []string, limits limits,
	progress func(rows int64)) ([]Result, error) {
	m := set.Manifest
	if m.Splits["train"].Rows == 0 {
		return nil, errors.New("a baseline needs a training split with rows")
	}
	if len(m.LabelNames) == 0 || m.Task == seq.MultiLabel || m.Task == seq.Tagging {
		return nil, errors.New("a baseline needs one label per row")
	}
	out := make([]Result, len(splits))
	for i, split := range splits {
		info, ok := m.Splits[split]
		if !ok || info.Rows == 0 {
			return nil, fmt.Errorf("a baseline needs rows in the split %q, found none", split)
		}
		class := largest(m.LabelNames, m.Splits["train"].Labels)
		out[i] = Result{Split: split, Class: class, Majority: float64(info.Labels[class]) / float64(info.Rows)}
	}
	models, err := suited(ctx, set, limits)
	if err != nil {
		return nil, err
	}
	work := &work{ctx: ctx, set: set, progress: progress}
	for _, model := range models {
		if err := work.measure(model, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// work measures the baselines of one data set and reports its progress.
type work struct {
	ctx      context.Context
	set      *seq.Dataset
	progress func(rows int64)
}

// done adds n rows to the reported progress.
func (w *work) done(n int) {
	if w.progress != nil {
		w.progress(int64(n))
	}
}

// measure trains a baseline and adds its accuracy to the results.
func (w *work) measure(m *baseline, out []Result) error {
	train := m.train
	if train == nil {
		train = func(w *work) (int, error) {
			if _, err := w.read("train", seq.Window{Length: m.window}, m.limits.train, m.learn); err != nil {
				return 0, err
			}
			return m.finish(w)
		}
	}
	trained, err := train(w)
	if err != nil {
		return err
	}
	for i := range out {
		correct := 0
		rows, err := w.read(out[i].Split, seq.Window{Length: m.window}, m.limits.test,
			func(rows []seq.Example) { correct += m.countCorrect(rows) })
		if err != nil {
			return err
		}
		out[i].Models = append(out[i].Models, Model{m.name, float64(correct) / float64(rows), rows, trained})
	}
	return nil
}

// largest returns the class with the most rows, the first in names if several tie.
func largest(names []string, rows map[string]int64) string {
	best := names[0]
	for _, name := range names {
		if rows[name] > rows[best] {
			best = name
		}
	}
	return best
}

// Line is the name of a baseline and its accuracy.
type Line struct {
	Name     string
	Accuracy float64
}

// Lines returns all baselines of a result.
func (r *Result) Lines() []Line {
	out := []Line{{fmt.Sprintf("largest class (%.40s)", r.Class), r.Majority}}
	for _, m := range r.Models {
		out = append(out, Line{m.Name, m.Accuracy})
	}
	return out
}

// String returns the names and accuracies of all baselines, separated by commas.
func (r *Result) String() string {
	var out []string
	for _, l := range r.Lines() {
		out = append(out, fmt.Sprintf("%s %.2f%%", l.Name, 100*l.Accuracy))
	}
	return strings.Join(out, ", ")
}
