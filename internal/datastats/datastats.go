// Package datastats counts rows, lengths and labels, and describes numbers, of the splits of a data set.
package datastats

import (
	"io"
	"maps"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/seq"
)

// Split is what there is of a split.
type Split struct {
	Name      string              `json:"split"`
	Rows      int64               `json:"rows"`
	Lengths   seq.Quantiles       `json:"lengths"`
	Labels    map[string]int64    `json:"labels"`
	Tokens    int64               `json:"tokens,omitempty"`         // of tagging: Labels are theirs
	PerRow    []int64             `json:"labels_per_row,omitempty"` // rows by how many labels hold, where several may
	Numbers   []seq.NumberSummary `json:"numbers,omitempty"`        // of a regression
	Histogram []Bin               `json:"histogram"`
}

// Bin counts the rows of lengths from From to below To.
type Bin struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Rows int64 `json:"rows"`
}

// Of reads a file, and closes it.
func Of(name string, r *seq.Reader) (Split, error) {
	defer r.Close()
	summary, counts := seq.NewSummary(r.Spec()), map[int]int64{} // by bin
	for {
		rows, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Split{}, err
		}
		for i := range rows.Len() {
			summary.AddRow(rows, i)
			counts[binOf(int64(rows.Length(i)))]++
		}
	}
	s := Split{Name: name, Rows: summary.Rows(), Lengths: summary.Lengths(), Labels: summary.Labels(r.Spec().LabelNames), PerRow: summary.LabelsPerRow(), Numbers: summary.Numbers()}
	if r.Spec().Task == seq.Tagging {
		for _, n := range s.Labels {
			s.Tokens += n
		}
	}
	for _, at := range slices.Sorted(maps.Keys(counts)) {
		s.Histogram = append(s.Histogram, Bin{binEdges[at], binEdges[at+1], counts[at]})
	}
	return s, nil
}

// binEdges are where bins begin: eight between two powers of two, where there is room
// for them.
var binEdges = func() (edges []int64) {
	for k := 0.0; k < 8*40; k++ {
		if edge := int64(math.Ceil(math.Exp2(k / 8))); len(edges) == 0 || edge > edges[len(edges)-1] {
			edges = append(edges, edge)
		}
	}
	return edges
}()

// binOf is the number of a length's bin.
func binOf(length int64) int {
	at, found := slices.BinarySearch(binEdges, max(1, length))
	if !found {
		at--
	}
	return at
}

// Outline is that of the histogram in percent of the rows, which is zero between bins and
// at both ends.
func (s *Split) Outline() (points []chart.Datum) {
	add := func(length int64, y float64) {
		points = append(points, chart.Datum{X: float64(max(1, length)), Y: y})
	}
	last := int64(-1)
	for _, b := range s.Histogram {
		if b.From != last {
			if last >= 0 {
				add(last, 0)
			}
			add(b.From, 0)
		}
		part := 100 * float64(b.Rows) / float64(s.Rows)
		add(b.From, part)
		add(b.To, part)
		last = b.To
	}
	if last >= 0 {
		add(last, 0)
	}
	return points
}
