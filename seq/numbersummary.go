package seq

import "math"

// NumberSummary has statistics of one number over all rows with a known value, in the number's
// unit.
type NumberSummary struct {
	Name      string  `json:"name"`
	Rows      int64   `json:"rows"` // number of rows with a known value
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // sqrt(Σ(y − mean)² / rows)

	squares float64 // Σ(y − mean)²
}

// add includes a value in the summary. It updates mean and squares in float64 with Welford's method
// (Technometrics 4, 1962), which does not lose precision if the mean is far from 0.
func (s *NumberSummary) add(y float64) {
	if s.Rows == 0 {
		s.Min, s.Max = y, y
	}
	s.Min, s.Max = min(s.Min, y), max(s.Max, y)
	s.Rows++
	delta := y - s.Mean
	s.Mean += delta / float64(s.Rows)
	s.squares += float64(delta * (y - s.Mean))
	s.Deviation = math.Sqrt(s.squares / float64(s.Rows))
}

// addNumbers includes the numbers of a row in the summary. It ignores unknown numbers.
func (s *Summary) addNumbers(numbers []float32) {
	for i, y := range numbers {
		s.numbers[i].add(float64(y))
	}
}

// Numbers returns the summary of each number of a regression, in the order of the names. It returns
// nil for other tasks.
func (s *Summary) Numbers() []NumberSummary { return s.numbers }
