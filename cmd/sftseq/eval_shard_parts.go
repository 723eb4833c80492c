package main

import (
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Columns of a part of eval, after its id.
const (
	partRow     = "row"
	partLength  = "length"
	partLabel   = "label"
	partLabels  = "labels"
	partNumbers = "numbers"
	partTags    = "tags"
	partAmong   = "tags_of_category"
	partLoss    = "loss"
	partCut     = "cut_labels"
	partLogits  = "logits"
)

// evalPart is what a part has of a kind of answers, beside row and length, and how it is counted.
type evalPart struct {
	columns []table.OutputColumn
	measure evaluation.Measure
	values  func(x *seq.Example, logits []float32, cutTags int64) []any
	// add counts row i of a part.
	add func(p *partColumns, i int) error
	// report says what all parts come to.
	report func(of evaluated) (evalReport, error)
}

// evalReport is what eval prints.
type evalReport interface{ write(w io.Writer) error }

// partOf is what parts have of a model's answers.
func partOf(c *sft.Config) *evalPart {
	logits := table.OutputColumn{Name: partLogits, Kind: table.VectorColumn, Width: c.NumLabels}
	switch {
	case c.Tags():
		return tagPart(c)
	case c.Predicts():
		return numberPart(c, logits)
	case c.LabelsHold():
		return labelPart(c, logits)
	}
	return classPart(c, logits)
}

func classPart(c *sft.Config, logits table.OutputColumn) *evalPart {
	tally := metrics.NewTally(c.NumLabels)
	return &evalPart{
		columns: []table.OutputColumn{{Name: partLabel, Kind: table.IntColumn}, logits},
		measure: evaluation.Classes{Tally: tally},
		values:  func(x *seq.Example, logits []float32, _ int64) []any { return []any{int64(x.Label), logits} },
		add: func(p *partColumns, i int) error {
			return tally.Add(int(p.whole(partLabel, i)), p.vector(partLogits, i), int(p.whole(partLength, i)))
		},
		report: func(of evaluated) (evalReport, error) {
			r := tally.Report()
			if r == nil {
				return nil, fmt.Errorf("%s: no rows that were measured, at least 1 was expected", of.Data)
			}
			return newEvalResult(of, r, c.LabelNames), nil
		},
	}
}

func labelPart(c *sft.Config, logits table.OutputColumn) *evalPart {
	tally := metrics.NewMultiLabel(c.NumLabels)
	return &evalPart{
		columns: []table.OutputColumn{{Name: partLabels, Kind: table.ListColumn}, logits},
		measure: evaluation.Labels{MultiLabel: tally},
		values:  func(x *seq.Example, logits []float32, _ int64) []any { return []any{x.Labels, logits} },
		add: func(p *partColumns, i int) error {
			labels := p.list(partLabels, i)
			if err := c.CheckLabels(labels); err != nil {
				return err
			}
			tally.Add(p.vector(partLogits, i), labels)
			return nil
		},
		report: func(of evaluated) (evalReport, error) {
			r := &labelsResult{evaluated: of}
			return r, r.report(c, tally, of.Data)
		},
	}
}

func numberPart(c *sft.Config, logits table.OutputColumn) *evalPart {
	tally, mean := &evaluation.Numbers{Regression: metrics.NewRegression(c.NumLabels)}, metrics.NewRegression(c.NumLabels)
	always := c.Predictions(make([]float32, c.NumLabels))
	return &evalPart{
		columns: []table.OutputColumn{{Name: partNumbers, Kind: table.VectorColumn, Width: c.NumLabels}, logits},
		measure: tally,
		values:  func(x *seq.Example, logits []float32, _ int64) []any { return []any{x.Numbers, logits} },
		add: func(p *partColumns, i int) error {
			numbers := p.vector(partNumbers, i)
			tally.Count(c, numbers, p.vector(partLogits, i))
			mean.Add(always, numbers)
			return nil
		},
		report: func(of evaluated) (evalReport, error) {
			r := &numbersResult{evaluated: of}
			return r, r.report(c, tally, mean, of.Data)
		},
	}
}

func tagPart(c *sft.Config) *evalPart {
	tally := evaluation.NewTags(c)
	columns := []table.OutputColumn{{Name: partLabels, Kind: table.ListColumn}, {Name: partTags, Kind: table.ListColumn}, {Name: partLoss, Kind: table.FloatColumn}, {Name: partCut, Kind: table.IntColumn}}
	if tally.Parts != nil {
		columns = append(columns, table.OutputColumn{Name: partAmong, Kind: table.ListColumn})
	}
	var cut int64
	return &evalPart{
		columns: columns,
		measure: tally,
		values: func(x *seq.Example, logits []float32, cutTags int64) []any {
			row := []any{x.Labels, c.TagsOf(logits), float32(c.TaggingLossOf(logits, *x)), cutTags}
			if tally.Parts != nil {
				row = append(row, tally.Among(x.Labels, logits))
			}
			return row
		},
		add: func(p *partColumns, i int) error {
			labels, tags := p.list(partLabels, i), p.list(partTags, i)
			among := tags
			if tally.Parts != nil {
				among = p.list(partAmong, i)
			}
			if len(labels) != len(tags) || len(labels) != len(among) {
				return fmt.Errorf("%d labels, %d tags and %d among those of the category, expected as many", len(labels), len(tags), len(among))
			}
			known := func(tag int32) bool { return tag >= 0 && tag < int32(c.NumLabels) }
			for t, label := range labels {
				if label >= int32(c.NumLabels) || !known(tags[t]) || !known(among[t]) {
					return fmt.Errorf("token %d has label %d and the tags %d and %d, the model has %d", t, label, tags[t], among[t], c.NumLabels)
				}
			}
			tally.Count(labels, tags, among, p.real(partLoss, i))
			cut += p.whole(partCut, i)
			return nil
		},
		report: func(of evaluated) (evalReport, error) {
			r := &tagsResult{evaluated: of, CutTags: cut}
			return r, r.report(c, tally, of.Data)
		},
	}
}

// addPart counts the rows of a part but those with an error.
func addPart(kind *evalPart, record arrow.Record) error {
	p, err := newPartColumns(record, kind.columns)
	if err != nil {
		return err
	}
	answered := p.columns[kind.columns[0].Name]
	for i := range int(record.NumRows()) {
		if answered.IsNull(i) {
			continue
		}
		if err := kind.add(p, i); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// partColumns are the columns of a part, whose types are those that it was written with.
type partColumns struct{ columns map[string]arrow.Array }

func newPartColumns(record arrow.Record, columns []table.OutputColumn) (*partColumns, error) {
	p := &partColumns{map[string]arrow.Array{}}
	for _, c := range append([]table.OutputColumn{{Name: partLength, Kind: table.IntColumn}}, columns...) {
		want, err := c.ArrowType()
		if err != nil {
			return nil, err
		}
		at := record.Schema().FieldIndices(c.Name)
		if len(at) != 1 || !arrow.TypeEqual(record.Column(at[0]).DataType(), want) {
			return nil, fmt.Errorf("expected a part of eval, with the column %s of %s, found %v", c.Name, want, record.Schema().Fields())
		}
		p.columns[c.Name] = record.Column(at[0])
	}
	return p, nil
}

func (p *partColumns) whole(name string, i int) int64 {
	return p.columns[name].(*array.Int64).Value(i)
}

func (p *partColumns) real(name string, i int) float32 {
	return p.columns[name].(*array.Float32).Value(i)
}

func (p *partColumns) vector(name string, i int) []float32 {
	v := p.columns[name].(*array.FixedSizeList)
	from, to := v.ValueOffsets(i)
	return v.ListValues().(*array.Float32).Float32Values()[from:to]
}

func (p *partColumns) list(name string, i int) []int32 {
	v := p.columns[name].(*array.List)
	from, to := v.ValueOffsets(i)
	return append([]int32{}, v.ListValues().(*array.Int32).Int32Values()[from:to]...) // which outlives the record
}
