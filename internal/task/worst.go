package task

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/seq"
)

// MaxWorst is the maximum number of written rows for tasks that rank mistakes.
const MaxWorst = 1000

// worstRows writes the rows with the worst predictions in descending order of error.
type worstRows struct {
	mistakeWriter
	// rank returns the error of a row. Rows are ordered by the first number, then by the second;
	// larger is worse. A first number of 0 means a correct row.
	rank   func(x *seq.Example, logits []float32) [2]float64
	values func(r *worstRow) []any // values of the task's columns
	rows   worstHeap
	wrong  int // number of wrong rows, including rows that are not kept
}

type worstRow struct {
	rank   [2]float64
	row    uint32
	id     string
	labels []int32
	number []float32
	logits []float32
}

// worse compares rows in descending order of error; rows with equal errors have the order of the
// file.
func (r *worstRow) worse(other *worstRow) int {
	return cmp.Or(cmp.Compare(other.rank[0], r.rank[0]), cmp.Compare(other.rank[1], r.rank[1]),
		cmp.Compare(r.row, other.row))
}

// worstHeap is a heap with the smallest error at the root.
type worstHeap []*worstRow

func (h worstHeap) Len() int           { return len(h) }
func (h worstHeap) Less(i, j int) bool { return h[i].worse(h[j]) > 0 }
func (h worstHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstHeap) Push(x any)        { *h = append(*h, x.(*worstRow)) }
func (h *worstHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (w *worstRows) See(x *seq.Example, _ int, logits []float32) {
	r := &worstRow{rank: w.rank(x, logits), row: x.Index}
	if r.rank[0] == 0 {
		return
	}
	if w.wrong++; len(w.rows) == MaxWorst {
		if r.worse(w.rows[0]) > 0 {
			return
		}
		heap.Pop(&w.rows)
	}
	r.id, r.labels, r.number, r.logits = strings.Clone(x.ID), slices.Clone(x.Labels),
		slices.Clone(x.Numbers), slices.Clone(logits)
	heap.Push(&w.rows, r)
}

func (w *worstRows) Omitted() int { return w.wrong - len(w.rows) }

func (w *worstRows) Close() error {
	slices.SortFunc(w.rows, (*worstRow).worse)
	for _, r := range w.rows {
		w.write(r.id, r.row, w.values(r)...)
	}
	return w.mistakeWriter.Close()
}
