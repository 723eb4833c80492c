package seq

import (
	"math"
	"slices"
	"strconv"
)

// Quantiles describe the lengths of sequences. Each is a length that occurs:
// the smallest one such that at least that fraction of the rows is no longer.
type Quantiles struct {
	Min  int64   `json:"min"`
	P25  int64   `json:"p25"`
	P50  int64   `json:"p50"`
	P75  int64   `json:"p75"`
	P95  int64   `json:"p95"`
	Max  int64   `json:"max"`
	Mean float64 `json:"mean"`
}

// Unlabelled is the key of rows without a label in a label histogram.
const Unlabelled = "unlabelled"

// A Summary counts rows by length and by label. Its memory grows with the
// number of different lengths and labels, not with the rows.
type Summary struct {
	rows    int64
	lengths map[int64]int64
	labels  map[int32]int64
}

// NewSummary returns an empty summary.
func NewSummary() *Summary {
	return &Summary{lengths: map[int64]int64{}, labels: map[int32]int64{}}
}

// Add counts one row; label may be NoLabel.
func (s *Summary) Add(length int, label int32) {
	s.rows++
	s.lengths[int64(length)]++
	s.labels[label]++
}

// Rows returns the number of rows counted.
func (s *Summary) Rows() int64 { return s.rows }

// Lengths returns the quantiles, all zero if there is no row.
func (s *Summary) Lengths() Quantiles {
	if s.rows == 0 {
		return Quantiles{}
	}
	lengths := make([]int64, 0, len(s.lengths))
	total := 0.0
	for length, rows := range s.lengths {
		lengths = append(lengths, length)
		total += float64(length) * float64(rows) // exact: integers below 2⁵³
	}
	slices.Sort(lengths)
	at := func(fraction float64) int64 {
		rank := int64(math.Ceil(fraction * float64(s.rows)))
		for _, length := range lengths {
			if rank -= s.lengths[length]; rank <= 0 {
				return length
			}
		}
		return lengths[len(lengths)-1]
	}
	return Quantiles{
		Min: lengths[0], P25: at(0.25), P50: at(0.5), P75: at(0.75), P95: at(0.95),
		Max: lengths[len(lengths)-1], Mean: total / float64(s.rows),
	}
}

// Labels returns the number of rows of each label, by its name where names has
// one, otherwise by its number.
func (s *Summary) Labels(names []string) map[string]int64 {
	counts := map[string]int64{}
	for label, rows := range s.labels {
		counts[LabelName(names, label)] += rows
	}
	return counts
}

// LabelName returns the name of a label, its number where it has none, or
// Unlabelled.
func LabelName(names []string, label int32) string {
	switch {
	case label == NoLabel:
		return Unlabelled
	case label >= 0 && int(label) < len(names):
		return names[label]
	default:
		return strconv.Itoa(int(label))
	}
}
