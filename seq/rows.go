package seq

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// Rows is a validated view of a record batch. Every sequence has at least one token. Every token id
// is below the vocabulary size, if the size is known, and is not the pad id. Every label has a name
// if the specification has label names. Rows is safe for concurrent use.
type Rows struct {
	record   arrow.Record
	first    int64
	tokens   []tokenColumn        // one column, or two for pairs
	labels   *array.Int32         // nil without a column of labels
	lists    *labelLists          // replaces labels if each row has a list of labels
	tagging  bool                 // true if lists has a label for each token
	numbers  *numberColumn        // nil without a column of numbers
	features *itemColumn[float32] // replaces tokens if the data have features
	edges    *edgeColumns         // nil without edges
	ids      idText               // nil without a column of ids
	window   Window               // selects the tokens of each sequence
}

// RowsOf returns the rows of a record after validating them against spec, usually the result of
// [SpecOf] for the record's schema. An error counts rows from 0.
func RowsOf(record arrow.Record, spec *Spec) (*Rows, error) { return rowsOf(record, spec, 0) }

// rowsOf implements RowsOf. The parameter first is the index of the record's row 0 in its file.
func rowsOf(record arrow.Record, spec *Spec, first int64) (rows *Rows, err error) {
	// Records of other programs may have buffers of wrong sizes, which make Arrow panic.
	defer arrowipc.Contain(&err)
	if err := spec.checkColumns(record.Schema()); err != nil {
		return nil, err
	}
	id, err := FirstTokenID(record.Schema())
	if err != nil {
		return nil, err
	}
	r := &Rows{record: record, first: first, tagging: spec.Task == Tagging}
	if err := r.loadFeatures(spec); err != nil {
		return nil, err
	}
	if err := r.loadEdges(spec); err != nil {
		return nil, err
	}
	for _, name := range spec.TokenColumns() {
		if spec.FeatureNames != nil {
			continue
		}
		index := record.Schema().FieldIndices(name)[0]
		column := tokenColumn{name: name, id: id}
		if err := column.load(record.Column(index).(*array.List), first); err != nil {
			return nil, err
		}
		if err := column.checkIDs(spec, first); err != nil {
			return nil, err
		}
		r.tokens = append(r.tokens, column)
	}
	if index := record.Schema().FieldIndices(ColumnLabel); index != nil {
		err := error(nil)
		switch column := record.Column(index[0]).(type) {
		case *array.List:
			err = r.loadLabelLists(spec, column)
		case *array.Int32:
			r.labels = column
			err = r.checkLabels(spec)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.loadNumbers(spec); err != nil {
		return nil, err
	}
	if hasIDs(record.Schema()) {
		if err := r.loadIDs(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Record returns the Arrow record itself. It needs no Release.
func (r *Rows) Record() arrow.Record { return r.record }

// Len returns the number of rows.
func (r *Rows) Len() int { return int(r.record.NumRows()) }

// First returns the index of row 0 within the whole file.
func (r *Rows) First() int64 { return r.first }

// Pair reports whether a row has two sequences.
func (r *Rows) Pair() bool { return len(r.tokens) == 2 }

// Tokens returns the tokens within the window of the only or first sequence of row i. It writes them
// to buf, which grows if needed. The result is empty if the data have features.
func (r *Rows) Tokens(i int, buf []int32) []int32 {
	if r.features != nil {
		return buf[:0]
	}
	return r.tokens[0].appendWindow(buf[:0], i, r.window)
}

// TokensB is like Tokens for the second sequence of pair i.
func (r *Rows) TokensB(i int, buf []int32) []int32 {
	return r.tokens[1].appendWindow(buf[:0], i, r.window)
}

// Length returns the number of tokens of row i within the window. For a pair it is the sum of both
// sequences.
func (r *Rows) Length(i int) int {
	if r.features != nil {
		return r.length(0, i)
	}
	n := 0
	for c := range r.tokens {
		n += r.length(c, i)
	}
	return n
}

// longest returns the length of the longer sequence of row i.
func (r *Rows) longest(i int) int {
	if r.features != nil {
		return r.length(0, i)
	}
	n := 0
	for c := range r.tokens {
		n = max(n, r.length(c, i))
	}
	return n
}

// length returns the number of tokens that row i has in a column, within the window.
func (r *Rows) length(column, i int) int {
	var offsets []int32
	if r.features != nil {
		offsets = r.features.offsets
	} else {
		offsets = r.tokens[column].offsets
	}
	return r.window.Count(int(offsets[i+1] - offsets[i]))
}

// Label returns the label of row i; ok is false if the label is unknown.
func (r *Rows) Label(i int) (label int32, ok bool) {
	if r.labels == nil || r.labels.IsNull(i) {
		return 0, false
	}
	return r.labels.Value(i), true
}

// Numbers returns the numbers of row i, or nil if they are unknown. The caller must not change the
// slice.
func (r *Rows) Numbers(i int) []float32 { return r.numbers.row(i) }

// Example returns a copy of row i. Index is the row's index in the file.
func (r *Rows) Example(i int) Example {
	e := Example{Index: uint32(r.first + int64(i)), A: r.Tokens(i, nil), Label: NoLabel, ID: r.ID(i),
		Features: r.Features(i), Edges: r.Edges(i)}
	if r.Pair() {
		e.B = r.TokensB(i, nil)
	}
	if label, ok := r.Label(i); ok {
		e.Label = label
	}
	e.Labels, e.Numbers = r.Labels(i), slices.Clone(r.Numbers(i))
	return e
}

func (r *Rows) checkLabels(spec *Spec) error {
	if err := checkBitmap(r.labels, ColumnLabel); err != nil {
		return err
	}
	for i := range r.Len() {
		label, ok := r.Label(i)
		if !ok {
			continue
		}
		if err := spec.checkLabel(label); err != nil {
			return fmt.Errorf("row %d, column %s: %w", r.first+int64(i), ColumnLabel, err)
		}
	}
	return nil
}

// checkLabel returns an error if a row may not have the label.
func (s *Spec) checkLabel(label int32) error {
	if s.NumberNames != nil {
		return fmt.Errorf("task %s: expected numbers, found label %d", s.Task, label)
	}
	if label < 0 {
		return fmt.Errorf("expected a label ≥ 0, found %d", label)
	}
	if s.LabelNames != nil && int(label) >= len(s.LabelNames) {
		return fmt.Errorf("expected a label from 0 to %d, found %d", len(s.LabelNames)-1, label)
	}
	return nil
}

// checkID returns an error if a sequence may not contain the token id.
func (s *Spec) checkID(id int32) error {
	if id < 0 {
		return fmt.Errorf("expected a token id ≥ 0, found %d", id)
	}
	if s.VocabSize > 0 && int(id) >= s.VocabSize {
		return fmt.Errorf("expected a token id below the vocabulary's size %d, found %d", s.VocabSize, id)
	}
	if s.PadID != nil && id == *s.PadID {
		return fmt.Errorf("expected no padding inside a sequence, found the pad id %d", id)
	}
	return nil
}

// tokenColumn is a column of lists of tokens. Its ids are in u8, u16 or i32; the other two are nil.
type tokenColumn struct {
	name    string
	id      int32   // id that a stored 0 represents
	offsets []int32 // one more than the number of rows
	u8      []uint8
	u16     []uint16
	i32     []int32
}

// load reads the column's offsets and ids, and checks that every row has a non-empty list without
// nulls.
func (c *tokenColumn) load(list *array.List, first int64) error {
	rows := list.Len()
	if rows == 0 {
		return nil
	}
	if err := checkBitmap(list, c.name); err != nil {
		return err
	}
	if list.NullN() > 0 {
		for i := range rows {
			if list.IsNull(i) {
				return fmt.Errorf("row %d, column %s: expected a sequence, found null", first+int64(i), c.name)
			}
		}
	}
	offsets, err := offsetsOf(list, c.name)
	if err != nil {
		return err
	}
	c.offsets = offsets

	values := 0
	switch items := list.ListValues().(type) {
	case *array.Uint8:
		c.u8, values = items.Uint8Values(), len(items.Uint8Values())
	case *array.Uint16:
		c.u16, values = items.Uint16Values(), len(items.Uint16Values())
	case *array.Int32:
		c.i32, values = items.Int32Values(), len(items.Int32Values())
	}
	for i := range rows {
		from, to := c.offsets[i], c.offsets[i+1]
		switch {
		case from < 0 || to < from || int(to) > values:
			return fmt.Errorf("row %d, column %s: offsets %d to %d are not a range of the %d tokens", first+int64(i),
				c.name, from, to, values)
		case from == to:
			return fmt.Errorf("row %d, column %s: expected at least one token, found an empty sequence", first+int64(i),
				c.name)
		}
	}
	return c.checkItemNulls(list.ListValues(), first)
}

// offsetsOf returns the offsets of a list's rows, one more than the number of rows.
func offsetsOf(list *array.List, column string) ([]int32, error) {
	var raw []byte
	if buffer := list.Data().Buffers()[1]; buffer != nil {
		raw = buffer.Bytes()
	}
	begin, rows := list.Data().Offset(), list.Len()
	all := arrow.Int32Traits.CastFromBytes(raw)
	if len(all) < begin+rows+1 {
		return nil, fmt.Errorf("column %s: expected %d offsets, found %d", column, begin+rows+1, len(all))
	}
	return all[begin : begin+rows+1], nil
}

func (c *tokenColumn) checkItemNulls(items arrow.Array, first int64) error {
	if err := checkBitmap(items, c.name); err != nil {
		return err
	}
	if items.NullN() == 0 {
		return nil
	}
	for i := range len(c.offsets) - 1 {
		for j := c.offsets[i]; j < c.offsets[i+1]; j++ {
			if items.IsNull(int(j)) {
				return fmt.Errorf("row %d, column %s, index %d: expected a token, found null",
					first+int64(i), c.name, j-c.offsets[i])
			}
		}
	}
	return nil
}

// checkIDs returns an error for the first id that is not a valid token.
func (c *tokenColumn) checkIDs(spec *Spec, first int64) error {
	if len(c.offsets) == 0 {
		return nil
	}
	from, to := c.offsets[0], c.offsets[len(c.offsets)-1]
	bad := -1
	switch {
	case c.u8 != nil:
		bad = firstBad(c.u8[from:to], c.id, spec)
	case c.u16 != nil:
		bad = firstBad(c.u16[from:to], c.id, spec)
	default:
		bad = firstBad(c.i32[from:to], c.id, spec)
	}
	if bad < 0 {
		return nil
	}
	for i := range len(c.offsets) - 1 {
		if at := from + int32(bad); at < c.offsets[i+1] {
			id := c.appendTo(nil, at, at+1)[0]
			return fmt.Errorf("row %d, column %s, index %d: %w", first+int64(i), c.name,
				at-c.offsets[i], spec.checkID(id))
		}
	}
	return nil
}

// firstBad returns the index of the first stored number that is not a valid token, or -1. A stored
// number plus first is a token id.
func firstBad[T uint8 | uint16 | int32](stored []T, first int32, spec *Spec) int {
	last, padID := int64(maxVocab), int64(-1)
	if spec.VocabSize > 0 {
		last = int64(spec.VocabSize - 1)
	}
	if spec.PadID != nil {
		padID = int64(*spec.PadID)
	}
	low, high, pad := -int64(first), last-int64(first), padID-int64(first) // as stored numbers
	if high >= int64(^T(0)) && ^T(0) > 0 && (pad < 0 || pad > int64(^T(0))) {
		return -1 // every number of this type is a valid token
	}
	for i, n := range stored {
		if v := int64(n); v < low || v > high || v == pad {
			return i
		}
	}
	return -1
}

// appendWindow appends to buf the tokens of row i that w selects.
func (c *tokenColumn) appendWindow(buf []int32, i int, w Window) []int32 {
	from, to := c.offsets[i], c.offsets[i+1]
	head, tail := w.parts(int(to - from))
	buf = c.appendTo(slices.Grow(buf, head+int(to-from)-tail), from, from+int32(head))
	return c.appendTo(buf, from+int32(tail), to)
}

// appendTo appends the column's tokens with the indices [from, to) to buf.
func (c *tokenColumn) appendTo(buf []int32, from, to int32) []int32 {
	switch {
	case c.u8 != nil:
		return appendIDs(buf, c.u8[from:to], c.id)
	case c.u16 != nil:
		return appendIDs(buf, c.u16[from:to], c.id)
	}
	return appendIDs(buf, c.i32[from:to], c.id)
}

// appendIDs appends token ids to buf. An id is a stored number plus first.
func appendIDs[T uint8 | uint16 | int32](buf []int32, stored []T, first int32) []int32 {
	start := len(buf)
	buf = slices.Grow(buf, len(stored))[:start+len(stored)]
	for i, n := range stored {
		buf[start+i] = int32(n) + first
	}
	return buf
}

// checkBitmap returns an error if the validity bitmap of a has fewer bits than a has values.
func checkBitmap(a arrow.Array, column string) error {
	data := a.Data()
	if data.NullN() == 0 || len(data.Buffers()) == 0 {
		return nil
	}
	var bitmap *memory.Buffer = data.Buffers()[0]
	if bitmap == nil {
		return nil
	}
	if need := bitutil.BytesForBits(int64(data.Offset() + data.Len())); int64(bitmap.Len()) < need {
		return fmt.Errorf("column %s: expected a validity bitmap of %d bytes, found %d", column, need, bitmap.Len())
	}
	return nil
}
