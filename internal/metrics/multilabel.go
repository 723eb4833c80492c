package metrics

import (
	"math"
	"slices"
)

// DefaultThreshold is the probability from which on a label is answered where none was chosen.
const DefaultThreshold = 0.5

// MultiLabel measures answers of any number of labels a row, each label a question of its own. It
// holds 4 bytes a row and label, and 4 for each label that holds. Rows with the logits of the row before,
// such as those of frequencies, share them.
type MultiLabel struct {
	labels  int
	logits  [][]float32 // logits of each row, by label
	holding [][]int32   // labels of each row
	loss    float64
}

// MultiLabelReport is what answers reach on rows. A number that the rows do not define is nil.
type MultiLabelReport struct {
	Rows int     `json:"rows"`
	Loss float64 `json:"loss"` // mean binary cross-entropy over rows and labels
	// MicroF1 is F1 over all pairs of a row and a label; MacroF1 is the mean F1 of the
	// labels that occur or are predicted in a row.
	MicroF1 *float64 `json:"micro_f1"`
	MacroF1 *float64 `json:"macro_f1"`
	// MeanAveragePrecision is that of the labels that have one. It depends on no threshold.
	MeanAveragePrecision *float64 `json:"mean_average_precision"`
	// ExactMatch is the fraction of the rows of which all labels are right.
	ExactMatch float64       `json:"exact_match"`
	Labels     []LabelReport `json:"labels"`
}

// LabelReport is what is reached on a label. Precision, recall and F1 are those of a [Class],
// and average precision, Σ (recall − the recall before) · precision, is that of a [Curve]: nil
// where no row has the label, or all have it.
type LabelReport struct {
	Name             string   `json:"name,omitempty"` // for whoever knows it to fill in
	Rows             int64    `json:"rows"`           // rows with the label
	Answered         int64    `json:"answered"`       // rows of which it was answered
	Threshold        float64  `json:"threshold"`      // probability from which on the label is predicted
	Precision        *float64 `json:"precision"`
	Recall           *float64 `json:"recall"`
	F1               *float64 `json:"f1"`
	AveragePrecision *float64 `json:"average_precision"`
}

// NewMultiLabel measures rows with any number of the given labels.
func NewMultiLabel(labels int) *MultiLabel { return &MultiLabel{labels: labels} }

// Add counts a row: the logits that a model gave, which are finite, and the labels that hold, in
// ascending order.
func (m *MultiLabel) Add(logits []float32, holding []int32) {
	var kept []float32
	if n := len(m.logits); n > 0 && slices.Equal(m.logits[n-1], logits) {
		kept = m.logits[n-1]
	} else {
		kept = slices.Clone(logits)
	}
	m.logits, m.holding = append(m.logits, kept), append(m.holding, holding)
	m.loss += BinaryCrossEntropy(logits, holding)
}

// Rows is how many were counted.
func (m *MultiLabel) Rows() int { return len(m.holding) }

// Loss is the mean binary cross-entropy over rows and labels.
func (m *MultiLabel) Loss() float64 { return m.loss / float64(len(m.holding)*m.labels) }

// BinaryCrossEntropy is the sum over the labels of −log of the probability of what is true of each:
// that it holds, of those listed in ascending order, or that it does not.
func BinaryCrossEntropy(logits []float32, holding []int32) (loss float64) {
	for c, logit := range logits {
		z := float64(logit)
		if _, holds := slices.BinarySearch(holding, int32(c)); holds {
			z = -z
		}
		loss += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
	}
	return loss
}

// Sigmoid is the probability that a logit stands for, 1/(1 + e⁻ᶻ), computed in float64 and rounded.
func Sigmoid(logit float32) float32 { return float32(1 / (1 + math.Exp(-float64(logit)))) }

// ranked are the rows by a label's logit, the largest first, and how many have it.
func (m *MultiLabel) ranked(label int) (rows []rankedRow, positives int) {
	rows = make([]rankedRow, len(m.holding))
	for i, holding := range m.holding {
		rows[i].odds = float64(m.logits[i][label])
		if _, rows[i].positive = slices.BinarySearch(holding, int32(label)); rows[i].positive {
			positives++
		}
	}
	byOdds(rows)
	return rows, positives
}

// Thresholds are of each label the one of largest F1 on these rows: half-way between the two
// probabilities that it parts. Of several equally good ones it is the one nearest to one half, and
// of a label that no row has one half itself.
func (m *MultiLabel) Thresholds() []float64 {
	out := make([]float64, m.labels)
	for label := range out {
		rows, positives := m.ranked(label)
		out[label] = threshold(rows, positives)
	}
	return out
}

func threshold(rows []rankedRow, positives int) float64 {
	best, bestHits, bestSum := DefaultThreshold, 0, 1 // F1 = 2·hits / (rows answered + rows of it)
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
			continue // no threshold parts them
		}
		sum, at := i+1+positives, (p+next)/2
		gain := hits*bestSum - bestHits*sum
		if gain > 0 || gain == 0 && hits > 0 && math.Abs(at-DefaultThreshold) < math.Abs(best-DefaultThreshold) {
			best, bestHits, bestSum = at, hits, sum
		}
	}
	return best
}

// Report measures the rows so far, of which there is at least one, where a label is answered from
// its threshold on.
func (m *MultiLabel) Report(thresholds []float64) *MultiLabelReport {
	r := &MultiLabelReport{Rows: len(m.holding), Loss: m.Loss()}
	wrong := make([]bool, len(m.holding))
	var hits, sum int64
	var f1s, precisions []*float64
	for label, at := range thresholds {
		k := LabelReport{Threshold: at}
		var both int64
		for i, holding := range m.holding {
			_, holds := slices.BinarySearch(holding, int32(label))
			answered := float64(Sigmoid(m.logits[i][label])) >= at
			if holds {
				k.Rows++
			}
			if answered {
				k.Answered++
			}
			if holds && answered {
				both++
			}
			wrong[i] = wrong[i] || holds != answered
		}
		k.Precision, k.Recall, k.F1 = ratio(both, k.Answered), ratio(both, k.Rows), ratio(2*both, k.Rows+k.Answered)
		if rows, positives := m.ranked(label); positives > 0 && positives < len(rows) {
			k.AveragePrecision = &areas(label, rows, positives).AveragePrecision
		}
		hits, sum = hits+both, sum+k.Rows+k.Answered
		f1s, precisions = append(f1s, k.F1), append(precisions, k.AveragePrecision)
		r.Labels = append(r.Labels, k)
	}
	r.MicroF1, r.MacroF1, r.MeanAveragePrecision = ratio(2*hits, sum), meanDefined(f1s), meanDefined(precisions)
	right := 0
	for _, w := range wrong {
		if !w {
			right++
		}
	}
	r.ExactMatch = float64(right) / float64(len(wrong))
	return r
}

// Curve says what thresholds on a label's probability do; nil where no row has it, or all do.
func (m *MultiLabel) Curve(label int) *Curve {
	rows, positives := m.ranked(label)
	if positives == 0 || positives == len(rows) {
		return nil
	}
	return newCurve(label, rows, positives)
}

// meanDefined is the mean of the numbers that are there; nil if none is.
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
