package simd

import "fmt"

// Scores holds the kernels of sampled attention for a tile of keys × queries. A tile has a row per
// key, rows are stride floats apart, and the lanes of a vector hold different queries; in Score.Backward,
// different channels. The caller rounds the number of queries up to a multiple of two vectors and, for
// Score.Backward, the number of channels up to whole vectors. The padding takes part in the computation
// and must be finite.
type Scores struct {
	Maxout, Lily Score

	// ScaleTile computes s[j][r] = max(s[j][r]·scale, floor) for 0 ≤ j < keys and 0 ≤ r < n, and adds
	// the sum of each column to sum.
	ScaleTile func(s []float32, stride, keys, n int, scale, floor float32, sum []float32)
	// ScaleRows computes y[i][r] *= x[r] for 0 ≤ i < rows and 0 ≤ r < n.
	ScaleRows func(y []float32, stride, rows, n int, x []float32)
	// DotColumns computes y[r] = Σ_i a[i][r]·b[i][r] for 0 ≤ r < n, where 0 ≤ i < rows.
	DotColumns func(y, a, b []float32, stride, rows, n int)
	// Sinusoid computes the relative encoding of a tile, SinusoidBackward its adjoint. SinusoidFar
	// is Sinusoid for tables that are larger than the first-level and second-level caches.
	Sinusoid, SinusoidFar, SinusoidBackward func(t *SinusoidTile)

	transpose func(blocks int, dst *float32, ldd int, src *float32, lds int)
	prefetch  func(rows, lines int, x *float32, stride int)
}

// Score holds the kernels of an attention score.
type Score struct {
	// Forward computes s[j][r] = Σ_c score(q[c][r], k[j][c]) for 0 ≤ j < keys and 0 ≤ r < n. q has a
	// row per channel, with the stride of s; the rows of k are ldk floats apart. Whether the maximum of
	// a NaN and a number is NaN depends on the instruction set.
	Forward func(s, q []float32, stride, n int, k []float32, ldk, keys, c int)
	// For the gradients g of a tile and rows of c channels, Backward adds
	//
	//	dq[r] += Σ_j g[j][r] ∂score/∂q,  dk[j] += Σ_r g[j][r] ∂score/∂k
	//
	// One derivative of maxout, by q or by k, is 1 and the other is 0. For maxout, dk must
	// initially contain Σ_r g[j][r] in every channel.
	Backward func(g []float32, stride, n int, q, dq, k, dk []float32, keys, c int)
}

// SinusoidTile is a tile of Keys × N pairs under the relative encoding. A key has a token at the position
// top and usually one at the position partner; without a partner, the terms of partner are 0. For a token
// at position t and query r,
//
//	mul(r, t) = F[FOrigin − t + r] + G[GOrigin + t + r], likewise add with tables of its own,
//	Rmul = p softplus(mul(r, top)) + (1−p) softplus(mul(r, partner)),
//	Radd = p add(r, top) + (1−p) add(r, partner),
//	A    = m·Scale·Rmul + Radd.
//
// For mul, the assembly reads EF = exp(F) and EG = exp(G) instead of F and G, because softplus(f+g)
// = log(1 + eᶠ·eᵍ). The values of EF and EG must lie in 2⁻⁶³ … 2⁶³. The tables must contain
// these elements for all N queries.
//
// In the comments on the fields, Forward is Sinusoid or SinusoidFar, and Backward is
// SinusoidBackward. The assembly depends on the offset of each field.
type SinusoidTile struct {
	S []float32 // [Keys][Stride] scores m; Forward writes max(A, Floor), Backward writes dm

	D []float32 // [Keys][Stride] Backward reads dA where A > 0 and writes ReLU(A)

	Sum []float32 // [N] Forward adds Σ_j max(A, Floor)

	EF, EG, FA, GA []float32 // tables of one head

	DFM, DGM, DFA, DGA []float32 // Backward adds the gradients of the tables

	Top, Partner []int32   // [Keys] positions; −1 without a partner
	P            []float32 // [Keys] weights p of the top tokens
	DP           []float32 // [Keys] Backward adds Σ_r dA·∂A/∂p; undefined without a partner
	Total        []float32 // [Keys] Backward writes Σ_r dm

	FM, GM []float32 // logarithms of EF and EG, for the kernel in Go

	Scratch []float32 // [4N]

	Keys, N, Stride  int
	FOrigin, GOrigin int
	Scale, Floor     float32
}

// check panics if the assembly, which has no checks, would access memory outside the slices.
func (t *SinusoidTile) check(width int, backward bool) {
	if t.Keys < 1 || t.N < 1 || t.N%(2*width) != 0 {
		panic(fmt.Sprintf("simd: a SinusoidTile of %d keys and %d queries: expected at least 1 key and a positive "+
			"multiple of %d queries", t.Keys, t.N, 2*width))
	}
	last := (t.Keys-1)*t.Stride + t.N - 1
	_ = t.S[last]
	_, _ = t.P[t.Keys-1], t.Scratch[4*t.N-1]
	tables := [][]float32{t.EF, t.FA, t.EG, t.GA}
	if backward {
		_, _, _ = t.D[last], t.DP[t.Keys-1], t.Total[t.Keys-1]
		tables = append(tables, t.DFM, t.DFA, t.DGM, t.DGA)
	} else {
		_ = t.Sum[t.N-1]
	}
	lowest, highest := t.Top[0], t.Top[0]
	for _, positions := range [][]int32{t.Top[:t.Keys], t.Partner[:t.Keys]} {
		for _, p := range positions {
			p = max(p, 0)
			lowest, highest = min(lowest, p), max(highest, p)
		}
	}
	for i, x := range tables {
		low, high := t.FOrigin-int(highest), t.FOrigin-int(lowest)
		if i%4 >= 2 {
			low, high = t.GOrigin+int(lowest), t.GOrigin+int(highest)
		}
		_, _ = x[low], x[high+t.N-1]
	}
}

// Prefetch prefetches rows of cols floats, which are stride floats apart in x.
func (k *Scores) Prefetch(x []float32, stride, rows, cols int) {
	if k.prefetch == nil || rows < 1 {
		return
	}
	const line = 16 // floats
	// Only check the range. Reading here would race with threads that write to x.
	_ = x[:(rows-1)*stride+cols]
	k.prefetch(rows, (cols+line-1)/line, &x[0], stride)
}

// Transpose copies the transpose of src, rows×cols, to dst, cols×rows. Rows of src and dst are lds
// and ldd floats apart.
func (k *Scores) Transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	if rows == 0 || cols == 0 {
		return
	}
	_, _ = dst[(cols-1)*ldd+rows-1], src[(rows-1)*lds+cols-1]
	i := 0
	if blocks := cols / 8; k.transpose != nil && blocks > 0 {
		for ; i+8 <= rows; i += 8 {
			k.transpose(blocks, &dst[i], ldd, &src[i*lds], lds)
			if done := 8 * blocks; done < cols {
				transpose(dst[done*ldd+i:], ldd, src[i*lds+done:], lds, 8, cols-done)
			}
		}
	}
	if i < rows {
		transpose(dst[i:], ldd, src[i*lds:], lds, rows-i, cols)
	}
}

func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	for i := range rows {
		for j := range cols {
			dst[j*ldd+i] = src[i*lds+j]
		}
	}
}
