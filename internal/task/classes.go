package task

import (
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// classes is the task of a model that classifies a sequence or a pair.
type classes struct{ commonTask }

// class is the prediction for a sequence or a pair.
type class struct {
	Label         any       `json:"label"`
	Logits        []float32 `json:"logits"`
	Probabilities []float32 `json:"probabilities"`
}

// publishedClass is a class in a notification.
type publishedClass struct {
	Label  any       `json:"label"`
	Scores []float32 `json:"scores"` // probabilities
	Logits []float32 `json:"logits"`
}

func (t classes) ReadLabels(r *requests.Request, e *seq.Example) (err error) {
	e.Label, err = requests.ParseLabel(t.config, r.Label)
	return err
}

func (t classes) Prediction(_ *requests.Request, o sft.Output) (any, error) {
	return class{t.config.Label(sft.Argmax(o.Logits)), o.Logits, sft.Probabilities(o.Logits)}, nil
}

func (t classes) ResponseNumbers(int) int { return logitNumbers(t.config) }

// Columns returns a column with the predicted class, by name or number, and one probability column per
// class. For jsonl, lists hold the logits and the probabilities of all classes.
func (t classes) Columns(format string) requests.Columns {
	if format == "jsonl" {
		return requests.JSONColumns(func(prediction any) []any {
			a := prediction.(class)
			return []any{a.Label, a.Logits, a.Probabilities}
		}, "label", "logits", "probabilities")
	}
	columns := append([]table.OutputColumn{labelColumn(t.config, "label")}, probabilityColumns(t.config)...)
	return requests.Columns{Columns: columns, Values: func(prediction any) []any {
		a := prediction.(class)
		return append([]any{columnValue(a.Label)}, asColumns(a.Probabilities)...)
	}}
}

func (t classes) Method() string {
	if t.isPair() {
		return "retrieval/score"
	}
	return "sequence/classify"
}

func (classes) Shape() any { return class{} }

func (t classes) HasWindows() bool { return !t.isPair() && !t.config.HasFeatures() }

func (t classes) Notification() string {
	if t.isPair() {
		return ""
	}
	return "sequence/publishClassification"
}

func (classes) Published(prediction any) any {
	a := prediction.(class)
	return publishedClass{a.Label, a.Probabilities, a.Logits}
}

func (t classes) isPair() bool { return t.config.Sequences() == 2 }

// logitNumbers estimates the memory of the prediction for one sequence, in units of 16 bytes: two units
// for each class, label or number.
func logitNumbers(c *sft.Config) int { return 2 * c.NumLabels }

// wrongClasses is a [Mistakes] that writes the misclassified rows.
type wrongClasses struct {
	mistakeWriter
	config *sft.Config
}

func (t classes) mistakes(string, tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes) {
	columns := append([]table.OutputColumn{labelColumn(t.config, "label"), labelColumn(t.config, "predicted")},
		probabilityColumns(t.config)...)
	return columns, func(w mistakeWriter) Mistakes { return &wrongClasses{w, t.config} }
}

func (w *wrongClasses) See(x *seq.Example, _ int, logits []float32) {
	predicted := sft.Argmax(logits)
	if predicted == int(x.Label) {
		return
	}
	values := []any{columnValue(w.config.Label(int(x.Label))), columnValue(w.config.Label(predicted))}
	w.write(x.ID, x.Index, append(values, asColumns(sft.Probabilities(logits))...)...)
}

func (t classes) CheckLabels(s *seq.Spec) error {
	return checkLabels(t.config, s, seq.Classification, seq.Retrieval)
}

func (t classes) Outputs() (one, many string, names []string) {
	return "class", "classes", t.config.LabelNames
}

func (classes) ComparisonMetric(string) string { return "" }
