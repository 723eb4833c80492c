package arrowipc

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// checkReferences checks that the buffers of a record's columns are long enough, and that all offsets
// and dictionary indices are within bounds, because Arrow follows them without checks.
func checkReferences(record arrow.Record) error {
	for i, column := range record.Columns() {
		if err := checkColumn(column); err != nil {
			return fmt.Errorf("column %.40q: %w", record.ColumnName(i), err)
		}
	}
	return nil
}

// checkColumn checks a column and its children.
func checkColumn(a arrow.Array) error {
	data := a.Data()
	buffers, rows := data.Buffers(), data.Offset()+data.Len()
	if len(buffers) > 0 && buffers[0] != nil && 8*buffers[0].Len() < rows {
		return fmt.Errorf("validity bitmap: found %d bytes, too few for %d rows", buffers[0].Len(), rows)
	}
	switch a := a.(type) {
	case *array.Dictionary:
		if err := checkWidth(data, a.Indices().DataType()); err != nil {
			return err
		}
		for i := range a.Len() {
			if n := a.Dictionary().Len(); a.IsValid(i) && (a.GetValueIndex(i) < 0 || a.GetValueIndex(i) >= n) {
				return fmt.Errorf("row %d: expected a dictionary index from 0 to %d, found %d", i, n-1, a.GetValueIndex(i))
			}
		}
		return checkColumn(a.Dictionary())
	case *array.FixedSizeList:
		width := int64(a.DataType().(*arrow.FixedSizeListType).Len())
		if found := a.ListValues().Len(); width < 0 || int64(rows) > 0 && width > int64(found)/int64(rows) {
			return fmt.Errorf("found %d values, too few for %d rows of %d values", found, rows, width)
		}
		return checkColumn(a.ListValues())
	case *array.List:
		return checkList(data, arrow.Int32Traits.CastFromBytes, a.ListValues())
	case *array.Map:
		return checkList(data, arrow.Int32Traits.CastFromBytes, a.ListValues())
	case *array.LargeList:
		return checkList(data, arrow.Int64Traits.CastFromBytes, a.ListValues())
	case *array.String, *array.Binary:
		return checkOffsets(data, arrow.Int32Traits.CastFromBytes, textBytes(data))
	case *array.LargeString, *array.LargeBinary:
		return checkOffsets(data, arrow.Int64Traits.CastFromBytes, textBytes(data))
	case array.ViewLike:
		return checkViewed(a, buffers[2:])
	case *array.Struct:
		for i := range a.NumField() {
			if found := a.Field(i).Len(); found < data.Len() {
				return fmt.Errorf("found %d values, too few for %d rows", found, data.Len())
			}
			if err := checkColumn(a.Field(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return checkWidth(data, a.DataType())
}

// checkList checks the offsets of a list column, and its values.
func checkList[T int32 | int64](data arrow.ArrayData, cast func([]byte) []T, values arrow.Array) error {
	if err := checkOffsets(data, cast, values.Len()); err != nil {
		return err
	}
	return checkColumn(values)
}

// textBytes returns the number of bytes of text to which a column's offsets may refer.
func textBytes(data arrow.ArrayData) int {
	if b := data.Buffers()[2]; b != nil {
		return b.Len()
	}
	return 0
}

// checkOffsets checks that a column with rows has at least one more offset than rows, and that the
// offsets do not decrease and lie between 0 and limit.
func checkOffsets[T int32 | int64](data arrow.ArrayData, cast func([]byte) []T, limit int) error {
	if data.Len() == 0 {
		return nil
	}
	var offsets []T
	if b := data.Buffers()[1]; b != nil {
		offsets = cast(b.Bytes())
	}
	end := data.Offset() + data.Len()
	if len(offsets) <= end {
		return fmt.Errorf("found %d offsets, too few for %d rows", len(offsets), end)
	}
	last := T(0)
	for i, offset := range offsets[data.Offset() : end+1] {
		if offset < last || int64(offset) > int64(limit) {
			return fmt.Errorf("row %d: expected an offset from %d to %d, found %d", i, last, limit, offset)
		}
		last = offset
	}
	return nil
}

// checkViewed checks that there is a view for each row. It also checks that each text that is neither null
// nor inlined lies within one of the buffers.
func checkViewed(a array.ViewLike, buffers []*memory.Buffer) error {
	if b := a.Data().Buffers()[1]; a.Len() > 0 &&
		(b == nil || b.Len()/arrow.ViewHeaderSizeBytes < a.Data().Offset()+a.Len()) {
		return errors.New("the buffer of views is too short for the rows")
	}
	for i := range a.Len() {
		h := a.ValueHeader(i)
		if a.IsNull(i) || h.Len() >= 0 && h.IsInline() { // a negative length also counts as inlined
			continue
		}
		if n := h.BufferIndex(); h.Len() < 0 || n < 0 || int(n) >= len(buffers) || buffers[n] == nil ||
			h.BufferOffset() < 0 || int(h.BufferOffset()) > buffers[n].Len()-h.Len() {
			return fmt.Errorf("row %d: the text lies outside of the buffers", i)
		}
	}
	return nil
}

// checkWidth checks that a column of fixed width has at least as many values as rows.
func checkWidth(data arrow.ArrayData, t arrow.DataType) error {
	fixed, ok := t.(arrow.FixedWidthDataType)
	if !ok || len(data.Buffers()) < 2 || data.Len() == 0 {
		return nil
	}
	found, rows := 0, data.Offset()+data.Len()
	if b := data.Buffers()[1]; b != nil {
		found = b.Len()
	}
	if fixed.BitWidth() > 0 && 8*int64(found)/int64(fixed.BitWidth()) < int64(rows) {
		return fmt.Errorf("found %d bytes, too few for %d rows of %d bits", found, rows, fixed.BitWidth())
	}
	return nil
}
