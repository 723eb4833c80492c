package task

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/table"
)

// Columns of a part, the file with the results of a shard of eval, besides the row's id and error.
const (
	PartRow     = "row"
	PartLength  = "length"
	partLabel   = "label"
	partLabels  = "labels"
	partNumbers = "numbers"
	partTags    = "tags"
	partAmong   = "tags_of_category"
	partLoss    = "loss"
	partCut     = "cut_labels"
	partLogits  = "logits"
)

// AddPart counts the rows of a record of a part, except rows with an error.
func AddPart(kind Evaluator, record arrow.Record) error {
	p, err := newPartColumns(record, kind.Columns())
	if err != nil {
		return err
	}
	first := p.columns[kind.Columns()[0].Name]
	for i := range int(record.NumRows()) {
		if first.IsNull(i) {
			continue
		}
		if err := kind.Add(p, i); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// PartColumns are the columns of a record of a part, with checked types.
type PartColumns struct{ columns map[string]arrow.Array }

func newPartColumns(record arrow.Record, columns []table.OutputColumn) (*PartColumns, error) {
	p := &PartColumns{map[string]arrow.Array{}}
	for _, c := range append([]table.OutputColumn{{Name: PartLength, Kind: table.IntColumn}}, columns...) {
		want, err := c.ArrowType()
		if err != nil {
			return nil, err
		}
		at := record.Schema().FieldIndices(c.Name)
		if len(at) != 1 || !arrow.TypeEqual(record.Column(at[0]).DataType(), want) {
			return nil, fmt.Errorf("expected a part of eval, with the column %s of %s, found %v", c.Name, want,
				record.Schema().Fields())
		}
		p.columns[c.Name] = record.Column(at[0])
	}
	return p, nil
}

func (p *PartColumns) integer(name string, i int) int64 {
	return p.columns[name].(*array.Int64).Value(i)
}

func (p *PartColumns) float(name string, i int) float32 {
	return p.columns[name].(*array.Float32).Value(i)
}

func (p *PartColumns) vector(name string, i int) []float32 {
	v := p.columns[name].(*array.FixedSizeList)
	from, to := v.ValueOffsets(i)
	return v.ListValues().(*array.Float32).Float32Values()[from:to]
}

func (p *PartColumns) list(name string, i int) []int32 {
	v := p.columns[name].(*array.List)
	from, to := v.ValueOffsets(i)
	return append([]int32{}, v.ListValues().(*array.Int32).Int32Values()[from:to]...) // a copy outlives the record
}
