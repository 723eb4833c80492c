package sinusoid

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func mustNew(t testing.TB, base float64, dim int) *Frequencies {
	t.Helper()
	return must.Get(New(base, dim))(t)
}

func TestGoldenTurns(t *testing.T) {
	for _, g := range goldenTurns {
		if got := mustNew(t, g.base, g.dim).Turns()[g.c]; got != g.turn {
			t.Errorf("base %v, dim %d: w_%d = %#x, want %#x", g.base, g.dim, g.c, got, g.turn)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		base  float64
		dim   int
		names string
	}{
		{0, 4, "base"}, {-1, 4, "base"}, {math.Inf(1), 4, "base"}, {math.NaN(), 4, "base"},
		{10, 0, "dimension"}, {10, -2, "dimension"}, {10, 7, "dimension"}, {10, MaxDim + 2, "dimension"},
	} {
		if _, err := New(c.base, c.dim); err == nil || !strings.Contains(err.Error(), c.names) {
			t.Errorf("New(%v, %d): %v, want an error that names the %s", c.base, c.dim, err, c.names)
		}
	}
}

func TestNewCaches(t *testing.T) {
	if a, b := mustNew(t, 1234, 8), mustNew(t, 1234, 8); a != b {
		t.Error("New with equal arguments returned different frequencies, want the cached ones")
	}
}

// TestPhaseError checks for 400 values of t below 2²² that the top 32 bits of a turn, as an angle, are
// within 1.5e-9 of the phase computed with 256 bits.
func TestPhaseError(t *testing.T) {
	const dim, prec = 16, 256
	q := mustNew(t, 10000, dim)
	minusLog := logarithm(10000, prec)
	minusLog.Neg(minusLog)
	twoPi := pi(prec)
	twoPi.SetMantExp(twoPi, 1)
	worst := 0.0
	for c, w := range q.Turns() {
		omega := newFloat(prec).SetFloat64(float64(2*c) / dim) // exact, as dim is a power of two
		omega = exponential(omega.Mul(omega, minusLog), prec)
		omega.Quo(omega, twoPi)
		for i := range 400 {
			at := 1<<22 - 1 - i*i*17
			exact := newFloat(prec).Mul(omega, newFloat(prec).SetInt64(int64(at)))
			whole, _ := exact.Int(nil)
			exact.Sub(exact, newFloat(prec).SetInt(whole))
			turn := uint32(uint64(at) * w >> 32)
			exact.Sub(exact, new(big.Float).SetMantExp(newFloat(prec).SetInt64(int64(turn)), -32))
			d, _ := exact.Float64()
			d -= math.Round(d)
			worst = math.Max(worst, 2*math.Pi*math.Abs(d))
		}
	}
	t.Logf("worst phase error %.4g", worst)
	if worst > 1.5e-9 {
		t.Errorf("phase error %.4g, want at most 1.5e-9", worst)
	}
}

// TestCosines compares the cosines with cosines in float64, in ranges of t between 0 and 2²² − 1.
func TestCosines(t *testing.T) {
	const base, dim, n = 10000, 34, 67
	q := mustNew(t, base, dim)
	got := make([]float32, (q.Len()+1)*n)
	worst := 0.0
	for _, t0 := range []int{0, 1, 255, 4001, 1<<20 - 30, 1<<21 - 30, 1<<22 - n} {
		q.Cosines(got, t0, n)
		for i := range n {
			for c := range q.Len() {
				want := math.Cos(float64(t0+i) * math.Pow(base, -2*float64(c)/dim))
				worst = math.Max(worst, math.Abs(float64(got[c*n+i])-want))
			}
		}
	}
	t.Logf("worst error %.3g", worst)
	if !(worst < 2e-7) {
		t.Errorf("error %.3g, want below 2e-7", worst)
	}
}

// TestCosinesIgnoreRange checks that a cosine is bitwise identical in every range in which it is
// computed, and that cos(−t) = cos(t) up to the truncation of the turn.
func TestCosinesIgnoreRange(t *testing.T) {
	const n = 300
	q := mustNew(t, 500, 10)
	whole := make([]float32, (q.Len()+1)*n)
	q.Cosines(whole, 1000, n)
	for _, size := range []int{1, 7, 256} {
		part := make([]float32, (q.Len()+1)*size)
		for t0 := 0; t0+size <= n; t0 += size {
			q.Cosines(part, 1000+t0, size)
			for i, got := range part {
				if want := whole[i/size*n+t0+i%size]; got != want {
					t.Fatalf("tile of %d from %d: element %d is %v, want %v", size, t0, i, got, want)
				}
			}
		}
	}
	a, b := make([]float32, q.Len()+1), make([]float32, q.Len()+1)
	q.Cosines(a, 12345, 1)
	q.Cosines(b, -12345, 1)
	for c := range a {
		if math.Abs(float64(a[c]-b[c])) > 2e-7 {
			t.Errorf("cos(ω_%d·(−12345)) = %v, want %v", c, b[c], a[c])
		}
	}
}
