package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// numbers is the task of a regression model.
type numbers struct{ commonTask }

// predictedNumbers is the prediction for a sequence.
type predictedNumbers struct {
	Numbers requests.NamedNumbers `json:"numbers"`
}

// ReadLabels sets the numbers of an example from a list in the model's order, or from an object with a
// field for each number, such as data head prints.
func (t numbers) ReadLabels(r *requests.Request, e *seq.Example) (err error) {
	e.Numbers, err = t.parse(r.Numbers)
	return err
}

func (t numbers) parse(value json.RawMessage) ([]float32, error) {
	names := t.config.NumberNames()
	if value == nil {
		return nil, fmt.Errorf("numbers are missing, expected a list or an object of %s", jsonlines.QuoteNames(names))
	}
	list, err := value, error(nil)
	if value[0] == '{' {
		list, err = listOf(names, value)
	}
	var numbers []float32
	if err == nil {
		numbers, err = jsonlines.Numbers(list)
	}
	if n := t.config.NumLabels; err == nil && len(numbers) != n {
		return nil, fmt.Errorf("numbers: expected %d in a list or an object (%s), found %d", n,
			strings.Join(names, ", "), len(numbers))
	}
	if err != nil {
		return nil, fmt.Errorf("numbers: expected a list or an object of %s: %w", jsonlines.QuoteNames(names), err)
	}
	return numbers, nil
}

// listOf returns the values of a JSON object as a JSON list in the order of names.
func listOf(names []string, object json.RawMessage) (json.RawMessage, error) {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	fields, err := jsonlines.Object(object, known)
	if err != nil {
		return nil, err
	}
	var values [][]byte
	for _, name := range names {
		if fields[name] == nil {
			return nil, fmt.Errorf("%q is missing", name)
		}
		values = append(values, fields[name])
	}
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]")), nil
}

func (t numbers) Prediction(_ *requests.Request, o sft.Output) (any, error) {
	return predictedNumbers{requests.NamedNumbers{Names: t.config.NumberNames(),
		Values: t.config.Predictions(o.Logits)}}, nil
}

func (t numbers) ResponseNumbers(int) int { return logitNumbers(t.config) }

// Columns returns a column per number; for jsonl, a single column has all numbers.
func (t numbers) Columns(format string) requests.Columns {
	if format == "jsonl" {
		return requests.JSONColumns(func(prediction any) []any { return []any{prediction.(predictedNumbers).Numbers} },
			"numbers")
	}
	out := requests.Columns{Values: func(prediction any) []any {
		return asColumns(prediction.(predictedNumbers).Numbers.Values)
	}}
	for _, name := range t.config.NumberNames() {
		out.Columns = append(out.Columns, table.OutputColumn{Name: name, Kind: table.FloatColumn})
	}
	return out
}

func (numbers) Method() string { return "sequence/predict" }

func (numbers) Shape() any { return predictedNumbers{} }

func (t numbers) HasWindows() bool { return !t.config.HasFeatures() }

func (numbers) Notification() string { return "sequence/publishNumbers" }

func (numbers) Labels() []any { return nil }

// mistakes ranks rows by their largest error in standard deviations of the training split.
func (t numbers) mistakes(string, tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes) {
	c := t.config
	columns := []table.OutputColumn{{Name: "deviations", Kind: table.FloatColumn}, {Name: "number"}}
	for _, name := range c.NumberNames() {
		columns = append(columns, table.OutputColumn{Name: "actual_" + name, Kind: table.FloatColumn},
			table.OutputColumn{Name: "predicted_" + name, Kind: table.FloatColumn})
	}
	largestDeviation := func(numbers, logits []float32) (index int, distance float64) {
		for i, d := range c.Deviations(logits, numbers) {
			if d := math.Abs(d); d > distance {
				index, distance = i, d
			}
		}
		return index, distance
	}
	rank := func(x *seq.Example, logits []float32) [2]float64 {
		_, distance := largestDeviation(x.Numbers, logits)
		return [2]float64{distance}
	}
	values := func(r *worstRow) []any {
		index, distance := largestDeviation(r.number, r.logits)
		out := []any{float32(distance), c.Numbers[index].Name}
		for i, predicted := range c.Predictions(r.logits) {
			out = append(out, r.number[i], predicted)
		}
		return out
	}
	return columns, func(w mistakeWriter) Mistakes { return &worstRows{mistakeWriter: w, rank: rank, values: values} }
}

func (numbers) HasAccuracy() bool { return false }

func (numbers) FormatScore(v float64, metric string) string {
	if metric == "mae" {
		return fmt.Sprintf("MAE %.4f", -v)
	}
	return fmt.Sprintf("R² %.4f", v)
}

func (t numbers) CheckLabels(s *seq.Spec) error {
	switch {
	case s.LabelNames != nil:
		return taskMismatch(t.config, s)
	case s.NumberNames != nil && !slices.Equal(s.NumberNames, t.config.NumberNames()):
		return fmt.Errorf("expected the model's numbers %s, found %s",
			jsonlines.QuoteNames(t.config.NumberNames()), jsonlines.QuoteNames(s.NumberNames))
	}
	return nil
}

func (t numbers) RequireLabels(s *seq.Spec, path string) error {
	if s.NumberNames == nil {
		return fmt.Errorf("%s: expected the numbers %s to compare with, found none", path,
			jsonlines.QuoteNames(t.config.NumberNames()))
	}
	return nil
}

func (t numbers) Outputs() (one, many string, names []string) {
	return "number", "numbers", t.config.NumberNames()
}

func (t numbers) Draw(e *seq.Example, _ int, d Draws) {
	for at, n := range t.config.Numbers {
		e.Numbers = append(e.Numbers, float32(n.Mean+n.Deviation*d.Number(at)))
	}
}
