package seq

import "math"

// A NumberSummary describes one number of the rows that have it, in its own unit.
type NumberSummary struct {
	Name      string  `json:"name"`
	Rows      int64   `json:"rows"` // that have it
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // sqrt(Σ(y − mean)² / rows)

	squares float64 // Σ(y − mean)²
}

// add counts a row. Mean and squares are updated row by row, in float64, which loses no digits
// where the mean is far from 0 (Welford, Technometrics 4, 1962).
func (s *NumberSummary) add(y float64) {
	if s.Rows == 0 {
		s.Min, s.Max = y, y
	}
	s.Min, s.Max = min(s.Min, y), max(s.Max, y)
	s.Rows++
	before := y - s.Mean
	s.Mean += before / float64(s.Rows)
	s.squares += float64(before * (y - s.Mean))
	s.Deviation = math.Sqrt(s.squares / float64(s.Rows))
}

// addNumbers counts those of a row, which may be unknown.
func (s *Summary) addNumbers(numbers []float32) {
	for i, y := range numbers {
		s.numbers[i].add(float64(y))
	}
}

// Numbers describes each number of a regression, in the order of their names; nil for other tasks.
func (s *Summary) Numbers() []NumberSummary { return s.numbers }
