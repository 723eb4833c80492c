package metrics

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestMultiLabel compares the scores and the fitted thresholds for four rows and three labels with
// values computed by hand.
func TestMultiLabel(t *testing.T) {
	m := NewMultiLabel(3)
	for _, r := range []struct {
		logits     []float32
		trueLabels []int32
	}{
		{[]float32{2, -1, -5}, []int32{0}},
		{[]float32{1, 3, -5}, []int32{1}},
		{[]float32{-1, -2, -5}, []int32{0, 1}},
		{[]float32{-3, -4, -5}, []int32{}},
	} {
		m.Add(r.logits, r.trueLabels)
	}
	r := m.Report([]float64{0.5, 0.5, 0.5})
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s: got %s, want %v", name, show("%v", got), want)
		}
	}
	// Label 0: true in rows 0 and 2, predicted in rows 0 and 1. Label 1: true in rows 1 and 2,
	// predicted in row 1.
	near("F1 of 0", r.Labels[0].F1, 0.5)
	near("F1 of 1", r.Labels[1].F1, 2./3)
	near("micro F1", r.MicroF1, 2*2./7)
	near("macro F1", r.MacroF1, (0.5+2./3)/2)
	near("average precision of 0", r.Labels[0].AveragePrecision, 0.5*1+0.5*2/3)
	near("average precision of 1", r.Labels[1].AveragePrecision, 0.5*1+0.5*2/3)
	near("mean average precision", r.MeanAveragePrecision, 5./6)
	if k := r.Labels[2]; k.F1 != nil || k.AveragePrecision != nil || k.Precision != nil {
		t.Errorf("label without rows: got F1 %s, average precision %s and precision %s, want none", show("%v", k.F1),
			show("%v", k.AveragePrecision), show("%v", k.Precision))
	}
	if r.ExactMatch != 0.5 {
		t.Errorf("got exact match %v, want 0.5: the first and the last row", r.ExactMatch)
	}
	want := 0.0
	for i, z := range slices.Concat(m.logits...) {
		p := 1 / (1 + math.Exp(-float64(z)))
		if slices.Contains(m.trueLabels[i/3], int32(i%3)) {
			want -= math.Log(p) / 12
		} else {
			want -= math.Log(1-p) / 12
		}
	}
	if math.Abs(r.Loss-want) > 1e-12 {
		t.Errorf("got loss %v, want %v", r.Loss, want)
	}
	// Label 0 predicted in rows 0 to 2 has F1 4/5. Label 1 predicted in all rows except the last
	// also has 4/5.
	got := m.Thresholds()
	between := func(a, b float32) float64 { return (float64(Sigmoid(a)) + float64(Sigmoid(b))) / 2 }
	if !slices.Equal(got, []float64{between(-1, -3), between(-2, -4), 0.5}) {
		t.Errorf("got thresholds %v, want the midpoints of adjacent probabilities and 0.5", got)
	}
}

// TestThresholds checks that no threshold has a larger F1 than the chosen threshold, and that the
// threshold does not separate equal probabilities.
func TestThresholds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f1 := func(m *MultiLabel, at float64) float64 {
		if v := m.Report([]float64{at}).Labels[0].F1; v != nil {
			return *v
		}
		return 0
	}
	for range 200 {
		m := NewMultiLabel(1)
		for range 1 + random.IntN(30) {
			var trueLabels []int32
			if random.IntN(3) == 0 {
				trueLabels = []int32{0}
			}
			m.Add([]float32{float32(random.IntN(9)) - 4 + float32(len(trueLabels))}, trueLabels)
		}
		chosen := m.Thresholds()[0]
		if !(chosen > 0 && chosen < 1) {
			t.Fatalf("got threshold %v, want between 0 and 1", chosen)
		}
		best := f1(m, chosen)
		for z := float32(-6); z < 7; z++ {
			at := float64(Sigmoid(z + 0.5))
			if other := f1(m, at); other > best {
				t.Fatalf("F1 is %v at the chosen threshold %v, but %v at %v", best, chosen, other, at)
			}
		}
	}
	m := NewMultiLabel(1)
	m.Add([]float32{120}, []int32{0}) // both probabilities are 1
	m.Add([]float32{90}, nil)
	if at := m.Thresholds()[0]; at != 0.5 {
		t.Errorf("equal probabilities: got threshold %v, want 0.5", at)
	}
}

// TestMemoryOfManyLabels checks that a report of thousands of labels does not keep the points of
// their curves.
func TestMemoryOfManyLabels(t *testing.T) {
	const labels, rows = 2000, 200
	m, logits := NewMultiLabel(labels), make([]float32, labels)
	for i := range rows {
		for label := range logits {
			logits[label] = float32((i*label)%rows) - rows/2
		}
		m.Add(logits, []int32{int32(i), int32(i + 1)})
	}
	thresholds := slices.Repeat([]float64{DefaultThreshold}, labels)
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	r := m.Report(thresholds)
	if kept := int64(heap()) - int64(before); kept > 1<<20 || r.MeanAveragePrecision == nil {
		t.Errorf("a report of %d labels keeps %d bytes, want at most 1 MiB", labels, kept)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(r)
}

// TestSharedLogits checks that consecutive rows with equal logits share one copy of the logits, which
// does not alias the slice of the caller.
func TestSharedLogits(t *testing.T) {
	const labels, rows = 16_000, 200
	m, always := NewMultiLabel(labels), make([]float32, labels)
	for i := range rows {
		m.Add(always, []int32{int32(i)})
	}
	if &m.logits[0][0] != &m.logits[rows-1][0] || &m.logits[0][0] == &always[0] {
		t.Error("rows with equal logits do not share one copy, or alias the caller's slice")
	}
	always[0] = 5
	m.Add(always, nil)
	if m.logits[0][0] != 0 || m.logits[rows][0] != 5 {
		t.Errorf("got logits %v and %v, want 0 and 5", m.logits[0][0], m.logits[rows][0])
	}
}
