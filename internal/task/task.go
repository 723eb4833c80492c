// Package task implements, for each kind of prediction, everything that depends on it: reading
// labels, making replies and table columns, listing mistakes, and evaluation.
//
// Packages requests, inference and serve do not import this package, except in tests. Each of them defines
// an interface Task with the methods that it needs. A [Task] of this package implements all of these.
package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// Task is the part of the program that depends on the kind of a model's predictions.
type Task interface {
	Replies
	Methods
	Evaluation
	Comparison
	Examples
}

// Replies converts a model's output to JSON and to table rows.
type Replies interface {
	requests.Task
	// ReadLabels sets the labels or numbers of an example from a request.
	ReadLabels(r *requests.Request, e *seq.Example) error
	// ResponseNumbers estimates the memory of a response to a request of the given number of tokens,
	// in units of 16 bytes.
	ResponseNumbers(tokens int) int
	// Columns returns the columns of a response in a table of the given format.
	Columns(format string) requests.Columns
	// HasPositions reports whether a response has positions in the text (see [requests.Parser]).
	HasPositions() bool
}

// Methods describes the task in the server's protocol.
type Methods interface {
	// Method returns the JSON-RPC method of the task.
	Method() string
	// Shape returns an empty response, from which the JSON schema is generated; nil for a task
	// without predictions.
	Shape() any
	// HasWindows reports whether the predictions for windows of a sequence can be combined, by the
	// mean of their logits.
	HasWindows() bool
	// Notification returns the JSON-RPC notification that pushes the prediction for a document; ""
	// means none.
	Notification() string
	// Published returns the part of a response that a notification contains.
	Published(prediction any) any
	// Labels returns the names or numbers of the labels; nil for a task without labels.
	Labels() []any
}

// Evaluation measures a model on rows with labels.
type Evaluation interface {
	// Evaluator returns an evaluator for the model; nil for a task without labels.
	Evaluator() Evaluator
	// Page returns a page that measures the model for a report; nil for a task without labels.
	Page(in PageInput) *Page
	// CheckLabels returns an error if the labels of rows differ from the model's labels. Rows
	// without labels fit.
	CheckLabels(s *seq.Spec) error
	// RequireLabels returns an error if the rows of a file have no labels for a task that predicts tags
	// or numbers. Other tasks return nil.
	RequireLabels(s *seq.Spec, path string) error
	mistakes(format string, tokenizer tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes)
}

// Comparison compares runs with each other and with baselines.
type Comparison interface {
	// HasAccuracy reports whether each example or token has a single label to compare the
	// prediction with.
	HasAccuracy() bool
	// ComparisonMetric returns the validation metric by which runs are compared, for models
	// selected by the given metric; "" means accuracy.
	ComparisonMetric(metric string) string
	// Baselines returns the scores of baselines on the validation split, given the metric that
	// selected the model. It returns nil for masked tokens, and for classes, whose baselines are stored
	// with the data set.
	Baselines(ctx context.Context, set *seq.Dataset, metric string) ([]Score, error)
	// FormatScore formats a score of a metric. For regression the text begins with the metric's name,
	// and the score for the metric mae is the negated MAE.
	FormatScore(v float64, metric string) string
}

// Examples draws random labels for a model and names its outputs.
type Examples interface {
	// Draw adds random labels to an example with the given number of tokens. The example already has
	// a random class label.
	Draw(e *seq.Example, tokens int, d Draws)
	// Outputs returns the singular and plural name of an output, and the names of all outputs or
	// nil.
	Outputs() (one, many string, names []string)
}

// commonTask implements the methods that most tasks share.
type commonTask struct{ config *sft.Config }

func (commonTask) HasPositions() bool { return false }

func (commonTask) HasWindows() bool { return false }

func (commonTask) Published(prediction any) any { return prediction }

func (t commonTask) Labels() []any {
	labels := make([]any, t.config.NumLabels)
	for i := range labels {
		labels[i] = t.config.Label(i)
	}
	return labels
}

func (commonTask) RequireLabels(*seq.Spec, string) error { return nil }

func (commonTask) HasAccuracy() bool { return true }

func (commonTask) ComparisonMetric(metric string) string { return metric }

func (commonTask) FormatScore(v float64, _ string) string { return fmt.Sprintf("%.4f", v) }

func (commonTask) Draw(*seq.Example, int, Draws) {}

// Draws returns the random labels and numbers of an example.
type Draws interface {
	Label(at, labels int) int32 // label of the token with index at, from 0 to labels − 1
	Number(at int) float64      // number with index at, from −1 to 1
}

// Of returns the task of a model.
func Of(c *sft.Config) Task { return tasks[c.Kind()](c) }

var tasks = map[config.Kind]func(*sft.Config) Task{
	config.Classes: func(c *sft.Config) Task { return classes{commonTask{c}} },
	config.Labels:  func(c *sft.Config) Task { return labels{commonTask{c}} },
	config.Numbers: func(c *sft.Config) Task { return numbers{commonTask{c}} },
	config.Tags: func(c *sft.Config) Task {
		if c.HasFeatures() {
			return nodeTags{commonTask{c}}
		}
		return spans{commonTask{c}}
	},
	config.MaskedTokens: func(c *sft.Config) Task { return masks{commonTask{c}} },
}

// NewMistakes returns a writer of mistakes in one of [table.OutputFormats]. ids adds a column of row ids.
// The tokenizer decodes the text of spans; with a nil tokenizer the text is null.
func NewMistakes(t Evaluation, to io.Writer, format string, tokenizer tokenizers.Tokenizer,
	ids bool) (Mistakes, error) {
	columns := []table.OutputColumn{{Name: "row", Kind: table.IntColumn}}
	if ids {
		columns = append([]table.OutputColumn{{Name: "id"}}, columns...)
	}
	own, newMistakes := t.mistakes(format, tokenizer)
	out, err := table.NewWriter(to, format, append(columns, own...))
	if err != nil {
		return nil, err
	}
	return newMistakes(mistakeWriter{out: out, ids: ids}), nil
}

// ComparesAccuracy reports whether models are compared by accuracy, as classifiers are.
func ComparesAccuracy(c *sft.Config) bool { return Of(c).ComparisonMetric(c.Task) == "" }

// CountOutputs returns the number of a model's outputs with their name, such as "10 classes".
func CountOutputs(c *sft.Config) string {
	one, many, _ := Of(c).Outputs()
	if c.NumLabels == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", c.NumLabels, many)
}

// taskMismatch returns the error for rows whose task differs from the model's.
func taskMismatch(c *sft.Config, s *seq.Spec) error {
	return fmt.Errorf("its task is %s, the model's is %s", s.Task, c.Task)
}

// checkLabels returns an error if the rows have numbers, or labels of a task that is not among the given
// tasks, or if their label names differ from the model's. Rows without label names fit. A model without
// label names accepts any label names if their number equals the number of its labels.
func checkLabels(c *sft.Config, s *seq.Spec, tasks ...string) error {
	if s.NumberNames != nil || s.LabelNames != nil && !slices.Contains(tasks, s.Task) {
		return taskMismatch(c, s)
	}
	switch {
	case s.LabelNames == nil || slices.Equal(s.LabelNames, c.LabelNames):
		return nil
	case len(s.LabelNames) != c.NumLabels || c.LabelNames != nil:
		return labelMismatch(c, s)
	}
	return nil
}

// maxListed is the maximum number of labels that an error lists.
const maxListed = 20

// labelMismatch returns the error for rows whose labels differ from the model's in name, number or
// order. It names the option that makes the rows use the model's labels in the model's order, if the
// rows have some of these labels.
func labelMismatch(c *sft.Config, s *seq.Spec) error {
	if c.LabelNames == nil {
		return fmt.Errorf("expected %d labels, found %d: %s", c.NumLabels, len(s.LabelNames), listLabels(s.LabelNames))
	}
	differ := fmt.Sprintf("expected the labels %s; found %s", listLabels(c.LabelNames), listLabels(s.LabelNames))
	known := func(name string) bool { return slices.Contains(c.LabelNames, name) }
	switch {
	case !slices.ContainsFunc(s.LabelNames, known):
		return errors.New(differ)
	case len(c.LabelNames) > maxListed:
		return fmt.Errorf("%s (data convert --labels with the model's labels leaves out other rows)", differ)
	}
	return fmt.Errorf("%s (data convert --labels %q leaves out rows with other labels)", differ,
		strings.Join(c.LabelNames, ","))
}

// listLabels joins the first label names by commas.
func listLabels(names []string) string {
	if n := len(names) - maxListed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), n)
	}
	return strings.Join(names, ", ")
}

// checkTagged returns an error if the rows have no label per token.
func checkTagged(s *seq.Spec, path string) error {
	if s.Task != seq.Tagging {
		return fmt.Errorf("%s: expected a label for each token (task %s), found task %s", path, seq.Tagging, s.Task)
	}
	return nil
}
