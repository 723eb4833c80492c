// Package metrics measures models. For a classifier, it takes the label and the logits of each row.
// It reports accuracy, loss, precision and recall by class, ROC and precision-recall curves, and
// calibration. It also measures multi-label models, tagging, part segmentation, regression and
// rankings, fits temperatures and the weights of ensembles, and describes splits.
package metrics

import (
	"fmt"
	"math"
	"slices"
)

// Tally collects the rows of a classifier. It takes 24 bytes per row, and 8 more per row and class
// with 3 to 24 classes, because each class has curves.
type Tally struct {
	classes   int
	confusion map[confused]int64
	loss      float64
	bins      [calibrationBins]calibrationBin
	rows      []row
	odds      []float64 // log odds by row and class; nil if margins suffice or there are too many classes
}

// confused is a cell of the confusion matrix. Only nonzero cells are stored.
type confused struct{ label, predicted int }

// row has the data of a row for curves and length bins.
type row struct {
	margin  float64 // log odds of class 1; only for two classes
	length  int32
	class   int32
	correct bool
}

// calibrationBins is the number of confidence intervals, all of equal width.
const calibrationBins = 15

type calibrationBin struct {
	rows, correct int64
	confidence    float64
}

// NewTally returns an empty tally for the given number of classes.
func NewTally(classes int) *Tally {
	return &Tally{classes: classes, confusion: map[confused]int64{}}
}

// Add adds a row: its true class, the model's logits and the length of its sequence. The prediction
// is the class with the largest logit, the first if several tie. Add returns an error for an unknown
// class, an unexpected number of logits, and logits that are not finite.
func (t *Tally) Add(class int, logits []float32, length int) error {
	if class < 0 || class >= t.classes || len(logits) != t.classes {
		return fmt.Errorf("metrics: found class %d with %d logits, expected a class below %[3]d with %[3]d logits",
			class, len(logits), t.classes)
	}
	if slices.ContainsFunc(logits, func(v float32) bool { return v-v != 0 }) { // infinite or NaN
		return fmt.Errorf("metrics: expected finite logits, found %v", logits)
	}
	p, predicted := Softmax(logits), slices.Index(logits, slices.Max(logits))
	t.confusion[confused{class, predicted}]++
	t.loss += CrossEntropy(logits, class)
	b := &t.bins[min(int(p[predicted]*calibrationBins), calibrationBins-1)]
	b.rows++
	b.confidence += p[predicted]
	if predicted == class {
		b.correct++
	}
	r := row{length: int32(min(length, math.MaxInt32)), class: int32(class), correct: predicted == class}
	if t.classes == 2 {
		r.margin = float64(logits[1]) - float64(logits[0])
	}
	t.rows = append(t.rows, r)
	if t.classes > 2 && t.classes <= maxRanked {
		t.odds = append(t.odds, logOdds(logits)...)
	}
	return nil
}

// Softmax returns the probability of each class, computed in float64.
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

// CrossEntropy returns −log p(class). It is accurate even if the probability underflows to 0 in
// float64.
func CrossEntropy(logits []float32, class int) float64 {
	top := float64(slices.Max(logits))
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	return math.Log(sum) + top - float64(logits[class])
}

// logOdds returns log(p/(1−p)) for each class: z − log Σ exp of the other logits. It ranks rows by p,
// even if p rounds to 1. The sum is in ascending order of the logits, so a permutation of the other logits
// does not change the result.
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
