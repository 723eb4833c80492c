package seq

import (
	"maps"
	"math"
	"slices"
	"strconv"
)

// Quantiles are statistics of the lengths of rows. A quantile q is the smallest occurring length
// such that at least the fraction q of the rows is not longer.
type Quantiles struct {
	Min  int64   `json:"min"`
	P25  int64   `json:"p25"`
	P50  int64   `json:"p50"`
	P75  int64   `json:"p75"`
	P95  int64   `json:"p95"`
	Max  int64   `json:"max"`
	Mean float64 `json:"mean"`
}

// Unlabelled is the key of rows without a label in a histogram of labels. For the task tagging, it
// is the key of tokens without a label.
const Unlabelled = "unlabelled"

// Summary counts rows by length and by label, and summarises numbers. Its memory grows with the
// number of distinct lengths and labels, not with the number of rows.
type Summary struct {
	rows    int64
	short   []int64         // number of rows by length, for lengths up to maxShort
	lengths map[int64]int64 // number of rows by length, for longer rows
	labels  map[int32]int64
	perRow  map[int]int64 // number of rows by number of labels, for multi-label
	numbers []NumberSummary
	task    string
}

// maxShort is the largest length that is counted in a slice rather than a map.
const maxShort = 1 << 12

// NewSummary returns an empty summary for rows with the specification spec.
func NewSummary(spec *Spec) *Summary {
	s := &Summary{lengths: map[int64]int64{}, labels: map[int32]int64{}, perRow: map[int]int64{}, task: spec.Task}
	for _, name := range spec.NumberNames {
		s.numbers = append(s.numbers, NumberSummary{Name: name})
	}
	return s
}

// AddRow counts row i of rows.
func (s *Summary) AddRow(rows *Rows, i int) {
	label, ok := rows.Label(i)
	if !ok {
		label = NoLabel
	}
	s.add(rows.Length(i), label, rows.Labels(i), rows.Numbers(i))
}

// add counts one row. The label may be NoLabel; labels and numbers may be nil, which means unknown.
func (s *Summary) add(length int, label int32, labels []int32, numbers []float32) {
	s.rows++
	if length > maxShort {
		s.lengths[int64(length)]++
	} else {
		if length >= len(s.short) {
			s.short = append(s.short, make([]int64, length+1-len(s.short))...)
		}
		s.short[length]++
	}
	switch s.task {
	case Regression:
	case MultiLabel, Tagging:
		s.addLabels(length, labels)
	default:
		s.labels[label]++
	}
	s.addNumbers(numbers)
}

// addBlock counts the rows of a block.
func (s *Summary) addBlock(b *Block) {
	for _, batch := range b.batches {
		for i, label := range batch.labels {
			length := 0
			for _, t := range batch.tokens {
				length += int(t.offsets[i+1] - t.offsets[i])
			}
			if len(batch.tokens) == 0 {
				length = int(batch.features.offsets[i+1] - batch.features.offsets[i])
			}
			var labels []int32
			if s.task == MultiLabel || s.task == Tagging {
				labels = batch.lists.row(i)
			}
			s.add(length, label, labels, batch.numbers.row(i, len(s.numbers)))
		}
	}
}

// rename replaces every label l except NoLabel by number(l) in the counts.
func (s *Summary) rename(number func(int32) int32) {
	labels := map[int32]int64{}
	for label, rows := range s.labels {
		if label != NoLabel {
			label = number(label)
		}
		labels[label] += rows
	}
	s.labels = labels
}

// Rows returns the number of rows counted.
func (s *Summary) Rows() int64 { return s.rows }

// Lengths returns the statistics of the lengths. They are zero if there are no rows.
func (s *Summary) Lengths() Quantiles {
	if s.rows == 0 {
		return Quantiles{}
	}
	counts := maps.Clone(s.lengths)
	for length, rows := range s.short {
		if rows > 0 {
			counts[int64(length)] = rows
		}
	}
	lengths := make([]int64, 0, len(counts))
	total := 0.0
	for length, rows := range counts {
		lengths = append(lengths, length)
		total += float64(length) * float64(rows) // exact in any order, as the sum is an integer below 2⁵³
	}
	slices.Sort(lengths)
	quantile := func(fraction float64) int64 {
		rank := int64(math.Ceil(fraction * float64(s.rows)))
		for _, length := range lengths {
			if rank -= counts[length]; rank <= 0 {
				return length
			}
		}
		return lengths[len(lengths)-1]
	}
	return Quantiles{
		Min: lengths[0], P25: quantile(0.25), P50: quantile(0.5), P75: quantile(0.75), P95: quantile(0.95),
		Max: lengths[len(lengths)-1], Mean: total / float64(s.rows),
	}
}

// Labels returns the number of rows with each label, or the number of tokens for tagging. The keys
// are results of [LabelName].
func (s *Summary) Labels(names []string) map[string]int64 {
	counts := map[string]int64{}
	for label, rows := range s.labels {
		counts[LabelName(names, label)] += rows
	}
	return counts
}

// LabelsPerRow returns a slice whose entry n is the number of rows with n labels, for the task
// multi-label. For other tasks it returns nil.
func (s *Summary) LabelsPerRow() (rows []int64) {
	for n, count := range s.perRow {
		if n >= len(rows) {
			rows = append(rows, make([]int64, n+1-len(rows))...)
		}
		rows[n] = count
	}
	return rows
}

// LabelName returns the name of a label, or its number if it has no name. It returns Unlabelled for
// NoLabel.
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
