package metrics

import (
	"math"
	"reflect"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

func tally(t *testing.T, classes int, rows []struct {
	class, length int
	logits        []float32
}) *Report {
	t.Helper()
	y := NewTally(classes)
	for _, r := range rows {
		must.Succeed(t, y.Add(r.class, r.logits, r.length))
	}
	return y.Report()
}

// TestTwoClasses compares the scores with values computed by hand. A difference of ln 3 between two
// logits means odds of 3 to 1.
func TestTwoClasses(t *testing.T) {
	ln3 := float32(math.Log(3))
	r := tally(t, 2, []struct {
		class, length int
		logits        []float32
	}{
		{0, 10, []float32{ln3, 0}}, // ¾ for class 0: correct
		{0, 20, []float32{0, ln3}}, // ¾ for class 1: wrong
		{1, 30, []float32{0, ln3}}, // ¾ for class 1: correct
		{1, 40, []float32{0, 0}},   // a tie, resolved to class 0: wrong
	})
	if r.Rows != 4 || r.Accuracy != 0.5 {
		t.Errorf("got %d rows and accuracy %v, want 4 and 0.5", r.Rows, r.Accuracy)
	}
	if want := (-2*math.Log(.75) - math.Log(.25) - math.Log(.5)) / 4; !near(r.Loss, want) {
		t.Errorf("got loss %v, want %v", r.Loss, want)
	}
	if want := [][]int64{{1, 1}, {1, 1}}; !reflect.DeepEqual(r.Confusion, want) {
		t.Errorf("got confusion %v, want %v", r.Confusion, want)
	}
	if !near(*r.Recall[0], .5) || !near(*r.Recall[1], .5) || !near(r.MacroF1, .5) {
		t.Errorf("got recalls %v and %v, macro F1 %v, want 0.5 for all", *r.Recall[0], *r.Recall[1], r.MacroF1)
	}
	// With a = ln 3, pairs of a row of class 1 and a row of class 0 with the margins (a, −a) or (0, −a)
	// count 1, (a, a) counts ½, and (0, a) counts 0.
	if !near(*r.AUC, 2.5/4) {
		t.Errorf("got AUC %v, want %v", *r.AUC, 2.5/4)
	}
	// At confidence ¾, 2 of 3 rows are correct: gap 3·¾−2 = ¼. At ½, 0 of 1: gap ½.
	if want := (.25 + .5) / 4; !near(r.CalibrationError, want) {
		t.Errorf("got calibration error %v, want %v", r.CalibrationError, want)
	}
}

// TestThreeClasses checks the scores of classes with and without rows against values computed by
// hand.
func TestThreeClasses(t *testing.T) {
	r := tally(t, 4, []struct {
		class, length int
		logits        []float32
	}{
		{0, 1, []float32{9, 0, 0, 0}},
		{0, 1, []float32{9, 0, 0, 0}},
		{0, 1, []float32{0, 9, 0, 0}},
		{1, 1, []float32{0, 9, 0, 0}},
		{2, 1, []float32{9, 0, 0, 0}},
	})
	// F1 of class 0 is 2·2/(3+3), of class 1 2·1/(1+2), of class 2 0; class 3 never occurs.
	if want := (4./6 + 2./3 + 0) / 3; !near(r.MacroF1, want) {
		t.Errorf("got macro F1 %v, want %v", r.MacroF1, want)
	}
	if want := (2./3 + 1 + 0) / 3; !near(r.MeanClassAccuracy, want) {
		t.Errorf("got mean class accuracy %v, want %v", r.MeanClassAccuracy, want)
	}
	if r.Recall[3] != nil || !near(*r.Recall[0], 2./3) || *r.Recall[1] != 1 || *r.Recall[2] != 0 {
		t.Errorf("got recalls %v, want 2/3, 1, 0 and nil", r.Recall)
	}
	if r.AUC != nil {
		t.Errorf("got AUC %v for four classes, want nil", *r.AUC)
	}
	if !reflect.DeepEqual(r.ByLength, []LengthBin{{1, 1, 5, .6}}) {
		t.Errorf("got length bins %v, want a single bin of 5 rows", r.ByLength)
	}
}

// TestByLength checks that length bins have about equally many rows, and that rows of equal length
// are in the same bin.
func TestByLength(t *testing.T) {
	y := NewTally(2)
	for i := range 10 {
		// Lengths 10, 10, 10, 13, …, 19; the odd rows are wrong.
		must.Succeed(t, y.Add(i%2, []float32{1, 0}, 10+max(0, i)*min(1, i/3)))
	}
	want := []LengthBin{{10, 10, 3, 2. / 3}, {13, 13, 1, 0}, {14, 15, 2, .5}, {16, 17, 2, .5}, {18, 19, 2, .5}}
	if got := y.Report().ByLength; !reflect.DeepEqual(got, want) {
		t.Errorf("got length bins %v, want %v", got, want)
	}
}

// TestInvalidRows checks that Add rejects invalid classes and logits, that a report without rows is
// nil, and that the loss is finite if the probability of the class underflows.
func TestInvalidRows(t *testing.T) {
	if r := NewTally(2).Report(); r != nil {
		t.Errorf("got report %v without rows, want nil", r)
	}
	y := NewTally(2)
	for _, bad := range []error{
		y.Add(2, []float32{0, 0}, 1), y.Add(-1, []float32{0, 0}, 1), y.Add(0, []float32{0}, 1),
		y.Add(0, []float32{float32(math.NaN()), 0}, 1), y.Add(0, []float32{float32(math.Inf(1)), 0}, 1),
	} {
		must.Fail(t, "")(bad)
	}
	must.Succeed(t, y.Add(1, []float32{1000, -1000}, 1))
	if r := y.Report(); r.Loss != 2000 || r.AUC != nil || r.CalibrationError != 1 {
		t.Errorf("got %+v, want loss 2000, no AUC and calibration error 1", r)
	}
}

// TestSparseConfusion checks that a report of thousands of classes has the nonzero cells of the
// confusion matrix instead of the dense matrix.
func TestSparseConfusion(t *testing.T) {
	const classes = 16_000
	tally, logits := NewTally(classes), make([]float32, classes)
	for _, row := range []struct{ class, predicted int }{{3, 3}, {3, 15_999}, {7, 2}, {3, 15_999}} {
		logits[row.predicted] = 5
		must.Succeed(t, tally.Add(row.class, logits, 1))
		logits[row.predicted] = 0
	}
	r := tally.Report()
	if want := []Confused{{3, 3, 1}, {3, 15_999, 2}, {7, 2, 1}}; r.Confusion != nil ||
		!reflect.DeepEqual(r.Counts, want) {
		t.Errorf("got cells %v and a matrix of %d rows, want %v and no matrix", r.Counts, len(r.Confusion), want)
	}
	if want := []Confused{{3, 15_999, 2}, {7, 2, 1}}; !reflect.DeepEqual(r.Mistakes(), want) {
		t.Errorf("got mistakes %v, want %v", r.Mistakes(), want)
	}
	if k := r.Classes[15_999]; k.Rows != 0 || k.Predicted != 2 || r.Classes[3].Rows != 3 || r.Accuracy != 0.25 {
		t.Errorf("got class %+v and accuracy %g, want 2 predictions without rows and accuracy 0.25", k, r.Accuracy)
	}
}
