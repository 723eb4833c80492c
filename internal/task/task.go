// Package task holds what the program does with the outputs of a model, for each kind of predictions: it
// reads labels, makes replies and columns of tables, finds mistakes, and measures.
//
// Packages that must not know each other, such as the server and reports, define the small interfaces that they
// need; a [Task] implements all of them.
package task

import (
	"context"
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

// Task is what depends on the kind of a model's predictions.
type Task interface {
	Replies
	Methods
	Evaluation
	Comparison
	Examples
}

// Replies are read from a model's output, and written as JSON or as a row of a table.
type Replies interface {
	requests.Task
	// ReadLabels reads the labels of a request, or its numbers, into its example.
	ReadLabels(r *requests.Request, e *seq.Example) error
	// AnswerNumbers is the memory of an answer to a request of the given length in tokens, counted in numbers with
	// their text, of 16 bytes each.
	AnswerNumbers(tokens int) int
	// Columns are those of an answer in a table of a format.
	Columns(format string) requests.Columns
	// HasPlaces reports whether an answer has places in the text, see [requests.Parser].
	HasPlaces() bool
}

// Methods are what the server offers.
type Methods interface {
	// Method is the JSON-RPC method that answers a request.
	Method() string
	// Shape is an empty answer, from which its JSON schema is made; nil for a task without answers.
	Shape() any
	// HasWindows reports whether the answers to windows of a sequence make an answer to the whole: the mean of their
	// logits.
	HasWindows() bool
	// Notification is the JSON-RPC notification that pushes the answer to a document; "" for none.
	Notification() string
	// Published is what a notification has of an answer.
	Published(answer any) any
	// Labels are the names or the numbers of the labels; nil for a task without labels.
	Labels() []any
}

// Evaluation measures a model on rows with labels.
type Evaluation interface {
	// Evaluator measures a model; nil for a task without labels.
	Evaluator() Evaluator
	// Page measures a model for a report; nil for a task without labels.
	Page(in PageInput) *Page
	// Fits compares the labels of rows with those of the model. Rows without labels fit.
	Fits(s *seq.Spec) error
	// NeedsLabels reports rows of a file that have no labels to compare with.
	NeedsLabels(s *seq.Spec, path string) error
	mistakes(format string, tokenizer tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes)
}

// Comparison compares runs with each other and with baselines.
type Comparison interface {
	// HasAccuracy reports whether each example, or token, has one label to compare the prediction with.
	HasAccuracy() bool
	// ComparedBy is the metric of the validation split by which runs are compared, of models that were selected by a
	// metric; "" for the accuracy.
	ComparedBy(metric string) string
	// Baselines are the scores of baselines on the validation split, in the metric by which a model was selected. Those
	// of classes are stored with the data set.
	Baselines(ctx context.Context, set *seq.Dataset, metric string) ([]Score, error)
	// ShowScore formats a score with the name of its metric.
	ShowScore(v float64, metric string) string
}

// Examples describe the labels of a model.
type Examples interface {
	// Draw adds random labels to an example with the given number of tokens, which has a random label already.
	Draw(e *seq.Example, tokens int, d Draws)
	// Outputs are the name of an output, its plural, and the names of all outputs, if they have names.
	Outputs() (one, many string, names []string)
}

// labelled has the methods that most tasks share.
type labelled struct{ config *sft.Config }

func (labelled) HasPlaces() bool { return false }

func (labelled) HasWindows() bool { return false }

func (labelled) Published(answer any) any { return answer }

func (t labelled) Labels() []any {
	labels := make([]any, t.config.NumLabels)
	for i := range labels {
		labels[i] = t.config.Label(i)
	}
	return labels
}

func (labelled) NeedsLabels(*seq.Spec, string) error { return nil }

func (labelled) HasAccuracy() bool { return true }

func (labelled) ComparedBy(metric string) string { return metric }

func (labelled) ShowScore(v float64, _ string) string { return fmt.Sprintf("%.4f", v) }

func (labelled) Draw(*seq.Example, int, Draws) {}

// Draws are the random numbers of an example.
type Draws interface {
	Label(at, labels int) int32 // from 0 to labels − 1
	Number(at int) float64      // from −1 to 1
}

// Of returns the task of a model.
func Of(c *sft.Config) Task { return tasks[c.Kind()](c) }

var tasks = map[config.Kind]func(*sft.Config) Task{
	config.Classes: func(c *sft.Config) Task { return classes{labelled{c}} },
	config.Labels:  func(c *sft.Config) Task { return labels{labelled{c}} },
	config.Numbers: func(c *sft.Config) Task { return numbers{labelled{c}} },
	config.Tags: func(c *sft.Config) Task {
		if c.Featured() {
			return nodeTags{labelled{c}}
		}
		return spans{labelled{c}}
	},
	config.MaskedTokens: func(c *sft.Config) Task { return masks{labelled{c}} },
}

// NewMistakes returns a writer of one of [table.OutputFormats], of rows with or without ids. The tokenizer decodes the
// text of spans; nil leaves it out.
func NewMistakes(t Evaluation, to io.Writer, format string, tokenizer tokenizers.Tokenizer, ids bool) (Mistakes, error) {
	columns := []table.OutputColumn{{Name: "row", Kind: table.IntColumn}}
	if ids {
		columns = append([]table.OutputColumn{{Name: "id"}}, columns...)
	}
	own, make := t.mistakes(format, tokenizer)
	out, err := table.NewWriter(to, format, append(columns, own...))
	if err != nil {
		return nil, err
	}
	return make(mistakeWriter{out: out, ids: ids}), nil
}

// ComparesAccuracy reports whether models are compared by their accuracy, as those of one class for each row are.
func ComparesAccuracy(c *sft.Config) bool { return Of(c).ComparedBy(c.Task) == "" }

// CountOutputs is the number of a model's outputs, such as "10 classes".
func CountOutputs(c *sft.Config) string {
	one, many, _ := Of(c).Outputs()
	if c.NumLabels == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", c.NumLabels, many)
}

// otherTask is the error of rows whose labels are of another task than the model's.
func otherTask(c *sft.Config, s *seq.Spec) error {
	return fmt.Errorf("its task is %s, the model's is %s", s.Task, c.Task)
}

// fitsLabels compares the names of labels with those of the model. Rows have labels of one of the given tasks.
func fitsLabels(c *sft.Config, s *seq.Spec, tasks ...string) error {
	if s.NumberNames != nil || s.LabelNames != nil && !slices.Contains(tasks, s.Task) {
		return otherTask(c, s)
	}
	if s.LabelNames != nil && len(s.LabelNames) != c.NumLabels {
		return fmt.Errorf("it has %d labels, the model %d%s", len(s.LabelNames), c.NumLabels, inOrder(c))
	}
	for i, name := range s.LabelNames {
		if c.LabelNames != nil && c.LabelNames[i] != name {
			return fmt.Errorf("its label %d is %q, the model's is %q%s", i, name, c.LabelNames[i], inOrder(c))
		}
	}
	return nil
}

// inOrder says how rows get the labels of a model, in its order; "" where the model has no names, or too many to list.
func inOrder(c *sft.Config) string {
	const most = 20
	if c.LabelNames == nil || len(c.LabelNames) > most {
		return ""
	}
	return fmt.Sprintf(" (data convert --labels %q has the model's labels)", strings.Join(c.LabelNames, ","))
}

// isTagged reports rows without a label for each token.
func isTagged(s *seq.Spec, path string) error {
	if s.Task != seq.Tagging {
		return fmt.Errorf("%s: expected a label for each token (task %s), found task %s", path, seq.Tagging, s.Task)
	}
	return nil
}
