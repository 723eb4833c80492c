package seq

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// The columns of features, edges and edge features hold a list of items per row. An item is a token
// or an edge, and consists of the same count of numbers as every other item of the column.

// itemsType returns the Arrow type of a column of items in written files.
func itemsType(number arrow.DataType, width int) *arrow.ListType {
	return arrow.ListOf(arrow.FixedSizeListOf(int32(width), number))
}

// checkItems returns an error unless the field is a column of lists of items. width is the count of
// numbers per item. If items are lists of variable length, checkItem checks this count.
func checkItems(field arrow.Field, number arrow.DataType, width int) error {
	if list, ok := field.Type.(*arrow.ListType); ok {
		switch item := list.Elem().(type) {
		case *arrow.FixedSizeListType:
			if item.Elem().ID() == number.ID() && int(item.Len()) == width {
				return nil
			}
		case *arrow.ListType:
			if item.Elem().ID() == number.ID() {
				return nil
			}
		}
	}
	return fmt.Errorf("column %s: expected list<fixed_size_list<%s>[%d]> or list<list<%s>>, found %s", field.Name,
		number, width, number, field.Type)
}

// itemKind holds the words for an item in errors, such as "token", "a token", "a sequence".
type itemKind struct{ name, withArticle, list string }

// itemColumn is a column of items.
type itemColumn[T int32 | float32] struct {
	name    string // name of the column
	kind    itemKind
	parts   []string // names of an item's numbers, for errors
	width   int      // count of numbers per item
	offsets []int32  // offsets into the items, one more than the number of rows
	values  []T
}

// row returns a copy of the items of row i that the window selects.
func (c *itemColumn[T]) row(i int, w Window) [][]T {
	all := c.numbersOf(i)
	head, tail := w.parts(c.count(i))
	return split(slices.Concat(all[:head*c.width], all[tail*c.width:]), c.width)
}

// numbersOf returns the numbers of all items of row i. The slice belongs to the column.
func (c *itemColumn[T]) numbersOf(i int) []T {
	return c.values[int(c.offsets[i])*c.width : int(c.offsets[i+1])*c.width]
}

// count returns the number of items of row i.
func (c *itemColumn[T]) count(i int) int { return int(c.offsets[i+1] - c.offsets[i]) }

// quoteAll returns names in quotes, for errors.
func quoteAll(names []string) (out []string) {
	for _, name := range names {
		out = append(out, strconv.Quote(name))
	}
	return out
}

// split returns values cut into slices of the given width.
func split[T any](values []T, width int) [][]T {
	out := make([][]T, len(values)/width)
	for i := range out {
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
	}
	return out
}

// loadItems reads a column of items from the record. It checks that each row has at least minItems
// items and no null.
func loadItems[T int32 | float32](r *Rows, c itemColumn[T], minItems int32) (*itemColumn[T], error) {
	list := r.record.Column(r.record.Schema().FieldIndices(c.name)[0]).(*array.List)
	if list.Len() == 0 {
		return &c, nil
	}
	if err := checkBitmap(list, c.name); err != nil {
		return nil, err
	}
	var err error
	if c.offsets, err = offsetsOf(list, c.name); err != nil {
		return nil, err
	}
	items := list.ListValues()
	if err := checkBitmap(items, c.name); err != nil {
		return nil, err
	}
	for i := range list.Len() {
		from, to := c.offsets[i], c.offsets[i+1]
		switch {
		case list.IsNull(i):
			return nil, fmt.Errorf("%s: expected %s, found null", c.location(r, i), c.kind.list)
		case from < 0 || to < from || int(to) > items.Len():
			return nil, fmt.Errorf("%s: offsets %d to %d are not a range of the %d %ss", c.location(r, i), from, to,
				items.Len(), c.kind.name)
		case to-from < minItems:
			return nil, fmt.Errorf("%s: expected at least one %s, found an empty sequence", c.location(r, i),
				c.kind.name)
		}
	}
	numbers, span, err := c.load(items)
	if err != nil {
		return nil, err
	}
	if err := checkBitmap(numbers, c.name); err != nil {
		return nil, err
	}
	for i := range list.Len() {
		for t := c.offsets[i]; t < c.offsets[i+1]; t++ {
			if err := c.checkItem(items, numbers, span, int(t)); err != nil {
				return nil, fmt.Errorf("%s, index %d%w", c.location(r, i), t-c.offsets[i], err)
			}
		}
	}
	return &c, nil
}

// load sets c.values and returns an array of the numbers of all items. The function span returns
// the index of item t's first number and the item's count of numbers.
func (c *itemColumn[T]) load(items arrow.Array) (numbers arrow.Array, span func(t int) (from, n int), err error) {
	switch items := items.(type) {
	case *array.FixedSizeList:
		numbers, values := c.numbers(items.ListValues())
		first := items.Data().Offset()
		if need := c.width * (first + items.Len()); need > len(values) {
			return nil, nil, fmt.Errorf("column %s: expected %d numbers, found %d", c.name, need, len(values))
		}
		c.values = values[c.width*first:]
		return numbers, func(t int) (int, int) { return c.width * (first + t), c.width }, nil
	case *array.List:
		numbers, values := c.numbers(items.ListValues())
		if items.Len() == 0 {
			return numbers, nil, nil
		}
		offsets, err := offsetsOf(items, c.name)
		if err != nil {
			return nil, nil, err
		}
		for t := range items.Len() {
			if from, to := offsets[t], offsets[t+1]; from < 0 || to < from || int(to) > len(values) {
				return nil, nil, fmt.Errorf("column %s: offsets %d to %d are not a range of the %d numbers",
					c.name, from, to, len(values))
			}
		}
		c.values = values[offsets[0]:]
		return numbers, func(t int) (int, int) { return int(offsets[t]), int(offsets[t+1] - offsets[t]) }, nil
	}
	panic("seq: items of a type that checkItems refuses")
}

// numbers returns the array a and its values.
func (c *itemColumn[T]) numbers(a arrow.Array) (arrow.Array, []T) {
	var values any
	switch a := a.(type) {
	case *array.Float32:
		values = a.Float32Values()
	case *array.Int32:
		values = a.Int32Values()
	}
	return a, values.([]T)
}

// checkItem returns an error if item t is null, has a wrong count of numbers, is not contiguous with
// the items before it, or has a null number.
func (c *itemColumn[T]) checkItem(items, numbers arrow.Array, span func(t int) (from, n int), t int) error {
	if items.IsNull(t) {
		return fmt.Errorf(": expected %s, found null", c.kind.withArticle)
	}
	from, n := span(t)
	if n != c.width {
		return fmt.Errorf(": expected %d numbers, found %d", c.width, n)
	}
	if first, _ := span(0); from != first+t*c.width {
		return fmt.Errorf(": expected contiguous %ss with the next number at index %d, found it at %d",
			c.kind.name, first+t*c.width, from)
	}
	for j := 0; numbers.NullN() > 0 && j < n; j++ {
		if numbers.IsNull(from + j) {
			return fmt.Errorf(", %s: expected a finite number, found null", c.parts[j])
		}
	}
	return nil
}

// detach copies the column out of the record's memory and returns the size of the copy in bytes.
func (c *itemColumn[T]) detach() int64 {
	if c == nil {
		return 0
	}
	used := 0
	if n := len(c.offsets); n > 0 {
		used = int(c.offsets[n-1]) * c.width
	}
	c.offsets, c.values = slices.Clone(c.offsets), slices.Clone(c.values[:used])
	return int64(4*len(c.offsets) + 4*len(c.values))
}

// itemList collects the items of rows for writing.
type itemList[T int32 | float32] struct {
	offsets []int32 // offsets into the items, one more than the number of rows
	values  []T
}

// reset removes all rows.
func (l *itemList[T]) reset() { l.offsets, l.values = append(l.offsets[:0], 0), l.values[:0] }

// endRow completes a row with the given number of items. The caller has appended their numbers to
// values.
func (l *itemList[T]) endRow(items int) {
	l.offsets = append(l.offsets, l.offsets[len(l.offsets)-1]+int32(items))
}

// array returns the column as an Arrow array of type t, a result of [itemsType].
func (l *itemList[T]) array(t *arrow.ListType) arrow.Array {
	items, number := int(l.offsets[len(l.offsets)-1]), t.Elem().(*arrow.FixedSizeListType).Elem()
	values := memory.NewBufferBytes(bytesOf(l.values))
	numbers := array.NewData(number, len(l.values), []*memory.Buffer{nil, values}, nil, 0, 0)
	rows := array.NewData(t.Elem(), items, []*memory.Buffer{nil}, []arrow.ArrayData{numbers}, 0, 0)
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(l.offsets))
	return array.NewListData(array.NewData(t, len(l.offsets)-1, []*memory.Buffer{nil, offsets},
		[]arrow.ArrayData{rows}, 0, 0))
}

// bytesOf returns the bytes of the values, without a copy.
func bytesOf[T int32 | float32](values []T) []byte {
	switch values := any(values).(type) {
	case []int32:
		return arrow.Int32Traits.CastToBytes(values)
	case []float32:
		return arrow.Float32Traits.CastToBytes(values)
	}
	panic("seq: values of an unknown type")
}

// location returns the location of a row, for errors.
func (c *itemColumn[T]) location(r *Rows, i int) string {
	return fmt.Sprintf("row %d, column %s", r.first+int64(i), c.name)
}

// forEachItem calls check for every item, until check returns an error. It adds the location to the
// error.
func (c *itemColumn[T]) forEachItem(r *Rows, check func(row int, item []T) error) error {
	for i := range len(c.offsets) - 1 {
		for t := c.offsets[i]; t < c.offsets[i+1]; t++ {
			if err := check(i, c.values[int(t)*c.width:][:c.width]); err != nil {
				return fmt.Errorf("%s, index %d, %w", c.location(r, i), t-c.offsets[i], err)
			}
		}
	}
	return nil
}
