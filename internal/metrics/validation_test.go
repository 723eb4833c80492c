package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestValidationMatchesTally checks that Validation and Tally compute the same accuracy and macro F1 and,
// with two classes, the same AUC.
func TestValidationMatchesTally(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, classes := range []int{1, 2, 5} {
		v, y := NewValidation(classes, false), NewTally(classes)
		for range 200 {
			logits := make([]float32, classes)
			for i := range logits {
				logits[i] = float32(random.IntN(4)) // with ties
			}
			class := random.IntN(max(1, classes-1)) // the last class never occurs
			if classes == 2 {
				class = random.IntN(2)
			}
			v.Add(class, logits)
			must.Succeed(t, y.Add(class, logits, 1))
		}
		r := y.Report()
		auc, ok := v.AUC()
		if !near(v.Accuracy(), r.Accuracy) || !near(v.MacroF1(), r.MacroF1) || ok != (r.AUC != nil) ||
			ok && !near(auc, *r.AUC) {
			t.Errorf("%d classes: got accuracy %v, macro F1 %v, AUC %v %v; the tally has %+v", classes,
				v.Accuracy(), v.MacroF1(), auc, ok, r)
		}
	}
}

// TestAUCOneVsRest compares AUC with a count over all pairs of rows, also for logits whose probabilities
// round to 1. It also checks that AUC is undefined without rows and for rows of a single class.
func TestAUCOneVsRest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const classes, rows = 4, 60
	for _, size := range []float32{1, 30} {
		v := NewValidation(classes, true)
		var labels []int
		var odds [rows][classes]float64
		for i := range rows {
			logits := make([]float32, classes)
			for c := range logits {
				logits[c] = size * float32(random.IntN(5))
			}
			label := random.IntN(classes - 1) // the last class never occurs
			labels = append(labels, label)
			v.Add(label, logits)
			for c := range logits {
				var rest float64
				for o, z := range logits {
					if o != c {
						rest += math.Exp(float64(z) - float64(logits[c]))
					}
				}
				odds[i][c] = -math.Log(rest)
			}
		}
		var want float64
		for c := range classes - 1 {
			won, pairs := 0.0, 0.0
			for i := range rows {
				for j := range rows {
					if labels[i] != c || labels[j] == c {
						continue
					}
					pairs++
					switch d := odds[i][c] - odds[j][c]; {
					case math.Abs(d) < 1e-9:
						won += 0.5
					case d > 0:
						won++
					}
				}
			}
			want += won / pairs / (classes - 1)
		}
		if got, ok := v.AUC(); !ok || math.Abs(got-want) > 0.003 { // rounding separates some ties
			t.Errorf("logits of size %g: got %v, %v, want %v", size, got, ok, want)
		}
	}
	v := NewValidation(3, true)
	v.Add(1, []float32{1, 2, 3})
	if got, ok := v.AUC(); ok {
		t.Errorf("rows of a single class: got AUC %v, want undefined", got)
	}
	v = NewValidation(1, true)
	v.Add(0, []float32{1})
	if got, ok := v.AUC(); ok {
		t.Errorf("a single class: got AUC %v, want undefined", got)
	}
	if got, ok := NewValidation(2, true).AUC(); ok {
		t.Errorf("no rows: got AUC %v, want undefined", got)
	}
}
