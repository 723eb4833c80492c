package lra

import (
	"context"
	"fmt"
	"iter"

	"github.com/sftseq/sftseq/seq"
)

// Generator draws the data of a task.
type Generator struct {
	Usage       string // short description of the data for the help text
	Description string
	Example     string      // example command
	Rule        func() Rule // returns a copy of the default rule
}

// Rule determines which rows a generator draws.
type Rule interface {
	// Options returns the parameters of the rule that are flags of data generate.
	Options() []Option
	// Validate returns an error if the rule is invalid, for instance because it cannot draw any row.
	Validate() error

	// draw returns sequences of rows that end only with an error. The sequence others yields the
	// validation rows and then the test rows. If training is nil, others yields the training rows
	// first.
	draw(ctx context.Context, seed uint64, train, val int) (training, others rows)
	// provenance returns the entries about the rule for the manifest.
	provenance() map[string]any
}

// Option is an integer or boolean parameter of a rule, with the name and the help text of its flag.
type Option struct {
	Name, Usage string
	Value       *int  // nil for a boolean
	On          *bool // nil for an integer
}

// GenerateOptions configure Generate.
type GenerateOptions struct {
	Train, Val, Test int // rows per split; a split without rows is not written
	Seed             uint64
	Rule             Rule              // rule of the task's generator; nil means the default rule
	Replace          bool              // true allows replacing a complete data set
	Progress         func(rows int64)  // called with the number of rows added since the last call; may be nil
	Provenance       map[string]string // further entries, such as the program's version
}

// firstTrainDraw is the number of the first draw for a training split with a separate rule. It is so
// large that the draws never overlap those of the other splits.
const firstTrainDraw = 1 << 40

// Generate writes a complete synthetic data set into the directory dir, one split after the other.
func (t *Task) Generate(ctx context.Context, dir string, options GenerateOptions) (*seq.Dataset, error) {
	if t.Generator == nil {
		return nil, fmt.Errorf("task %s: expected a task with a generator", t.Name)
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
		if err := writeSplit(b, split.name, withProgress(limit(split.next, split.rows), options.Progress)); err != nil {
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

// GeneratedNames lists the names that [Generated] accepts.
var GeneratedNames = []string{Shapes.Name, GraphsName}

// Generated returns the task of [Custom] for the default data of a generator, and the specification of
// the data files. It does not draw the data. The task is nil for names that are not in [GeneratedNames].
func Generated(name string) (*Task, seq.Spec) {
	var spec seq.Spec
	var rows, shortest, longest int
	switch name {
	case Shapes.Name:
		spec = seq.Spec{Task: Shapes.Kind, Name: Shapes.Name, LabelNames: Shapes.Labels, FeatureNames: Shapes.Features}
		rows, shortest, longest = Shapes.Presets[0].Data.Train, UsualShapes.Points, UsualShapes.Points
	case GraphsName:
		spec, rows, shortest, longest = graphsSpec(), UsualGraphs.Train, UsualGraphs.Nodes/2, UsualGraphs.Nodes
	default:
		return nil, spec
	}
	lengths := seq.Quantiles{Min: int64(shortest), P50: int64(shortest+longest) / 2, P95: int64(longest),
		Max: int64(longest), Mean: float64(shortest+longest) / 2}
	return Custom(manifestFor(spec, int64(rows), lengths)), spec
}
