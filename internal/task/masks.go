package task

import (
	"errors"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// masks is the task of a masked-token model. Such a model embeds sequences and predicts nothing for a
// whole sequence.
type masks struct{ commonTask }

var errNoPrediction = errors.New("the model was trained without labels, and predicts none")

func (masks) ReadLabels(*requests.Request, *seq.Example) error { return nil }

func (masks) Prediction(*requests.Request, sft.Output) (any, error) { return nil, errNoPrediction }

func (masks) ResponseNumbers(int) int { return 0 }

func (masks) Columns(string) requests.Columns { return requests.Columns{} }

func (masks) Method() string { return "sequence/embed" }

func (masks) Shape() any { return nil }

func (masks) Notification() string { return "" }

func (masks) Labels() []any { return nil }

func (masks) mistakes(string, tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes) {
	return nil, func(w mistakeWriter) Mistakes { return &noMistakes{w} }
}

// noMistakes is a [Mistakes] that writes no rows, because the model predicts no labels.
type noMistakes struct{ mistakeWriter }

func (*noMistakes) See(*seq.Example, int, []float32) {}

func (masks) Evaluator() Evaluator { return nil }

func (masks) Page(PageInput) *Page { return nil }

func (masks) HasAccuracy() bool { return false }

func (masks) CheckLabels(*seq.Spec) error { return nil }

func (masks) Outputs() (one, many string, names []string) { return "token", "tokens", nil }

func (masks) ComparisonMetric(string) string { return "loss" }
