// Package lra knows the tasks of the Long Range Arena, the paper's tasks of point clouds
// and graphs, and generated tasks that stand in for these: what their sequences are, how to
// generate them or to import their files, and what their labels mean. Each task is a
// [Task] value in a file of its own.
package lra

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// A Task is one task with data of its own.
type Task struct {
	Name        string          // "listops"
	Description string          // one sentence
	Kind        string          // of seq.Tasks
	Tokenizer   json.RawMessage // what tokenizers.New takes; nil of tokens with features
	Labels      []string        // the name of each class, label or tag

	Features     []string // the numbers of each token, in place of a tokenizer
	EdgeFeatures []string // the numbers of each edge; nil: there are no edges
	Numbers      []string // that are predicted, in place of labels

	// Rows are those of the splits; nil where they are not compared.
	Rows []PublishedRows

	// Presets are the ways to train on it, the usual one first.
	Presets []*Preset

	Import    *Importer  // nil where there are no files to import
	Generator *Generator // nil where the data cannot be generated
}

// Importer reads a task's official files.
type Importer struct {
	Usage       string // what it reads, in a few words
	Description string
	Example     string // a command
	Verifies    bool   // it can tell a wrong label
	Documents   bool   // it reads texts beside ids
	Points      int    // of a cloud, unless another number is asked for; 0 where there are no clouds
	Walks       bool   // return probabilities of a random walk may be features, too
	Seeded      bool   // a seed decides the splits, and the points that are taken
	Unit        string // what Begin and Progress count; "" is bytes

	convert func(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error)
}

// Convert writes a data set into the directory dir from the task's official
// files: a directory of them, or a single one for one split.
func (t *Task) Convert(ctx context.Context, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	if t.Import == nil {
		return nil, fmt.Errorf("task %s: it has no files to import", t.Name)
	}
	spec, err := t.Spec()
	if err != nil {
		return nil, err
	}
	if options.Points == 0 {
		options.Points = t.Import.Points
	}
	return t.Import.convert(ctx, spec, from, dir, options)
}

// ConvertOptions say how Convert reads the official files.
type ConvertOptions struct {
	Split     string            // of a single file; "" is test
	NoVerify  bool              // take labels as they are instead of checking them
	Documents string            // where the texts are that ids stand for; "" is beside the source
	Points    int               // of a cloud; 0 is the task's number
	Walk      int               // so many return probabilities of a random walk are features of a node
	Seed      uint64            // of what chance decides
	Replace   bool              // a complete data set that is there already
	Begin     func(bytes int64) // called with what there is to read; may be nil
	Progress  func(bytes int64) // called with the bytes of the source read, or the files; may be nil
	LeftOut   func(text string) // called with a report of the files that cannot be used; may be nil
}

func (o *ConvertOptions) begin(bytes int64) {
	if o.Begin != nil {
		o.Begin(bytes)
	}
}

// Spec returns what the task's files contain; the split is left to the caller.
func (t *Task) Spec() (seq.Spec, error) {
	if t.Features != nil {
		return seq.Spec{Task: t.Kind, Name: t.Name, LabelNames: t.Labels, NumberNames: t.Numbers,
			FeatureNames: t.Features, EdgeFeatureNames: t.EdgeFeatures}, nil
	}
	tokenizer, err := tokenizers.New(t.Tokenizer)
	if err != nil {
		return seq.Spec{}, fmt.Errorf("task %s: %w", t.Name, err)
	}
	return seq.Spec{
		Task: t.Kind, Name: t.Name, Tokenizer: t.Tokenizer, VocabSize: tokenizer.VocabSize(),
		PadID: tokenizer.PadID(), LabelNames: t.Labels,
	}, nil
}

// tasks is the list of them all.
var tasks = []*Task{Image, ListOps, ModelNet40, PascalVOC, Pathfinder, PeptidesFunc,
	PeptidesStruct, Retrieval, ShapeNetPart, ShapeParts, Shapes, Text}

// Tasks returns the known tasks in the alphabetical order of their names.
func Tasks() []*Task {
	return slices.SortedFunc(slices.Values(tasks), func(a, b *Task) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup returns a task by its name.
func Lookup(name string) (*Task, error) {
	for _, task := range tasks {
		if task.Name == name {
			return task, nil
		}
	}
	return nil, fmt.Errorf("task %q is not known; known tasks: %s", name, strings.Join(Names(), ", "))
}

// Names returns the names of the known tasks in alphabetical order.
func Names() []string {
	var names []string
	for _, task := range Tasks() {
		names = append(names, task.Name)
	}
	return names
}
