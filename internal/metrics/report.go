package metrics

import "sort"

// Report is what a tally adds up to. A number that the rows do not define is
// nil: the recall of a class without rows, the area under the curve for other
// than two classes or where one of them is absent.
type Report struct {
	Rows     int     `json:"rows"`
	Accuracy float64 `json:"accuracy"`
	Loss     float64 `json:"loss"` // mean cross-entropy
	// MacroF1 is the mean F1 of the classes that occur, as label or as answer.
	MacroF1 float64    `json:"macro_f1"`
	Recall  []*float64 `json:"recall"` // by class
	AUC     *float64   `json:"auc"`
	// CalibrationError is the mean gap between confidence and accuracy, over 15
	// equal intervals of confidence weighted by their rows.
	CalibrationError float64     `json:"calibration_error"`
	Confusion        [][]int64   `json:"confusion"` // [label][answer]
	ByLength         []LengthBin `json:"by_length"`
}

// LengthBin is the accuracy of the rows with lengths From to To, inclusive.
type LengthBin struct {
	From     int     `json:"from"`
	To       int     `json:"to"`
	Rows     int     `json:"rows"`
	Accuracy float64 `json:"accuracy"`
}

// lengthBins is the number of bins by length; rows of one length share one.
const lengthBins = 5

// Report adds up the rows so far; nil if there are none.
func (t *Tally) Report() *Report {
	n := len(t.rows)
	if n == 0 {
		return nil
	}
	r := &Report{Rows: n, Loss: t.loss / float64(n), Confusion: t.confusion, ByLength: t.byLength(), AUC: t.auc()}
	var correct int64
	occurring := 0
	for c := range t.classes {
		hits, labels, answers := t.confusion[c][c], int64(0), int64(0)
		for o := range t.classes {
			labels += t.confusion[c][o]
			answers += t.confusion[o][c]
		}
		correct += hits
		var recall *float64
		if labels > 0 {
			v := float64(hits) / float64(labels)
			recall = &v
		}
		r.Recall = append(r.Recall, recall)
		if labels+answers > 0 {
			occurring++
			r.MacroF1 += 2 * float64(hits) / float64(labels+answers)
		}
	}
	r.MacroF1 /= float64(occurring)
	r.Accuracy = float64(correct) / float64(n)
	for _, b := range t.bins {
		gap := b.confidence - float64(b.correct)
		r.CalibrationError += max(gap, -gap) / float64(n)
	}
	return r
}

// auc is the probability that a row of class 1 has a larger margin than one of
// class 0, where equal margins count half: the rank sum of class 1.
func (t *Tally) auc() *float64 {
	if t.classes != 2 {
		return nil
	}
	rows := append([]row(nil), t.rows...)
	sort.Slice(rows, func(i, j int) bool { return rows[i].margin < rows[j].margin })
	var positives, ranks float64
	for i := 0; i < len(rows); {
		j, here := i, 0.0
		for ; j < len(rows) && rows[j].margin == rows[i].margin; j++ {
			here += float64(rows[j].class)
		}
		positives += here
		ranks += here * float64(i+j+1) / 2 // equal margins share the mean of their ranks, from 1
		i = j
	}
	negatives := float64(len(rows)) - positives
	if positives == 0 || negatives == 0 {
		return nil
	}
	v := (ranks - positives*(positives+1)/2) / (positives * negatives)
	return &v
}

// byLength cuts the rows into bins of about equal size by their length.
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
