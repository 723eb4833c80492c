package sinusoid

import (
	"math"
	"testing"
)

// numbers returns n numbers in [−1, 1), the same for the same seed.
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

// TestTablesAreTheDefinition: f(|i−j|) + g(i+j) = lin(i,j) up to positions of 2²⁰, t of 2²¹.
func TestTablesAreTheDefinition(t *testing.T) {
	const bias = 0.25
	for _, dim := range []int{2, 6, 8, 10, 62} {
		reference := Reference{Base: 10000, Dim: dim}
		q := mustNew(t, reference.Base, dim)
		weight := numbers(uint64(dim), dim)
		worst := 0.0
		for _, i := range []int{0, 1, 5, 300, 4095, 1 << 17, 1<<20 - 1} {
			for _, j := range []int{0, 3, 299, 300, 1 << 19, 1<<20 - 1} {
				var f, g [1]float32
				q.Table(f[:], nil, weight, max(i-j, j-i), bias)
				q.Table(nil, g[:], weight, i+j, bias)
				want := reference.Linear(widen(weight), bias, i, j)
				worst = math.Max(worst, math.Abs(float64(f[0]+g[0])-want))
			}
		}
		t.Logf("dim %d: worst error %.3g", dim, worst)
		if limit := 2e-7 * float64(4+dim); worst > limit {
			t.Errorf("dim %d: error %.3g, want at most %.3g", dim, worst, limit)
		}
	}
}

// TestTableIsTables: one row at a time or many, in tiles of any size, from any
// start: the same bits.
func TestTableIsTables(t *testing.T) {
	const rows, dim, lenF, lenG = 3, 14, 601, 1201
	q := mustNew(t, 500, dim)
	weight, bias := numbers(1, rows*dim), numbers(2, rows)
	coef := make([]float32, rows*dim)
	q.Fold(coef, weight)
	wantF, wantG := make([]float32, rows*lenF), make([]float32, rows*lenG)
	for r := range rows {
		q.Table(wantF[r*lenF:][:lenF], wantG[r*lenG:][:lenG], weight[r*dim:], 0, bias[r])
	}
	for _, size := range []int{1, 5, 100, 2000} {
		f, g := make([]float32, rows*lenF), make([]float32, rows*lenG)
		cosines := make([]float32, size*q.Len())
		for t0 := 0; t0 < lenG; t0 += size {
			q.Cosines(cosines, t0, size)
			q.Tables(tileOf(f, lenF, t0, size), tileOf(g, lenG, t0, size), coef, bias, cosines)
		}
		for i := range f {
			if f[i] != wantF[i] {
				t.Fatalf("tiles of %d: f[%d] = %v, want %v", size, i, f[i], wantF[i])
			}
		}
		for i := range g {
			if g[i] != wantG[i] {
				t.Fatalf("tiles of %d: g[%d] = %v, want %v", size, i, g[i], wantG[i])
			}
		}
	}
}

// tileOf is the part from t0, at most size long, of tables of the given length.
func tileOf(data []float32, length, t0, size int) Rows {
	t0 = min(t0, length)
	return Rows{Data: data[t0:], Stride: length, N: min(size, length-t0)}
}

// adjoint runs Adjoint over all tiles of df [rows, lenF] and dg [rows, lenG].
func adjoint(q *Frequencies, df, dg []float32, rows, lenF, lenG int) (dWeight, dBias []float32) {
	half := q.Len()
	dCoef, dBias := make([]float32, rows*2*half), make([]float32, rows)
	cosines, scratch := make([]float32, Tile*half), make([]float32, half)
	for t0 := 0; t0 < max(lenF, lenG); t0 += Tile {
		q.Cosines(cosines, t0, Tile)
		q.Adjoint(dCoef, dBias, tileOf(df, lenF, t0, Tile), tileOf(dg, lenG, t0, Tile), cosines, scratch)
	}
	dWeight = make([]float32, rows*2*half)
	q.Unfold(dWeight, dCoef)
	return dWeight, dBias
}

// TestAdjointInnerProduct: ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ for the linear map A from
// (weight, bias) to (f, g).
func TestAdjointInnerProduct(t *testing.T) {
	for _, dim := range []int{2, 6, 64} {
		const rows, lenF, lenG = 2, 513, 1025
		q := mustNew(t, 10000, dim)
		weight, bias := numbers(3, rows*dim), numbers(4, rows)
		df, dg := numbers(5, rows*lenF), numbers(6, rows*lenG)
		dWeight, dBias := adjoint(q, df, dg, rows, lenF, lenG)

		left, right, size := 0.0, 0.0, 0.0
		inner := func(sum *float64, a, b []float32) {
			for i := range a {
				*sum += float64(a[i]) * float64(b[i])
				size += math.Abs(float64(a[i]) * float64(b[i]))
			}
		}
		for r := range rows {
			f, g := make([]float32, lenF), make([]float32, lenG)
			q.Table(f, g, weight[r*dim:], 0, bias[r])
			inner(&left, f, df[r*lenF:])
			inner(&left, g, dg[r*lenG:])
		}
		inner(&right, weight, dWeight)
		inner(&right, bias, dBias)
		if math.Abs(left-right) > 1e-7*size {
			t.Errorf("dim %d: ⟨Ax, y⟩ = %v, ⟨x, Aᵀy⟩ = %v", dim, left, right)
		}
	}
}

// TestAdjointIsTheGradient compares with the definition's gradient: random pairs (i, j)
// scatter their gradients into df, dg, or go straight to the weights.
func TestAdjointIsTheGradient(t *testing.T) {
	const dim, length, pairs = 10, 700, 500
	reference := Reference{Base: 10000, Dim: dim}
	q := mustNew(t, reference.Base, dim)
	df, dg := make([]float32, length), make([]float32, 2*length-1)
	want, wantBias := make([]float64, dim), 0.0
	for n, d := range numbers(7, pairs) {
		i, j := n*37%length, n*101%length
		df[max(i-j, j-i)] += d
		dg[i+j] += d
		reference.Adjoint(want, float64(d), i, j)
		wantBias += float64(d)
	}
	dWeight, dBias := adjoint(q, df, dg, 1, len(df), len(dg))
	for c := range want {
		if math.Abs(float64(dWeight[c])-want[c]) > 2e-5 {
			t.Errorf("dWeight[%d] = %v, want %v", c, dWeight[c], want[c])
		}
	}
	if math.Abs(float64(dBias[0])-wantBias) > 2e-5 {
		t.Errorf("dBias = %v, want %v", dBias[0], wantBias)
	}
}

// TestReferenceAdjoint: lin is linear in the weights, so its slope is a
// difference of any size.
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

// TestAdjointByTiles: a zeroed total per tile, added in ascending order, is the
// one total; and a second call adds.
func TestAdjointByTiles(t *testing.T) {
	const rows, dim, length = 2, 8, 3*Tile + 11
	q := mustNew(t, 10000, dim)
	df, dg := numbers(8, rows*length), numbers(9, rows*length)
	total, parts := make([]float32, rows*dim), make([]float32, rows*dim)
	bias, biases := make([]float32, rows), make([]float32, rows)
	cosines, scratch := make([]float32, Tile*q.Len()), make([]float32, q.Len())
	for t0 := 0; t0 < length; t0 += Tile {
		q.Cosines(cosines, t0, Tile)
		f, g := tileOf(df, length, t0, Tile), tileOf(dg, length, t0, Tile)
		q.Adjoint(total, bias, f, g, cosines, scratch)
		part, one := make([]float32, rows*dim), make([]float32, rows)
		q.Adjoint(part, one, f, g, cosines, scratch)
		for i := range part {
			parts[i] += part[i]
		}
		for r := range one {
			biases[r] += one[r]
		}
	}
	for i := range total {
		if total[i] != parts[i] {
			t.Errorf("dCoef[%d]: %v by tiles, %v at once", i, parts[i], total[i])
		}
	}
	for r := range bias {
		if bias[r] != biases[r] {
			t.Errorf("dBias[%d]: %v by tiles, %v at once", r, biases[r], bias[r])
		}
	}
}

func TestNoAllocation(t *testing.T) {
	const rows, dim = 4, 16
	q := mustNew(t, 10000, dim)
	f, g := numbers(1, rows*Tile), numbers(2, rows*Tile)
	coef, bias := numbers(3, rows*dim), numbers(4, rows)
	cosines, scratch := make([]float32, Tile*q.Len()), make([]float32, q.Len())
	if n := testing.AllocsPerRun(10, func() {
		q.Cosines(cosines, 0, Tile)
		q.Tables(Rows{f, Tile, Tile}, Rows{g, Tile, Tile}, coef, bias, cosines)
		q.Adjoint(coef, bias, Rows{f, Tile, Tile}, Rows{g, Tile, Tile}, cosines, scratch)
	}); n != 0 {
		t.Errorf("%v allocations per tile, want 0", n)
	}
}

// One iteration is one tile of 256 t's, 8 rows (4 heads, mul and add), dim 64.
func BenchmarkTile(b *testing.B) {
	const rows, dim = 8, 64
	q := mustNew(b, 10000, dim)
	f, g := numbers(1, rows*Tile), numbers(2, rows*Tile)
	coef, bias := numbers(3, rows*dim), numbers(4, rows)
	cosines, scratch := make([]float32, Tile*q.Len()), make([]float32, q.Len())
	b.Run("Cosines", func(b *testing.B) {
		for i := range b.N {
			q.Cosines(cosines, i*Tile, Tile)
		}
	})
	b.Run("Tables", func(b *testing.B) {
		for range b.N {
			q.Tables(Rows{f, Tile, Tile}, Rows{g, Tile, Tile}, coef, bias, cosines)
		}
	})
	b.Run("Adjoint", func(b *testing.B) {
		for range b.N {
			q.Adjoint(coef, bias, Rows{f, Tile, Tile}, Rows{g, Tile, Tile}, cosines, scratch)
		}
	})
}
