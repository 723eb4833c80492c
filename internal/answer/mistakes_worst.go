package answer

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// MostWorst is how many rows are written of those that have an order, which are kept till the end.
const MostWorst = 1000

// worstRows are the rows that are answered worst, in that order.
type worstRows struct {
	mistakeWriter
	// rank is how badly a row is answered: by the first number, then by the second. One of 0 is
	// right.
	rank   func(x *seq.Example, logits []float32) [2]float64
	values func(r *worstRow) []any
	rows   worstHeap
	wrong  int // rows
}

type worstRow struct {
	rank   [2]float64
	row    uint32
	id     string
	labels []int32
	number []float32
	logits []float32
}

// worse orders rows from the worst to the best; of equal ones the first of the file comes first.
func (r *worstRow) worse(other *worstRow) int {
	return cmp.Or(cmp.Compare(other.rank[0], r.rank[0]), cmp.Compare(other.rank[1], r.rank[1]), cmp.Compare(r.row, other.row))
}

// worstHeap has the best of the worst rows in front.
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
	if w.wrong++; len(w.rows) == MostWorst {
		if r.worse(w.rows[0]) > 0 {
			return
		}
		heap.Pop(&w.rows)
	}
	r.id, r.labels, r.number, r.logits = strings.Clone(x.ID), slices.Clone(x.Labels), slices.Clone(x.Numbers), slices.Clone(logits)
	heap.Push(&w.rows, r)
}

func (w *worstRows) Left() int { return w.wrong - len(w.rows) }

func (w *worstRows) Close() error {
	slices.SortFunc(w.rows, (*worstRow).worse)
	for _, r := range w.rows {
		w.write(r.id, r.row, w.values(r)...)
	}
	return w.mistakeWriter.Close()
}

// wrongLabels ranks rows by how many labels are wrong, then by their mean loss.
func wrongLabels(c *sft.Config, format string) ([]table.OutputColumn, *worstRows) {
	labels := labelsColumn(c, format)
	columns := []table.OutputColumn{labels.named("labels"), labels.named("predicted"), {Name: "wrong", Kind: table.IntColumn}, {Name: "loss", Kind: table.FloatColumn}}
	w := &worstRows{rank: func(x *seq.Example, logits []float32) [2]float64 {
		holding, _ := c.Holding(logits)
		wrong := 0
		for label := range int32(c.NumLabels) {
			if slices.Contains(holding, label) != slices.Contains(x.Labels, label) {
				wrong++
			}
		}
		return [2]float64{float64(wrong), metrics.BinaryCrossEntropy(logits, x.Labels) / float64(c.NumLabels)}
	}}
	w.values = func(r *worstRow) []any {
		holding, probabilities := c.Holding(r.logits)
		return append([]any{labels.value(c, r.labels), labels.value(c, holding), int64(r.rank[0]), float32(r.rank[1])}, realValues(probabilities)...)
	}
	return append(columns, probabilityColumns(c)...), w
}

// farNumbers ranks rows by the number that is furthest off, in deviations of the training split.
func farNumbers(c *sft.Config) ([]table.OutputColumn, *worstRows) {
	columns := []table.OutputColumn{{Name: "deviations", Kind: table.FloatColumn}, {Name: "number"}}
	for _, name := range c.NumberNames() {
		columns = append(columns, table.OutputColumn{Name: "actual_" + name, Kind: table.FloatColumn}, table.OutputColumn{Name: "predicted_" + name, Kind: table.FloatColumn})
	}
	furthest := func(numbers, logits []float32) (at int, distance float64) {
		for i, d := range c.Deviations(logits, numbers) {
			if d := math.Abs(d); d > distance {
				at, distance = i, d
			}
		}
		return at, distance
	}
	w := &worstRows{rank: func(x *seq.Example, logits []float32) [2]float64 {
		_, distance := furthest(x.Numbers, logits)
		return [2]float64{distance}
	}}
	w.values = func(r *worstRow) []any {
		at, distance := furthest(r.number, r.logits)
		out := []any{float32(distance), c.Numbers[at].Name}
		for i, predicted := range c.Predictions(r.logits) {
			out = append(out, r.number[i], predicted)
		}
		return out
	}
	return columns, w
}
