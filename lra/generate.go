package lra

import (
	"context"
	"fmt"
	"iter"

	"github.com/sftseq/sftseq/seq"
)

// A Generator draws the data of a task.
type Generator struct {
	Usage       string // what it draws, in a few words
	Description string
	Example     string      // a command
	Rule        func() Rule // a copy of the usual one
}

// A Rule says which rows are drawn.
type Rule interface {
	// Options are the numbers of the rule that data generate has flags for.
	Options() []Option
	// Validate reports a rule by which nothing can be drawn.
	Validate() error

	// draw yields rows for splits of so many for training and validation, without an end, or until
	// an error. The rows for training are nil where they are drawn like the others, of the same
	// sequence; those for validation are the first of the others.
	draw(ctx context.Context, seed uint64, train, val int) (training, others rows)
	// provenance is what the manifest says of the rule.
	provenance() map[string]any
}

// An Option is a number of a rule, or what it does or not, with the name and the usage of its flag.
type Option struct {
	Name, Usage string
	Value       *int  // nil of one that has no number
	On          *bool // nil of a number
}

// GenerateOptions say what Generate makes.
type GenerateOptions struct {
	Train, Val, Test int // rows of each split; a split without rows is left out
	Seed             uint64
	Rule             Rule              // of the task's generator; nil is its usual one
	Replace          bool              // a complete data set that is there already
	Progress         func(rows int64)  // called with the rows added; may be nil
	Provenance       map[string]string // further entries, such as the program's version
}

// trainDraws is the first draw of a training split that is drawn in another way than the
// others: of the same sequence, far ahead.
const trainDraws = 1 << 40

// Generate writes a complete synthetic data set into the directory dir, the splits one
// after the other.
func (t *Task) Generate(ctx context.Context, dir string, options GenerateOptions) (*seq.Dataset, error) {
	if t.Generator == nil {
		return nil, fmt.Errorf("task %s: its data cannot be generated", t.Name)
	}
	rule := options.Rule
	if rule == nil {
		rule = t.Generator.Rule()
	}
	if err := rule.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	training, others := rule.draw(ctx, options.Seed, options.Train, options.Val)
	next, stop := iter.Pull2(others)
	defer stop()
	nextTrain := next
	if training != nil {
		var stopTrain func()
		nextTrain, stopTrain = iter.Pull2(training)
		defer stopTrain()
	}
	splits := []struct {
		name string
		rows int
		next func() (seq.Example, error, bool)
	}{{"train", options.Train, nextTrain}, {"val", options.Val, next}, {"test", options.Test, next}}
	for _, split := range splits {
		if split.rows < 0 {
			return nil, fmt.Errorf("%s: %s: expected 0 rows or more, found %d", t.Name, split.name, split.rows)
		}
	}
	spec, err := t.Spec()
	if err != nil {
		return nil, err
	}
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	for _, split := range splits {
		if split.rows == 0 {
			continue
		}
		if err := writeSplit(b, split.name, counted(limit(split.next, split.rows), options.Progress)); err != nil {
			return nil, err
		}
	}
	provenance := rule.provenance()
	provenance["generator"], provenance["seed"] = t.Name, options.Seed
	for key, value := range options.Provenance {
		provenance[key] = value
	}
	return b.Finish(provenance)
}
