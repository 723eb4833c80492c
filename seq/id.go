package seq

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// maxID is the maximum length of an id in bytes, much longer than any path or key.
const maxID = 1 << 20

// idText is a column of ids in a record: *array.String or *array.LargeString.
type idText interface {
	arrow.Array
	Value(i int) string
	ValueOffset64(i int) int64
}

// hasIDs reports whether a schema has exactly one column named id, which is a text column. Other columns
// named id belong to another program and are ignored.
func hasIDs(schema *arrow.Schema) bool {
	fields, _ := schema.FieldsByName(ColumnID)
	return len(fields) == 1 && (fields[0].Type.ID() == arrow.STRING || fields[0].Type.ID() == arrow.LARGE_STRING)
}

// loadIDs reads the column of ids and checks the offsets, length and encoding of each id.
func (r *Rows) loadIDs() error {
	ids := r.record.Column(r.record.Schema().FieldIndices(ColumnID)[0]).(idText)
	if r.Len() == 0 {
		return nil
	}
	if err := checkBitmap(ids, ColumnID); err != nil {
		return err
	}
	size := int64(0)
	if values := ids.Data().Buffers()[2]; values != nil {
		size = int64(values.Len())
	}
	for i := range r.Len() {
		from, to := ids.ValueOffset64(i), ids.ValueOffset64(i+1)
		if from < 0 || to < from || to > size {
			return fmt.Errorf("row %d, column %s: offsets %d to %d are not a range of the %d bytes", r.first+int64(i),
				ColumnID, from, to, size)
		}
		if ids.IsValid(i) {
			if err := checkIDText(ids.Value(i)); err != nil {
				return fmt.Errorf("row %d, column %s: %w", r.first+int64(i), ColumnID, err)
			}
		}
	}
	r.ids = ids
	return nil
}

// checkIDText returns an error if id is too long or is not UTF-8.
func checkIDText(id string) error {
	switch {
	case len(id) > maxID:
		return fmt.Errorf("expected at most %d bytes, found %d", maxID, len(id))
	case !utf8.ValidString(id):
		return fmt.Errorf("expected UTF-8, found %.40q", id)
	}
	return nil
}

// ID returns the id of row i, or "" if the row has no id. The id shares no memory with the rows.
func (r *Rows) ID(i int) string {
	if r.ids == nil || r.ids.IsNull(i) {
		return ""
	}
	return strings.Clone(r.ids.Value(i))
}

// dropIDs removes the ids, which training does not use, and replaces all other columns by copies.
// Otherwise any column would keep the memory of the whole batch, including the ids, in use. dropIDs
// returns the size of the copies in bytes.
func (r *Rows) dropIDs() (size int64) {
	for i := range r.tokens {
		size += r.tokens[i].detach()
	}
	size += r.features.detach() + r.edges.detach()
	if r.labels != nil {
		labels, unlabeled := make([]int32, r.Len()), 0
		for i := range labels {
			label, ok := r.Label(i)
			if labels[i] = label; !ok {
				labels[i], unlabeled = NoLabel, unlabeled+1
			}
		}
		r.labels = labelArray(labels, unlabeled).(*array.Int32)
		size += int64(4 * len(labels))
	}
	lists, bytes := r.lists.detach()
	r.lists, size = lists, size+bytes
	numbers, bytes := r.numbers.detach(r.Len())
	r.numbers, size = numbers, size+bytes
	r.record = array.NewRecord(arrow.NewSchema(nil, nil), nil, r.record.NumRows())
	r.ids = nil
	return size
}

// detach copies the column out of the record's memory and returns the size of the copy in bytes.
func (c *tokenColumn) detach() int64 {
	c.offsets, c.u8, c.u16, c.i32 = slices.Clone(c.offsets), slices.Clone(c.u8),
		slices.Clone(c.u16), slices.Clone(c.i32)
	return int64(4*len(c.offsets) + len(c.u8) + 2*len(c.u16) + 4*len(c.i32))
}

// idList collects the ids of rows for writing.
type idList struct {
	offsets []int32 // offsets into the text, one more than the number of rows
	values  []byte
}

func (l *idList) append(id string) {
	l.values = append(l.values, id...)
	l.offsets = append(l.offsets, int32(len(l.values)))
}

// array returns the column of ids. An empty id becomes null.
func (l *idList) array() arrow.Array {
	rows := len(l.offsets) - 1
	valid, missing := validity(rows, func(i int) bool { return l.offsets[i+1] > l.offsets[i] })
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(l.offsets))
	return array.NewStringData(array.NewData(arrow.BinaryTypes.String, rows,
		[]*memory.Buffer{valid, offsets, memory.NewBufferBytes(l.values)}, nil, missing, 0))
}
