package sinusoid

import (
	"math"
	"testing"
)

// numbers returns n pseudo-random numbers in [−1, 1].
func numbers(seed uint64, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		seed = seed*6364136223846793005 + 1442695040888963407
		x[i] = float32(int32(seed>>32)) / (1 << 31)
	}
	return x
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// multiply returns the tables [2·rows, n] for t = t0, t0+1, …: the product of coefficients and
// cosines.
func multiply(q *Frequencies, coef []float32, t0, n int) []float32 {
	terms := q.Len() + 1
	cosines := make([]float32, terms*n)
	q.Cosines(cosines, t0, n)
	y := make([]float32, len(coef)/terms*n)
	for i, a := range coef {
		row, b := y[i/terms*n:][:n], cosines[i%terms*n:][:n]
		for t, v := range b {
			row[t] += float32(a * v)
		}
	}
	return y
}

// adjoint returns the gradient of the coefficients from the gradient dy [2·rows, n] of the tables,
// for t from 0.
func adjoint(q *Frequencies, dy []float32, n int) []float32 {
	terms := q.Len() + 1
	cosines := make([]float32, terms*n)
	q.Cosines(cosines, 0, n)
	dCoef := make([]float32, len(dy)/n*terms)
	for i := range dCoef {
		var sum float64
		for t, d := range dy[i/terms*n:][:n] {
			sum += float64(d) * float64(cosines[i%terms*n+t])
		}
		dCoef[i] = float32(sum)
	}
	return dCoef
}

// TestTablesMatchDefinition checks that f(|i−j|) + g(i+j) = lin(i,j) for positions below 2²⁰, and
// thus t below 2²¹.
func TestTablesMatchDefinition(t *testing.T) {
	bias := []float32{0.25}
	for _, dim := range []int{2, 6, 8, 10, 62} {
		reference := Reference{Base: 10000, Dim: dim}
		q := mustNew(t, reference.Base, dim)
		weight, coef := numbers(uint64(dim), dim), make([]float32, dim+2)
		q.Fold(coef, weight, bias)
		worst := 0.0
		for _, i := range []int{0, 1, 5, 300, 4095, 1 << 17, 1<<20 - 1} {
			for _, j := range []int{0, 3, 299, 300, 1 << 19, 1<<20 - 1} {
				f, g := multiply(q, coef, max(i-j, j-i), 1)[0], multiply(q, coef, i+j, 1)[1]
				want := reference.Linear(widen(weight), float64(bias[0]), i, j)
				worst = math.Max(worst, math.Abs(float64(f+g)-want))
			}
		}
		t.Logf("dim %d: worst error %.3g", dim, worst)
		if limit := 2e-7 * float64(4+dim); worst > limit {
			t.Errorf("dim %d: error %.3g, want at most %.3g", dim, worst, limit)
		}
	}
}

// TestUnfoldInnerProduct checks that ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ for the linear map A of Fold.
func TestUnfoldInnerProduct(t *testing.T) {
	for _, dim := range []int{2, 6, 64} {
		const rows = 3
		q := mustNew(t, 10000, dim)
		weight, bias, dCoef := numbers(3, rows*dim), numbers(4, rows), numbers(5, rows*(dim+2))
		coef, dWeight, dBias := make([]float32, len(dCoef)), make([]float32, len(weight)), make([]float32, len(bias))
		q.Fold(coef, weight, bias)
		q.Unfold(dWeight, dBias, dCoef)

		left, right, size := 0.0, 0.0, 0.0
		inner := func(sum *float64, a, b []float32) {
			for i := range a {
				*sum += float64(a[i]) * float64(b[i])
				size += math.Abs(float64(a[i]) * float64(b[i]))
			}
		}
		inner(&left, coef, dCoef)
		inner(&right, weight, dWeight)
		inner(&right, bias, dBias)
		if math.Abs(left-right) > 1e-7*size {
			t.Errorf("dim %d: ⟨Ax, y⟩ = %v, ⟨x, Aᵀy⟩ = %v, want equal products", dim, left, right)
		}
	}
}

// TestUnfoldIsTheGradient checks that Unfold turns the gradients of the tables into the gradients of
// the weights and the bias that Reference.Adjoint returns, for random gradients of many pairs (i, j).
func TestUnfoldIsTheGradient(t *testing.T) {
	const dim, length, pairs = 10, 700, 500
	const n = 2*length - 1
	reference := Reference{Base: 10000, Dim: dim}
	q := mustNew(t, reference.Base, dim)
	dy := make([]float32, 2*n) // gradients of f, then of g
	want, wantBias := make([]float64, dim), 0.0
	for m, d := range numbers(7, pairs) {
		i, j := m*37%length, m*101%length
		dy[max(i-j, j-i)] += d
		dy[n+i+j] += d
		reference.Adjoint(want, float64(d), i, j)
		wantBias += float64(d)
	}
	dWeight, dBias := make([]float32, dim), make([]float32, 1)
	q.Unfold(dWeight, dBias, adjoint(q, dy, n))
	for c := range want {
		if math.Abs(float64(dWeight[c])-want[c]) > 2e-5 {
			t.Errorf("dWeight[%d] = %v, want %v", c, dWeight[c], want[c])
		}
	}
	if math.Abs(float64(dBias[0])-wantBias) > 2e-5 {
		t.Errorf("dBias = %v, want %v", dBias[0], wantBias)
	}
}

// TestReferenceAdjoint checks that Adjoint is the gradient of Linear. As lin is linear in the
// weights, its derivative with respect to a weight is lin with this weight 1 and the others 0.
func TestReferenceAdjoint(t *testing.T) {
	const dim, d = 6, 0.7
	r := Reference{Base: 100, Dim: dim}
	weight, gradient := make([]float64, dim), make([]float64, dim)
	r.Adjoint(gradient, d, 12, 345)
	for c := range weight {
		weight[c] = 1
		if want := d * r.Linear(weight, 0, 12, 345); math.Abs(gradient[c]-want) > 1e-12 {
			t.Errorf("gradient of weight %d is %v, want %v", c, gradient[c], want)
		}
		weight[c] = 0
	}
}

func TestNoAllocation(t *testing.T) {
	const rows, dim, n = 4, 16, 256
	q := mustNew(t, 10000, dim)
	coef, weight, bias := numbers(1, rows*(dim+2)), numbers(2, rows*dim), numbers(3, rows)
	cosines := make([]float32, n*(q.Len()+1))
	if allocations := testing.AllocsPerRun(10, func() {
		q.Cosines(cosines, 0, n)
		q.Fold(coef, weight, bias)
		q.Unfold(weight, bias, coef)
	}); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

// BenchmarkCosines measures the cosines of 256 values of t in dimension 64.
func BenchmarkCosines(b *testing.B) {
	q := mustNew(b, 10000, 64)
	cosines := make([]float32, 256*(q.Len()+1))
	for i := range b.N {
		q.Cosines(cosines, i*256, 256)
	}
}
