package metrics

import "slices"

// Validation computes the validation metrics of a model during training. Unlike a [Tally], it
// stores no confusion matrix, because there may be many classes. AUC takes 12 bytes per row with two
// classes. With more classes it takes 4 bytes per row and 8 bytes per row and class, and is computed
// on request only.
type Validation struct {
	hits, labels, predictions []int64 // by class

	// odds has the log odds of each class for AUC, or of the second class only with two classes. It
	// is nil if AUC is not computed.
	odds    [][]float64
	classes []int32 // classes of the rows
}

// NewValidation returns an empty Validation. With two classes, AUC is always computed; with more,
// only if auc is set.
func NewValidation(classes int, auc bool) *Validation {
	v := &Validation{hits: make([]int64, classes), labels: make([]int64, classes), predictions: make([]int64, classes)}
	switch {
	case classes == 2:
		v.odds = make([][]float64, 1)
	case auc && classes > 2:
		v.odds = make([][]float64, classes)
	}
	return v
}

// Add adds a row: its class and the model's logits, which must be finite. The prediction is the
// class with the largest logit, the first if several tie.
func (v *Validation) Add(class int, logits []float32) {
	prediction := slices.Index(logits, slices.Max(logits))
	v.labels[class]++
	v.predictions[prediction]++
	if prediction == class {
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

// Accuracy returns the fraction of rows that are classified correctly.
func (v *Validation) Accuracy() float64 {
	var hits, rows int64
	for c, n := range v.labels {
		hits += v.hits[c]
		rows += n
	}
	return float64(hits) / float64(rows)
}

// MacroF1 returns the mean F1 of the classes that occur, as a label or as a prediction.
func (v *Validation) MacroF1() float64 {
	sum, occurring := 0.0, 0
	for c, hits := range v.hits {
		if n := v.labels[c] + v.predictions[c]; n > 0 {
			occurring++
			sum += 2 * float64(hits) / float64(n)
		}
	}
	return sum / float64(occurring)
}

// AUC returns the area under the ROC curve. With two classes, AUC is the probability that a row of
// the second class has larger log odds than a row of the first. With more classes, AUC is the mean
// of the one-vs-rest areas. Classes that have no rows, or all rows, are left out. AUC returns false
// if no class has a defined area.
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
			sortByOdds(rows)
			sum += curveAreas(c, rows, positives).AUC
			defined++
		}
	}
	return sum / float64(max(1, defined)), defined > 0
}
