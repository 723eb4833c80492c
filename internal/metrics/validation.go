package metrics

import "slices"

// Validation sums what models are compared by while one is trained. It takes no memory
// for pairs of classes, as a [Tally] does, because there may be many, and for the area
// under the curve 8 bytes a row and class, of more than two classes only where it is asked
// for.
type Validation struct {
	hits, labels, answers []int64 // by class

	// For the area under the curve: the log odds of each class, of two classes those of
	// the second alone. nil where it is not wanted.
	odds    [][]float64
	classes []int32 // classes of the rows
}

// NewValidation begins a validation of that many classes. The area under the curve is
// known of two classes in any case.
func NewValidation(classes int, auc bool) *Validation {
	v := &Validation{hits: make([]int64, classes), labels: make([]int64, classes), answers: make([]int64, classes)}
	switch {
	case classes == 2:
		v.odds = make([][]float64, 1)
	case auc && classes > 2:
		v.odds = make([][]float64, classes)
	}
	return v
}

// Add counts a row: its class, and the logits that a model gave, which are finite. The
// answer is the first of the largest.
func (v *Validation) Add(class int, logits []float32) {
	answer := slices.Index(logits, slices.Max(logits))
	v.labels[class]++
	v.answers[answer]++
	if answer == class {
		v.hits[class]++
	}
	if v.odds == nil {
		return
	}
	v.classes = append(v.classes, int32(class))
	if len(v.odds) == 1 {
		v.odds[0] = append(v.odds[0], float64(logits[1])-float64(logits[0]))
		return
	}
	for c, odds := range logOdds(logits) {
		v.odds[c] = append(v.odds[c], odds)
	}
}

// Accuracy is the fraction of rows that are answered right.
func (v *Validation) Accuracy() float64 {
	var hits, rows int64
	for c, n := range v.labels {
		hits += v.hits[c]
		rows += n
	}
	return float64(hits) / float64(rows)
}

// MacroF1 is the mean F1 of the classes that occur, as label or as answer.
func (v *Validation) MacroF1() float64 {
	sum, occurring := 0.0, 0
	for c, hits := range v.hits {
		if n := v.labels[c] + v.answers[c]; n > 0 {
			occurring++
			sum += 2 * float64(hits) / float64(n)
		}
	}
	return sum / float64(occurring)
}

// AUC is the area under the curve that receiver operating characteristics have: of two
// classes the probability that a row of the second has larger log odds of it than one of
// the first, of more the mean of each class against all others. Classes without rows, or
// with all of them, have none; false means that no class has one.
func (v *Validation) AUC() (float64, bool) {
	sum, defined := 0.0, 0
	for c, odds := range v.odds {
		class := int32(c)
		if len(v.odds) == 1 {
			class = 1
		}
		rows, positives := make([]rankedRow, len(odds)), 0
		for i, z := range odds {
			rows[i] = rankedRow{z, v.classes[i] == class}
			if rows[i].positive {
				positives++
			}
		}
		if positives > 0 && positives < len(rows) {
			byOdds(rows)
			sum += areas(c, rows, positives).AUC
			defined++
		}
	}
	return sum / float64(max(1, defined)), defined > 0
}
