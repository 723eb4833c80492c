package metrics

import (
	"math"
	"slices"
)

// DefaultThreshold is the probability at or above which a label is predicted if no threshold was
// fitted.
const DefaultThreshold = 0.5

// MultiLabel measures multi-label predictions, one binary classification per label. It takes 4
// bytes per row and label, and 4 bytes per true label. Consecutive rows with equal logits, such as
// the logits of a label-frequency baseline, share memory.
type MultiLabel struct {
	labels     int
	logits     [][]float32 // logits of each row, by label
	trueLabels [][]int32   // true labels of each row
	loss       float64
}

// MultiLabelReport has the scores of multi-label predictions. An undefined score is nil.
type MultiLabelReport struct {
	Rows int     `json:"rows"`
	Loss float64 `json:"loss"` // mean binary cross-entropy over rows and labels
	// MicroF1 is F1 over all pairs of a row and a label. MacroF1 is the mean F1 of the labels that
	// occur or are predicted in at least one row.
	MicroF1 *float64 `json:"micro_f1"`
	MacroF1 *float64 `json:"macro_f1"`
	// MeanAveragePrecision is the mean over the labels with a defined average precision. It does
	// not depend on thresholds.
	MeanAveragePrecision *float64 `json:"mean_average_precision"`
	// ExactMatch is the fraction of rows for which exactly the true labels are predicted.
	ExactMatch float64       `json:"exact_match"`
	Labels     []LabelReport `json:"labels"`
}

// LabelReport has the scores of a label. Precision, recall and F1 are defined as in [Class], and
// average precision, Σ (recall − previous recall) · precision, as in [Curve]. Average precision is
// nil if no row or every row has the label.
type LabelReport struct {
	Name             string   `json:"name,omitempty"` // set by callers that know the label names
	Rows             int64    `json:"rows"`           // rows with the label
	Predicted        int64    `json:"predicted"`      // rows for which the label was predicted
	Threshold        float64  `json:"threshold"`      // probability at or above which the label is predicted
	Precision        *float64 `json:"precision"`
	Recall           *float64 `json:"recall"`
	F1               *float64 `json:"f1"`
	AveragePrecision *float64 `json:"average_precision"`
}

// NewMultiLabel returns an empty MultiLabel for the given number of labels.
func NewMultiLabel(labels int) *MultiLabel { return &MultiLabel{labels: labels} }

// Add adds a row: the model's logits, which must be finite, and the true labels in ascending order.
func (m *MultiLabel) Add(logits []float32, trueLabels []int32) {
	var stored []float32
	if n := len(m.logits); n > 0 && slices.Equal(m.logits[n-1], logits) {
		stored = m.logits[n-1]
	} else {
		stored = slices.Clone(logits)
	}
	m.logits, m.trueLabels = append(m.logits, stored), append(m.trueLabels, trueLabels)
	m.loss += BinaryCrossEntropy(logits, trueLabels)
}

// Rows returns the number of added rows.
func (m *MultiLabel) Rows() int { return len(m.trueLabels) }

// Loss returns the mean binary cross-entropy over rows and labels.
func (m *MultiLabel) Loss() float64 { return m.loss / float64(len(m.trueLabels)*m.labels) }

// BinaryCrossEntropy returns the sum over the labels of −log p, where p is the predicted
// probability of the label's true state. trueLabels has the true labels in ascending order.
func BinaryCrossEntropy(logits []float32, trueLabels []int32) (loss float64) {
	for c, logit := range logits {
		z := float64(logit)
		if _, hasLabel := slices.BinarySearch(trueLabels, int32(c)); hasLabel {
			z = -z
		}
		loss += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
	}
	return loss
}

// Sigmoid returns the probability of a logit, 1/(1 + e⁻ᶻ), computed in float64 and rounded to
// float32.
func Sigmoid(logit float32) float32 { return float32(1 / (1 + math.Exp(-float64(logit)))) }

// ranked returns the rows in descending order of a label's logit, and the number of rows with the
// label.
func (m *MultiLabel) ranked(label int) (rows []rankedRow, positives int) {
	rows = make([]rankedRow, len(m.trueLabels))
	for i, trueLabels := range m.trueLabels {
		rows[i].odds = float64(m.logits[i][label])
		if _, rows[i].positive = slices.BinarySearch(trueLabels, int32(label)); rows[i].positive {
			positives++
		}
	}
	sortByOdds(rows)
	return rows, positives
}

// Thresholds returns for each label the threshold with the largest F1 on these rows, halfway
// between two adjacent probabilities, or between 0 and the smallest. If several thresholds tie, it
// returns the threshold nearest to ½. For a label without rows it returns ½.
func (m *MultiLabel) Thresholds() []float64 {
	out := make([]float64, m.labels)
	for label := range out {
		rows, positives := m.ranked(label)
		out[label] = bestThreshold(rows, positives)
	}
	return out
}

// bestThreshold returns the threshold with the largest F1 for one label. rows is in descending
// order of odds, and positives is the number of rows with the label.
func bestThreshold(rows []rankedRow, positives int) float64 {
	best, bestHits, bestSum := DefaultThreshold, 0, 1 // F1 = 2·hits / (rows predicted + rows with the label)
	hits := 0
	for i, r := range rows {
		if r.positive {
			hits++
		}
		p, next := float64(Sigmoid(float32(r.odds))), 0.0
		if i+1 < len(rows) {
			next = float64(Sigmoid(float32(rows[i+1].odds)))
		}
		if p == next {
			continue // no threshold separates equal probabilities
		}
		sum, at := i+1+positives, (p+next)/2
		gain := hits*bestSum - bestHits*sum
		if gain > 0 || gain == 0 && hits > 0 && math.Abs(at-DefaultThreshold) < math.Abs(best-DefaultThreshold) {
			best, bestHits, bestSum = at, hits, sum
		}
	}
	return best
}

// Report returns the scores of the added rows if each label is predicted at or above its entry of
// thresholds. At least one row must have been added.
func (m *MultiLabel) Report(thresholds []float64) *MultiLabelReport {
	r := &MultiLabelReport{Rows: len(m.trueLabels), Loss: m.Loss()}
	wrong := make([]bool, len(m.trueLabels))
	var hits, sum int64
	var f1s, precisions []*float64
	for label, threshold := range thresholds {
		k := LabelReport{Threshold: threshold}
		var labelHits int64
		for i, trueLabels := range m.trueLabels {
			_, hasLabel := slices.BinarySearch(trueLabels, int32(label))
			predicted := float64(Sigmoid(m.logits[i][label])) >= threshold
			if hasLabel {
				k.Rows++
			}
			if predicted {
				k.Predicted++
			}
			if hasLabel && predicted {
				labelHits++
			}
			wrong[i] = wrong[i] || hasLabel != predicted
		}
		k.Precision, k.Recall, k.F1 = ratio(labelHits, k.Predicted), ratio(labelHits, k.Rows), ratio(2*labelHits,
			k.Rows+k.Predicted)
		if rows, positives := m.ranked(label); positives > 0 && positives < len(rows) {
			k.AveragePrecision = &curveAreas(label, rows, positives).AveragePrecision
		}
		hits, sum = hits+labelHits, sum+k.Rows+k.Predicted
		f1s, precisions = append(f1s, k.F1), append(precisions, k.AveragePrecision)
		r.Labels = append(r.Labels, k)
	}
	r.MicroF1, r.MacroF1, r.MeanAveragePrecision = ratio(2*hits, sum), meanDefined(f1s), meanDefined(precisions)
	correct := 0
	for _, w := range wrong {
		if !w {
			correct++
		}
	}
	r.ExactMatch = float64(correct) / float64(len(wrong))
	return r
}

// Curve returns the curves of a label, or nil if no row or every row has the label.
func (m *MultiLabel) Curve(label int) *Curve {
	rows, positives := m.ranked(label)
	if positives == 0 || positives == len(rows) {
		return nil
	}
	return newCurve(label, rows, positives)
}

// meanDefined returns the mean of the numbers that are not nil, or nil if all are nil.
func meanDefined(numbers []*float64) *float64 {
	sum, n := 0.0, 0
	for _, v := range numbers {
		if v != nil {
			sum += *v
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
