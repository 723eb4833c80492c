// Package baseline measures what simple models reach on a data set, so that no accuracy
// stands alone: the largest class; a bag of tokens with logistic regression; of pairs, the
// cosine of their bags. They know nothing of the order of tokens beyond neighbours, and
// take seconds.
package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"sftseq/seq"
)

// Result is what the simple models reach on a split. Accuracies are between 0 and 1.
type Result struct {
	Split string `json:"split"`
	// Class is the largest class of the training split, Majority the accuracy of a model
	// that always answers it.
	Class    string  `json:"largest_class"`
	Majority float64 `json:"majority"`
	// Model is what was trained, nil where nothing could be: Accuracy is its own.
	Model *Model `json:"model,omitempty"`
}

// Model is a simple model that was trained.
type Model struct {
	Name     string  `json:"name"`
	Accuracy float64 `json:"accuracy"`
	Rows     int     `json:"rows"`       // of the split, that it was measured on
	Trained  int     `json:"train_rows"` // that it was trained on
}

// Names of the models.
const (
	Bag    = "bag of tokens and neighbours, logistic regression"
	Cosine = "cosine of bags of tokens and neighbours"
)

// limits bound time and memory; beyond them rows are sampled.
type limits struct {
	trainTokens, testTokens int64
	updates                 int // of weights, in training
}

// usual are some seconds of a processor, and 200 MiB.
var usual = limits{trainTokens: 8 << 20, testTokens: 4 << 20, updates: 200 << 20}

// Measure trains on the training split and measures on others, in their order. Progress is
// called with the steps that training has made since the last call, and how many there are
// in all; it may be nil.
func Measure(ctx context.Context, set *seq.Dataset, progress func(steps, all int64), splits ...string) ([]Result, error) {
	if progress == nil {
		progress = func(int64, int64) {}
	}
	return measure(ctx, set, splits, usual, progress)
}

func measure(ctx context.Context, set *seq.Dataset, splits []string, most limits, progress func(steps, all int64)) ([]Result, error) {
	m := set.Manifest
	if m.Splits["train"].Rows == 0 {
		return nil, errors.New("a baseline needs a training split with rows")
	}
	if len(m.LabelNames) == 0 {
		return nil, errors.New("a baseline needs labels")
	}
	out := make([]Result, len(splits))
	for i, split := range splits {
		info, ok := m.Splits[split]
		if !ok || info.Rows == 0 {
			return nil, fmt.Errorf("a baseline needs rows in the split %s", split)
		}
		class := largest(m.LabelNames, m.Splits["train"].Labels)
		out[i] = Result{Split: split, Class: class, Majority: float64(info.Labels[class]) / float64(info.Rows)}
	}
	t, err := train(ctx, set, most, progress)
	if t == nil || err != nil {
		return out, err
	}
	for i, split := range splits {
		examples, err := rows(ctx, set, split, most.testTokens)
		if err != nil {
			return nil, err
		}
		right := t.right(examples)
		out[i].Model = &Model{Name: t.name, Accuracy: float64(right) / float64(len(examples)), Rows: len(examples), Trained: t.rows}
	}
	return out, nil
}

// trained is a simple model: right is how many of some rows it answers right.
type trained struct {
	name  string
	rows  int // that it was trained on
	right func([]seq.Example) int
}

// train trains what suits the data set's task, or nothing.
func train(ctx context.Context, set *seq.Dataset, most limits, progress func(steps, all int64)) (*trained, error) {
	classes, pairs := len(set.Manifest.LabelNames), set.Manifest.Task == seq.Retrieval
	if pairs && classes != 2 || classes < 2 || classes > mostClasses {
		return nil, nil
	}
	examples, err := rows(ctx, set, "train", most.trainTokens)
	if err != nil {
		return nil, err
	}
	if pairs {
		return cosine(examples), nil
	}
	return bag(ctx, examples, classes, most.updates, progress)
}

// largest is the class of the most rows, the first of equal ones.
func largest(names []string, rows map[string]int64) string {
	best := names[0]
	for _, name := range names {
		if rows[name] > rows[best] {
			best = name
		}
	}
	return best
}

// A Line is a simple model and its accuracy.
type Line struct {
	Name     string
	Accuracy float64
}

// Lines are all simple models of a result.
func (r *Result) Lines() []Line {
	out := []Line{{fmt.Sprintf("largest class (%.40s)", r.Class), r.Majority}}
	if m := r.Model; m != nil {
		out = append(out, Line{m.Name, m.Accuracy})
	}
	return out
}

// String is all of them, with commas between.
func (r *Result) String() string {
	var out []string
	for _, l := range r.Lines() {
		out = append(out, fmt.Sprintf("%s %.2f%%", l.Name, 100*l.Accuracy))
	}
	return strings.Join(out, ", ")
}

// rows reads labelled rows of a split: all, or a sample of as many tokens as are allowed,
// the same whenever it is asked.
func rows(ctx context.Context, set *seq.Dataset, split string, tokens int64) ([]seq.Example, error) {
	f, err := set.Open(split)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lengths := f.Lengths()
	picked := rand.New(rand.NewPCG(1, 1)).Perm(len(lengths))
	for n, i := range picked {
		if tokens -= int64(lengths[i]); tokens < 0 {
			picked = picked[:max(1, n)]
			break
		}
	}
	slices.SortFunc(picked, cmp.Compare[int]) // a file is read from its beginning to its end
	out := make([]seq.Example, 0, len(picked))
	for _, i := range picked {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := f.Example(i)
		if err != nil {
			return nil, err
		}
		if e.Label >= 0 {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: split %s: none of %d rows has a label", set.Dir, split, len(picked))
	}
	// In another order than the file's, which may be sorted by label.
	rand.New(rand.NewPCG(2, 2)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}
