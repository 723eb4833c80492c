package metrics

import (
	"cmp"
	"slices"
	"sort"
)

// Report has the scores of the rows of a Tally. An undefined score is nil, such as the recall of a class
// without rows. AUC is nil unless the tally has two classes and both have rows.
type Report struct {
	Rows     int     `json:"rows"`
	Accuracy float64 `json:"accuracy"`
	Loss     float64 `json:"loss"` // mean cross-entropy
	// MacroF1 is the mean F1 of the classes that occur, as a label or as a prediction.
	MacroF1 float64    `json:"macro_f1"`
	Recall  []*float64 `json:"recall"` // by class
	// MeanClassAccuracy is the mean recall of the classes that have rows.
	MeanClassAccuracy float64  `json:"mean_class_accuracy"`
	AUC               *float64 `json:"auc"`
	// MacroAUC is the mean of the defined one-vs-rest AUCs with 3 to 24 classes, otherwise nil.
	MacroAUC *float64 `json:"macro_auc,omitempty"`
	Classes  []Class  `json:"classes"`
	// CalibrationError is the expected calibration error: the mean gap between confidence and
	// accuracy over 15 equal intervals of confidence, weighted by their rows (Guo et al., "On
	// Calibration of Modern Neural Networks", 2017).
	CalibrationError float64          `json:"calibration_error"`
	Calibration      []CalibrationBin `json:"calibration"` // intervals with rows
	// Confusion is [label][prediction], for up to MaxConfusion classes. With more classes,
	// Counts has the nonzero cells instead, sorted by label and prediction.
	Confusion [][]int64   `json:"confusion,omitempty"`
	Counts    []Confused  `json:"confusion_counts,omitempty"`
	ByLength  []LengthBin `json:"by_length"`
}

// MaxConfusion is the maximum number of classes for which a report has a dense confusion matrix.
// With 16,000 classes the matrix would take gigabytes.
const MaxConfusion = 1024

// Confused has the number of rows with a label and a prediction.
type Confused struct {
	Label     int   `json:"label"`
	Predicted int   `json:"predicted"`
	Rows      int64 `json:"rows"`
}

// confusions returns the nonzero cells of the confusion matrix and the dense matrix, which is nil
// with more than MaxConfusion classes.
func (t *Tally) confusions() (cells []Confused, dense [][]int64) {
	for c, rows := range t.confusion {
		cells = append(cells, Confused{c.label, c.predicted, rows})
	}
	slices.SortFunc(cells, func(a, b Confused) int { return cmp.Or(a.Label-b.Label, a.Predicted-b.Predicted) })
	if t.classes > MaxConfusion {
		return cells, nil
	}
	dense = make([][]int64, t.classes)
	for i := range dense {
		dense[i] = make([]int64, t.classes)
	}
	for _, c := range cells {
		dense[c.Label][c.Predicted] = c.Rows
	}
	return cells, dense
}

// CalibrationBin describes the rows whose predicted class has a probability in [From, To). The last bin
// includes the probability 1.
type CalibrationBin struct {
	From       float64 `json:"from"`
	To         float64 `json:"to"`
	Rows       int64   `json:"rows"`
	Confidence float64 `json:"confidence"` // mean probability of the predicted class
	Accuracy   float64 `json:"accuracy"`
}

// LengthBin has the accuracy of the rows with lengths From to To, inclusive.
type LengthBin struct {
	From     int     `json:"from"`
	To       int     `json:"to"`
	Rows     int     `json:"rows"`
	Accuracy float64 `json:"accuracy"`
}

// lengthBins is the maximum number of length bins. All rows of equal length are in the same bin.
const lengthBins = 5

// Report returns the scores of the added rows, or nil without rows.
func (t *Tally) Report() *Report {
	n := len(t.rows)
	if n == 0 {
		return nil
	}
	r := &Report{Rows: n, Loss: t.loss / float64(n), ByLength: t.byLength(), Classes: t.perClass()}
	cells, dense := t.confusions()
	if r.Confusion = dense; dense == nil {
		r.Counts = cells
	}
	var correct int64
	occurring := 0
	for c := range r.Classes {
		k := &r.Classes[c]
		correct += t.confusion[confused{c, c}]
		r.Recall = append(r.Recall, k.Recall)
		if k.F1 != nil {
			occurring++
			r.MacroF1 += *k.F1
		}
	}
	r.MacroF1 /= float64(occurring)
	r.MeanClassAccuracy = *meanDefined(r.Recall) // not nil, because every row has a class
	r.Accuracy = float64(correct) / float64(n)
	if t.classes == 2 {
		r.AUC = r.Classes[1].AUC
	} else {
		r.MacroAUC = macroAUC(r.Classes)
	}
	for i, b := range t.bins {
		gap := b.confidence - float64(b.correct)
		r.CalibrationError += max(gap, -gap) / float64(n)
		if b.rows > 0 {
			r.Calibration = append(r.Calibration, CalibrationBin{float64(i) / calibrationBins,
				float64(i+1) / calibrationBins, b.rows,
				b.confidence / float64(b.rows), float64(b.correct) / float64(b.rows)})
		}
	}
	return r
}

// byLength returns the accuracy by length, in bins of about equally many rows.
func (t *Tally) byLength() []LengthBin {
	rows := append([]row(nil), t.rows...)
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].length < rows[j].length })
	var bins []LengthBin
	for at := 0; at < len(rows); {
		end := max(at+1, (len(bins)+1)*len(rows)/lengthBins)
		for end < len(rows) && rows[end].length == rows[end-1].length {
			end++
		}
		b := LengthBin{From: int(rows[at].length), To: int(rows[end-1].length), Rows: end - at}
		for _, r := range rows[at:end] {
			if r.correct {
				b.Accuracy++
			}
		}
		b.Accuracy /= float64(b.Rows)
		bins = append(bins, b)
		at = end
	}
	return bins
}
