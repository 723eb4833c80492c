package seq

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// labelsType is the type of the column of labels if each row has a list of labels. A null item is a
// token without a label.
var labelsType = arrow.ListOf(arrow.PrimitiveTypes.Int32)

// ListsLabels reports whether a row has a list of labels: its positive labels, or a label for each
// token.
func (s *Spec) ListsLabels() bool { return s.Task == MultiLabel || s.Task == Tagging }

// checkLabelColumn returns an error if the schema has several columns of labels, or a column of
// labels with a type that the task does not use.
func (s *Spec) checkLabelColumn(schema *arrow.Schema) error {
	fields, ok := schema.FieldsByName(ColumnLabel)
	if !ok {
		return nil
	}
	if len(fields) > 1 {
		return fmt.Errorf("column %s: expected at most once, found %d times", ColumnLabel, len(fields))
	}
	found := fields[0].Type
	if !s.ListsLabels() {
		if found.ID() != arrow.INT32 {
			return fmt.Errorf("column %s: expected int32, found %s", ColumnLabel, found)
		}
		return nil
	}
	if list, ok := found.(*arrow.ListType); !ok || list.Elem().ID() != arrow.INT32 {
		return fmt.Errorf("column %s: expected list<int32> for task %s, found %s", ColumnLabel, s.Task, found)
	}
	return nil
}

// checkLabels returns an error if a row with the given number of tokens may not have these labels.
// A nil slice means unknown labels.
func (s *Spec) checkLabels(labels []int32, tokens int) error {
	switch {
	case labels == nil:
		return nil
	case !s.ListsLabels():
		return fmt.Errorf("expected no list of labels for task %s, found %d labels", s.Task, len(labels))
	case s.Task == Tagging && len(labels) != tokens:
		return fmt.Errorf("expected a label for each of the %d tokens, found %d labels", tokens, len(labels))
	}
	for i, label := range labels {
		if s.Task == Tagging && label == NoLabel {
			continue
		}
		if err := s.checkLabel(label); err != nil {
			return fmt.Errorf("index %d: %w", i, err)
		}
		if s.Task == MultiLabel && i > 0 && label <= labels[i-1] {
			return fmt.Errorf("index %d: expected distinct labels in ascending order, found %d after %d", i, label,
				labels[i-1])
		}
	}
	return nil
}

// labelLists is a column of lists of labels, from a record or for writing.
type labelLists struct {
	offsets    []int32 // one more than the number of rows
	values     []int32
	isNull     func(row int) bool
	isItemNull func(item int) bool // reports whether an item is null; nil if no item is null
}

// length returns the number of labels of row i.
func (l *labelLists) length(i int) int { return int(l.offsets[i+1] - l.offsets[i]) }

// row returns a copy of the first n labels of row i, with NoLabel for null items. It returns nil if
// the labels are unknown.
func (l *labelLists) row(i, n int) []int32 {
	if l == nil || l.isNull(i) {
		return nil
	}
	from := l.offsets[i]
	out := make([]int32, n)
	copy(out, l.values[from:])
	for j := range out {
		if l.isItemNull != nil && l.isItemNull(int(from)+j) {
			out[j] = NoLabel
		}
	}
	return out
}

// loadLabelLists reads the column of lists of labels and checks the labels of each row.
func (r *Rows) loadLabelLists(spec *Spec, list *array.List) error {
	l := &labelLists{isNull: list.IsNull}
	rows := list.Len()
	items := list.ListValues().(*array.Int32)
	for _, a := range []arrow.Array{list, items} {
		if err := checkBitmap(a, ColumnLabel); err != nil {
			return err
		}
	}
	if items.NullN() > 0 {
		l.isItemNull = items.IsNull
	}
	l.values = items.Int32Values()
	if rows > 0 {
		offsets, err := offsetsOf(list, ColumnLabel)
		if err != nil {
			return err
		}
		l.offsets = offsets
	}
	for i := range rows {
		row := r.first + int64(i)
		if from, to := l.offsets[i], l.offsets[i+1]; from < 0 || to < from || int(to) > len(l.values) {
			return fmt.Errorf("row %d, column %s: offsets %d to %d are not a range of the %d labels", row,
				ColumnLabel, from, to, len(l.values))
		}
		if err := spec.checkLabels(l.row(i, l.length(i)), r.length(0, i)); err != nil {
			return fmt.Errorf("row %d, column %s: %w", row, ColumnLabel, err)
		}
	}
	r.lists = l
	return nil
}

// Labels returns a copy of row i's list of labels. For multi-label these are the positive labels.
// For tagging the list has an entry for each token in the window, [NoLabel] for a token without a
// label. Labels returns nil for other tasks and for unknown labels.
func (r *Rows) Labels(i int) []int32 {
	if r.lists == nil {
		return nil
	}
	n := r.lists.length(i)
	if r.tagging {
		n = min(n, r.length(0, i))
	}
	return r.lists.row(i, n)
}

// detach returns a copy of the column outside the record's memory, and the size of the copy in bytes.
func (l *labelLists) detach() (*labelLists, int64) {
	if l == nil {
		return nil, 0
	}
	var out labelListWriter
	out.reset()
	for i := range len(l.offsets) - 1 {
		out.append(l.row(i, l.length(i)))
	}
	return out.lists(), int64(4*len(out.offsets) + 4*len(out.values) + len(out.known))
}

// labelListWriter collects the lists of labels of rows for writing.
type labelListWriter struct {
	offsets   []int32 // one more than the number of rows
	values    []int32
	known     []bool
	unlabeled int // number of items without a label
}

// reset removes all rows.
func (l *labelListWriter) reset() {
	l.offsets, l.values, l.known, l.unlabeled = append(l.offsets[:0], 0), l.values[:0], l.known[:0], 0
}

func (l *labelListWriter) append(labels []int32) {
	l.values, l.known = append(l.values, labels...), append(l.known, labels != nil)
	l.offsets = append(l.offsets, int32(len(l.values)))
	for _, label := range labels {
		if label == NoLabel {
			l.unlabeled++
		}
	}
}

// row returns the labels of row i, or nil if they are unknown.
func (l *labelListWriter) row(i int) []int32 {
	if !l.known[i] {
		return nil
	}
	return l.values[l.offsets[i]:l.offsets[i+1]]
}

// lists returns the collected lists.
func (l *labelListWriter) lists() *labelLists {
	out := &labelLists{offsets: l.offsets, values: l.values, isNull: func(i int) bool { return !l.known[i] }}
	if l.unlabeled > 0 {
		out.isItemNull = func(i int) bool { return l.values[i] == NoLabel }
	}
	return out
}

// array returns the column as an Arrow array. A row with unknown labels is null, as is a token
// without a label.
func (l *labelListWriter) array() arrow.Array {
	rows := len(l.known)
	valid, missing := validity(rows, func(i int) bool { return l.known[i] })
	items := labelArray(l.values, l.unlabeled)
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(l.offsets))
	return array.NewListData(array.NewData(labelsType, rows, []*memory.Buffer{valid, offsets},
		[]arrow.ArrayData{items.Data()}, missing, 0))
}

// relabel replaces every known label l by number(l). If sorted is set, it also sorts the labels of each
// row.
func (l *labelListWriter) relabel(number func(int32) int32, sorted bool) {
	relabel(l.values, number)
	for i := range l.known {
		if sorted {
			slices.Sort(l.values[l.offsets[i]:l.offsets[i+1]])
		}
	}
}

// addLabels counts a row with a list of labels. Multi-label counts the row once for each positive
// label. Tagging counts each token once, for its label. Unknown labels count as NoLabel.
func (s *Summary) addLabels(tokens int, labels []int32) {
	if labels == nil {
		if s.task == MultiLabel {
			tokens = 1
		}
		s.labels[NoLabel] += int64(tokens)
		return
	}
	if s.task == MultiLabel {
		s.perRow[len(labels)]++
	}
	for _, label := range labels {
		s.labels[label]++
	}
}
