// Package task holds what the program does with the outputs of a model, for each task that a model can have: it
// reads labels, makes replies and columns of tables, finds mistakes, and measures.
//
// Packages that must not know each other, such as the server and reports, define the small interfaces that they
// need; a [Task] implements all of them.
package task

import (
	"io"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Task is what depends on the task of a model.
type Task interface {
	// ReadLabels reads the labels of a request, or its numbers, into its example.
	ReadLabels(r *requests.Request, e *seq.Example) error

	// Answer returns the JSON object that stands for an output in a reply. The logits are finite.
	Answer(r *requests.Request, o sft.Output) (any, error)
	// AnswerNumbers is the memory of an answer to a request of the given length in tokens, counted in numbers with
	// their text, of 16 bytes each.
	AnswerNumbers(tokens int) int
	// Columns are those of an answer in a table of a format.
	Columns(format string) requests.Columns
	// HasPlaces reports whether an answer has places in the text, see [requests.Parser].
	HasPlaces() bool

	// Method is the JSON-RPC method that answers a request.
	Method() string
	// HasWindows reports whether the answers to windows of a sequence make an answer to the whole: the mean of their
	// logits.
	HasWindows() bool
	// Notification is the JSON-RPC notification that pushes the answer to a document; "" for none.
	Notification() string
	// Published is what a notification has of an answer.
	Published(answer any) any
	// Labels are the names or the numbers of the labels; nil for a task without labels.
	Labels() []any

	mistakes(format string, tokenizer tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes)
}

// Of returns the task of a model.
func Of(c *sft.Config) Task { return tasks[c.Task](c) }

var tasks = map[string]func(*sft.Config) Task{
	sft.Classification: func(c *sft.Config) Task { return classes{c} },
	sft.Retrieval:      func(c *sft.Config) Task { return classes{c} },
	sft.MultiLabel:     func(c *sft.Config) Task { return labels{c} },
	sft.Regression:     func(c *sft.Config) Task { return numbers{c} },
	sft.Tagging: func(c *sft.Config) Task {
		if c.Featured() {
			return nodeTags{c}
		}
		return spans{c}
	},
	sft.FillMask: func(c *sft.Config) Task { return masks{c} },
}

// NewMistakes returns a writer of one of [table.OutputFormats], of rows with or without ids. The tokenizer decodes the
// text of spans; nil leaves it out.
func NewMistakes(t Task, to io.Writer, format string, tokenizer tokenizers.Tokenizer, ids bool) (Mistakes, error) {
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

// listLabels lists the labels of a model that has some.
func listLabels(c *sft.Config) []any {
	labels := make([]any, c.NumLabels)
	for i := range labels {
		labels[i] = c.Label(i)
	}
	return labels
}
