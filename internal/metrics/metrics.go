// Package metrics measures a classifier: it takes each row's label and logits
// and reports accuracy, loss, precision and recall by class, curves over all
// thresholds and calibration.
package metrics

import (
	"fmt"
	"math"
	"slices"
)

// Tally collects rows. It holds 24 bytes a row for the numbers that need an order, and of
// more than two classes, where curves are of each, 8 more for each class.
type Tally struct {
	classes   int
	confusion map[confused]int64
	loss      float64
	bins      [calibrationBins]calibrationBin
	rows      []row
	odds      []float64 // by row and class; none where margins say it all, or of many classes
}

// confused is a cell of the confusion matrix, whose memory is for cells with rows alone.
type confused struct{ label, answer int }

// row is what an ordering needs of a row.
type row struct {
	margin  float64 // log odds of class 1, of two classes
	length  int32
	class   int32
	correct bool
}

// calibrationBins is the number of equal intervals of confidence.
const calibrationBins = 15

type calibrationBin struct {
	rows, correct int64
	confidence    float64
}

// NewTally returns an empty tally for that many classes.
func NewTally(classes int) *Tally {
	return &Tally{classes: classes, confusion: map[confused]int64{}}
}

// Add counts a row: its true class, the logits that a model gave and the
// length of its sequence. The answer is the first of the largest logits.
func (t *Tally) Add(class int, logits []float32, length int) error {
	if class < 0 || class >= t.classes || len(logits) != t.classes {
		return fmt.Errorf("metrics: class %d with %d logits in a tally of %d classes", class, len(logits), t.classes)
	}
	if slices.ContainsFunc(logits, func(v float32) bool { return v-v != 0 }) { // infinite, or no number
		return fmt.Errorf("metrics: logits %v, expected finite numbers", logits)
	}
	p, answer := Softmax(logits), slices.Index(logits, slices.Max(logits))
	t.confusion[confused{class, answer}]++
	t.loss += CrossEntropy(logits, class)
	b := &t.bins[min(int(p[answer]*calibrationBins), calibrationBins-1)]
	b.rows++
	b.confidence += p[answer]
	if answer == class {
		b.correct++
	}
	r := row{length: int32(min(length, math.MaxInt32)), class: int32(class), correct: answer == class}
	if t.classes == 2 {
		r.margin = float64(logits[1]) - float64(logits[0])
	}
	t.rows = append(t.rows, r)
	if t.classes > 2 && t.classes <= maxRanked {
		t.odds = append(t.odds, logOdds(logits)...)
	}
	return nil
}

// Softmax is the probability of each class, in float64.
func Softmax(logits []float32) []float64 {
	top := float64(slices.Max(logits))
	p, sum := make([]float64, len(logits)), 0.0
	for i, v := range logits {
		p[i] = math.Exp(float64(v) - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// CrossEntropy is −log of the probability of class, exact also where that
// probability is 0 in float64.
func CrossEntropy(logits []float32, class int) float64 {
	top := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return math.Log(sum) + top - float64(logits[class])
}

// logOdds is log(p/(1−p)) of each class's probability: z − log Σ exp of the other logits.
// It orders rows as p does, also where p is 1 in float64. The sums are in the order of the
// logits, so that rows that differ in the order of the other classes are equal.
func logOdds(logits []float32) []float64 {
	sorted := slices.Sorted(slices.Values(logits))
	out := make([]float64, len(logits))
	for class, z := range logits {
		at, _ := slices.BinarySearch(sorted, z)
		top := sorted[len(sorted)-1]
		if at == len(sorted)-1 {
			top = sorted[at-1]
		}
		sum := 0.0
		for i, v := range sorted {
			if i != at {
				sum += math.Exp(float64(v) - float64(top))
			}
		}
		out[class] = float64(z) - float64(top) - math.Log(sum)
	}
	return out
}
