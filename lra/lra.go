// Package lra defines the tasks of the Long Range Arena, the tasks on point clouds and graphs of the
// paper on the model (see package sft), and tasks on generated shapes, which need no published data.
// [Custom] and [Files] are tasks on a user's own data. A [Task] has the specification of its sequences
// and labels, its presets, and a generator or an importer.
package lra

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// Task describes a task: its sequences, its labels, its presets and the source of its data.
type Task struct {
	Name        string          // name for commands, such as listops
	Description string          // description in one sentence
	Kind        string          // one of seq.Tasks
	Tokenizer   json.RawMessage // argument of tokenizers.New; nil for tokens with features
	Labels      []string        // names of the classes, labels or tags

	Features     []string // names of the numbers of each token; nil for tasks with a tokenizer
	EdgeFeatures []string // names of the numbers of each edge; nil without edges
	Numbers      []string // names of the predicted numbers; nil for tasks with labels

	// Rows lists the published sizes of the splits. It is nil if sizes are not compared.
	Rows []PublishedRows

	// Presets are the training configurations. The first is the default.
	Presets []*Preset

	Import    *Importer  // nil if there are no files to import
	Generator *Generator // nil if the data cannot be generated
}

// Importer reads a task's official files.
type Importer struct {
	Usage       string // short description of the files for the help text
	Description string
	Example     string // example command
	Verifies    bool   // true if the importer can detect wrong labels
	Documents   bool   // true if the importer reads the texts of document ids
	Points      int    // default number of points per cloud; 0 if the task has no clouds
	Walks       bool   // true if the importer can add return probabilities of a random walk to the features
	Seeded      bool   // true if a seed determines the drawn points
	Unit        string // unit of Begin and Progress; "" means bytes

	convert func(ctx context.Context, spec seq.Spec, from, dir string, options ConvertOptions) (*seq.Dataset, error)
}

// Convert writes a data set into the directory dir from the task's official files. Depending on the
// task, the path from is a directory, an archive, or a single file for one split.
func (t *Task) Convert(ctx context.Context, from, dir string, options ConvertOptions) (*seq.Dataset, error) {
	if t.Import == nil {
		return nil, fmt.Errorf("task %s: expected a task with official files to convert", t.Name)
	}
	spec, err := t.Spec()
	if err != nil {
		return nil, err
	}
	options.Points = cmp.Or(options.Points, t.Import.Points)
	return t.Import.convert(ctx, spec, from, dir, options)
}

// ConvertOptions configure Convert.
type ConvertOptions struct {
	Split     string            // split of a single file; "" means test
	NoVerify  bool              // true skips the check of labels
	Documents string            // path of the documents' texts; "" means docs.tsv beside the pairs
	Points    int               // points per cloud; 0 means the task's default
	Walk      int               // number of return probabilities of a random walk per node
	Seed      uint64            // seed of random splits and points
	Replace   bool              // true allows replacing a complete data set
	Begin     func(bytes int64) // called with the number of bytes, or files, to read (0 if unknown); may be nil
	Progress  func(bytes int64) // called with the bytes, or files, read since the last call; may be nil
	LeftOut   func(text string) // called with a report of unusable files; may be nil
}

func (o *ConvertOptions) begin(bytes int64) {
	if o.Begin != nil {
		o.Begin(bytes)
	}
}

// Spec returns the specification of the task's files. Its Split is empty.
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

// tasks lists the tasks that [Tasks] returns.
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
	return nil, fmt.Errorf("task %q: expected one of %s", name, strings.Join(Names(), ", "))
}

// Names returns the names of the known tasks in alphabetical order.
func Names() []string {
	var names []string
	for _, task := range Tasks() {
		names = append(names, task.Name)
	}
	return names
}
