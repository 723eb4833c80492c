package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// labels is the multi-label task: a sequence has any number of labels.
type labels struct{ commonTask }

// predictedLabels is the prediction for a sequence: the labels with a probability of at least their
// threshold, and the probabilities of all labels.
type predictedLabels struct {
	Labels        []any                 `json:"labels"`
	Probabilities requests.NamedNumbers `json:"probabilities"`
}

// ReadLabels sets the labels of an example from their names or numbers.
func (t labels) ReadLabels(r *requests.Request, e *seq.Example) (err error) {
	e.Labels, err = t.parse(r.Labels)
	return err
}

func (t labels) parse(value json.RawMessage) ([]int32, error) {
	var list []json.RawMessage
	if value == nil || json.Unmarshal(value, &list) != nil || list == nil {
		return nil, fmt.Errorf("labels: expected a list of labels, found %s", jsonlines.Kind(value))
	}
	labels := []int32{}
	for i, item := range list {
		label, err := requests.ParseLabel(t.config, item)
		if err != nil {
			return nil, fmt.Errorf("labels[%d]: %w", i, err)
		}
		labels = append(labels, label)
	}
	slices.Sort(labels)
	return slices.Compact(labels), nil
}

func (t labels) Prediction(_ *requests.Request, o sft.Output) (any, error) {
	predicted, probabilities := t.config.PredictedLabels(o.Logits)
	out := predictedLabels{Labels: []any{}, Probabilities: requests.NamedNumbers{Values: probabilities}}
	for _, label := range predicted {
		out.Labels = append(out.Labels, t.config.Label(int(label)))
	}
	for label := range probabilities {
		out.Probabilities.Names = append(out.Probabilities.Names, fmt.Sprint(t.config.Label(label)))
	}
	return out, nil
}

func (t labels) ResponseNumbers(int) int { return logitNumbers(t.config) }

// Columns returns a column with the predicted labels and a column for the probability of each label;
// for jsonl, a single column has all probabilities.
func (t labels) Columns(format string) requests.Columns {
	if format == "jsonl" {
		return requests.JSONColumns(func(prediction any) []any {
			a := prediction.(predictedLabels)
			return []any{a.Labels, a.Probabilities}
		}, "labels", "probabilities")
	}
	labelsFormat := labelsFormatIn(t.config, format)
	columns := append([]table.OutputColumn{labelsFormat.column("labels")}, probabilityColumns(t.config)...)
	return requests.Columns{Columns: columns, Values: func(prediction any) []any {
		a := prediction.(predictedLabels)
		return append([]any{labelsFormat.join(a.Labels)}, asColumns(a.Probabilities.Values)...)
	}}
}

func (labels) Method() string { return "sequence/labels" }

func (labels) Shape() any { return predictedLabels{} }

func (t labels) HasWindows() bool { return !t.config.HasFeatures() }

func (labels) Notification() string { return "sequence/publishLabels" }

// labelSeparator separates the labels of a row in a text column. If a label's name contains it, the
// text is a JSON list instead.
const labelSeparator = ";"

// labelsFormat is the representation of a row's labels in a table.
type labelsFormat int

const (
	labelsObject labelsFormat = iota // a JSON list
	labelsText                       // names joined by labelSeparator, as text
	labelsList                       // names in a JSON list, as text
)

// labelsFormatIn returns the representation for an output format.
func labelsFormatIn(c *sft.Config, format string) labelsFormat {
	switch {
	case format == "jsonl":
		return labelsObject
	case slices.ContainsFunc(c.LabelNames, func(name string) bool { return strings.Contains(name, labelSeparator) }):
		return labelsList
	}
	return labelsText
}

func (f labelsFormat) column(name string) table.OutputColumn {
	if f == labelsObject {
		return table.OutputColumn{Name: name, Kind: table.ObjectColumn}
	}
	return table.OutputColumn{Name: name}
}

// value returns the column value for labels.
func (f labelsFormat) value(c *sft.Config, labels []int32) any {
	names := make([]any, len(labels))
	for i, label := range labels {
		names[i] = c.Label(int(label))
	}
	return f.join(names)
}

// join returns the column value for names of labels, or their numbers if they have no names.
func (f labelsFormat) join(names []any) any {
	switch f {
	case labelsObject:
		return names
	case labelsList:
		return asJSON(names)
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprint(name)
	}
	return strings.Join(texts, labelSeparator)
}

// mistakes ranks rows by the number of wrong labels, then by the mean loss over all labels.
func (t labels) mistakes(format string, _ tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes) {
	c, form := t.config, labelsFormatIn(t.config, format)
	columns := []table.OutputColumn{form.column("labels"), form.column("predicted"),
		{Name: "wrong", Kind: table.IntColumn}, {Name: "loss", Kind: table.FloatColumn}}
	rank := func(x *seq.Example, logits []float32) [2]float64 {
		predicted, _ := c.PredictedLabels(logits)
		wrong := 0
		for label := range int32(c.NumLabels) {
			if slices.Contains(predicted, label) != slices.Contains(x.Labels, label) {
				wrong++
			}
		}
		return [2]float64{float64(wrong), metrics.BinaryCrossEntropy(logits, x.Labels) / float64(c.NumLabels)}
	}
	values := func(r *worstRow) []any {
		predicted, probabilities := c.PredictedLabels(r.logits)
		return append([]any{form.value(c, r.labels), form.value(c, predicted), int64(r.rank[0]), float32(r.rank[1])},
			asColumns(probabilities)...)
	}
	return append(columns, probabilityColumns(c)...), func(w mistakeWriter) Mistakes {
		return &worstRows{mistakeWriter: w, rank: rank, values: values}
	}
}

func (labels) HasAccuracy() bool { return false }

func (t labels) CheckLabels(s *seq.Spec) error { return checkLabels(t.config, s, seq.MultiLabel) }

func (t labels) Outputs() (one, many string, names []string) {
	return "label", "labels", t.config.LabelNames
}

func (labels) Draw(e *seq.Example, _ int, _ Draws) { e.Labels = []int32{e.Label} }
