package seq

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// maxNumbers is the maximum count of numbers per row of a regression, and of features per token or
// edge.
const maxNumbers = 1024

// CheckNumberNames returns an error unless names has 1 to 1,024 distinct names, none of them empty.
func CheckNumberNames(names []string) error {
	if n := len(names); n == 0 || n > maxNumbers {
		return fmt.Errorf("expected 1 to %d names, found %d", maxNumbers, n)
	}
	return CheckNames(names)
}

// CheckNames returns an error if a name is empty or occurs twice.
func CheckNames(names []string) error {
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("expected names that are not empty, found %s", jsonlines.QuoteNames(names))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("expected distinct names, found %q twice", name)
		}
	}
	return nil
}

// checkNumberNames checks that a regression has number names and no label names, and that other
// tasks have no number names.
func (s *Spec) checkNumberNames() error {
	switch {
	case s.Task != Regression && s.NumberNames != nil:
		return fmt.Errorf("%s: expected none for task %s, found %s", KeyNumberNames, s.Task,
			jsonlines.QuoteNames(s.NumberNames))
	case s.Task != Regression:
		return nil
	case s.LabelNames != nil:
		return fmt.Errorf("%s: expected none for task %s, found %s", KeyLabelNames, Regression,
			jsonlines.QuoteNames(s.LabelNames))
	}
	if err := CheckNumberNames(s.NumberNames); err != nil {
		return fmt.Errorf("%s: %w", KeyNumberNames, err)
	}
	return nil
}

// numbersType returns the Arrow type of the column of numbers.
func (s *Spec) numbersType() *arrow.FixedSizeListType {
	return arrow.FixedSizeListOfNonNullable(int32(len(s.NumberNames)), arrow.PrimitiveTypes.Float32)
}

// checkNumbersColumn returns an error unless the schema has at most one column of numbers, with a
// number for each name. Without names, the column belongs to another program and is ignored.
func (s *Spec) checkNumbersColumn(schema *arrow.Schema) error {
	fields, ok := schema.FieldsByName(ColumnNumbers)
	if !ok || s.NumberNames == nil {
		return nil
	}
	if len(fields) > 1 {
		return fmt.Errorf("column %s: expected at most once, found %d times", ColumnNumbers, len(fields))
	}
	list, ok := fields[0].Type.(*arrow.FixedSizeListType)
	if !ok || list.Elem().ID() != arrow.FLOAT32 || int(list.Len()) != len(s.NumberNames) {
		return fmt.Errorf("column %s: expected fixed_size_list<float32>[%d], found %s", ColumnNumbers,
			len(s.NumberNames), fields[0].Type)
	}
	return nil
}

// checkNumbers returns an error if a row may not have these numbers. A nil slice means unknown
// numbers.
func (s *Spec) checkNumbers(numbers []float32) error {
	if numbers == nil {
		return nil
	}
	if len(numbers) != len(s.NumberNames) {
		return fmt.Errorf("expected %d numbers, found %d", len(s.NumberNames), len(numbers))
	}
	for i, v := range numbers {
		if v-v != 0 {
			return fmt.Errorf("number %q: expected a finite number, found %v", s.NumberNames[i], v)
		}
	}
	return nil
}

// numberColumn holds the numbers of rows, n per row.
type numberColumn struct {
	n      int
	values []float32
	isNull func(i int) bool
}

// row returns the numbers of row i, or nil if they are unknown.
func (c *numberColumn) row(i int) []float32 {
	if c == nil || c.isNull(i) {
		return nil
	}
	return c.values[i*c.n : (i+1)*c.n]
}

// loadNumbers reads the column of numbers, if it exists, and checks the numbers of each row.
func (r *Rows) loadNumbers(spec *Spec) error {
	columns := r.record.Schema().FieldIndices(ColumnNumbers)
	if spec.NumberNames == nil || columns == nil {
		return nil
	}
	list := r.record.Column(columns[0]).(*array.FixedSizeList)
	items := list.ListValues().(*array.Float32)
	err := errors.Join(checkBitmap(list, ColumnNumbers), checkBitmap(items, ColumnNumbers))
	if err != nil {
		return err
	}
	n := len(spec.NumberNames)
	from, to := n*list.Data().Offset(), n*(list.Data().Offset()+list.Len())
	if to > items.Len() {
		return fmt.Errorf("column %s: expected %d numbers, found %d", ColumnNumbers, to, items.Len())
	}
	r.numbers = &numberColumn{n, items.Float32Values()[from:to], list.IsNull}
	for i := range r.Len() {
		numbers := r.numbers.row(i)
		err := spec.checkNumbers(numbers)
		for j := range numbers {
			if items.IsNull(from + i*n + j) {
				err = fmt.Errorf("number %q: expected a finite number, found null", spec.NumberNames[j])
				break
			}
		}
		if err != nil {
			return fmt.Errorf("row %d, column %s: %w", r.first+int64(i), ColumnNumbers, err)
		}
	}
	return nil
}

// detach returns a copy of the column outside the record's memory, and the size of the copy in bytes.
func (c *numberColumn) detach(rows int) (*numberColumn, int64) {
	if c == nil {
		return nil, 0
	}
	unknown := make([]bool, rows)
	for i := range unknown {
		unknown[i] = c.isNull(i)
	}
	return &numberColumn{c.n, slices.Clone(c.values), func(i int) bool { return unknown[i] }},
		int64(4*len(c.values) + rows)
}

// numberList collects the numbers of rows for writing.
type numberList struct {
	values []float32
	known  []bool
}

func (l *numberList) append(numbers []float32, n int) {
	l.known = append(l.known, numbers != nil)
	if numbers == nil {
		numbers = make([]float32, n)
	}
	l.values = append(l.values, numbers...)
}

// row returns the n numbers of row i, or nil if they are unknown.
func (l *numberList) row(i, n int) []float32 {
	if n == 0 || !l.known[i] {
		return nil
	}
	return l.values[i*n : (i+1)*n]
}

// array returns the column as an Arrow array. A row with unknown numbers is null.
func (l *numberList) array(t *arrow.FixedSizeListType) arrow.Array {
	valid, missing := validity(len(l.known), func(i int) bool { return l.known[i] })
	items := memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(l.values))
	values := array.NewData(t.Elem(), len(l.values), []*memory.Buffer{nil, items}, nil, 0, 0)
	return array.NewFixedSizeListData(array.NewData(t, len(l.known), []*memory.Buffer{valid},
		[]arrow.ArrayData{values}, missing, 0))
}
