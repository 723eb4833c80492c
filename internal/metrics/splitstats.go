package metrics

import (
	"maps"
	"math"
	"slices"

	"github.com/sftseq/sftseq/seq"
)

// Stats describes the rows of a split: lengths, labels and numbers.
type Stats struct {
	Name    string           `json:"split"`
	Rows    int64            `json:"rows"`
	Lengths seq.Quantiles    `json:"lengths"`
	Labels  map[string]int64 `json:"labels"`
	// Tokens is the number of labelled and unlabelled tokens, for tagging. Labels then counts
	// tokens.
	Tokens    int64               `json:"tokens,omitempty"`
	PerRow    []int64             `json:"labels_per_row,omitempty"` // multi-label: number of rows by number of labels
	Numbers   []seq.NumberSummary `json:"numbers,omitempty"`        // regression
	Histogram []Bin               `json:"histogram"`
}

// Bin counts the rows with lengths in [From, To). Empty rows count in the first bin.
type Bin struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Rows int64 `json:"rows"`
}

// SplitStats reads a split to its end, closes it and returns its statistics.
func SplitStats(name string, r *seq.Reader) (Stats, error) {
	defer r.Close()
	summary, counts := seq.NewSummary(r.Spec()), map[int]int64{} // rows by bin
	for rows, err := range r.All() {
		if err != nil {
			return Stats{}, err
		}
		for i := range rows.Len() {
			summary.AddRow(rows, i)
			counts[binOf(int64(rows.Length(i)))]++
		}
	}
	s := Stats{Name: name, Rows: summary.Rows(), Lengths: summary.Lengths(),
		Labels: summary.Labels(r.Spec().LabelNames), PerRow: summary.LabelsPerRow(), Numbers: summary.Numbers()}
	if r.Spec().Task == seq.Tagging {
		for _, n := range s.Labels {
			s.Tokens += n
		}
	}
	for _, bin := range slices.Sorted(maps.Keys(counts)) {
		s.Histogram = append(s.Histogram, Bin{binEdges[bin], binEdges[bin+1], counts[bin]})
	}
	return s, nil
}

// binEdges has the lower bounds of the length bins: the powers of 2^(1/8), rounded up to integers,
// without duplicates.
var binEdges = func() (edges []int64) {
	for k := 0.0; k < 8*40; k++ {
		if edge := int64(math.Ceil(math.Exp2(k / 8))); len(edges) == 0 || edge > edges[len(edges)-1] {
			edges = append(edges, edge)
		}
	}
	return edges
}()

// binOf returns the index of the bin of a length.
func binOf(length int64) int {
	bin, found := slices.BinarySearch(binEdges, max(1, length))
	if !found {
		bin--
	}
	return bin
}
