package cpu

import "github.com/sftseq/sftseq/internal/simd"

// cachePad is the padding in floats between rows of a scratch matrix. Rows at multiples of 4 KiB
// would map to the same few sets of the first-level cache and evict each other.
const cachePad = 16

// mulTransposed computes y = x·wᵀ + bias for rows lo … hi−1:
// x [rows, in], wt = wᵀ packed, y [rows, out].
func (r *run) mulTransposed(wk *worker, y, x []float32, wt simd.Packed, bias []float32, lo, hi int) {
	left := leftFactor(wk.floats(leftSize(wt.K)), x, wt.K, lo, hi)
	r.device.simd.Mul(simd.Rows(y[lo*wt.N:], wt.N), left, wt, simd.Rows(bias, 0), hi-lo)
}

// mul computes x = y·w for rows lo … hi−1, or adds y·w to x if accumulate is set:
// y [rows, out], w packed, x [rows, in].
func (r *run) mul(wk *worker, x, y []float32, w simd.Packed, lo, hi int, accumulate bool) {
	result := simd.Rows(x[lo*w.N:], w.N)
	var init simd.Matrix
	if accumulate {
		init = result
	}
	left := leftFactor(wk.floats(leftSize(w.K)), y, w.K, lo, hi)
	r.device.simd.Mul(result, left, w, init, hi-lo)
}

// leftSize returns the number of floats that leftFactor needs: 0 unless rows of k floats need
// padding.
func leftSize(k int) int {
	if k%1024 > 0 {
		return 0
	}
	return rowBlock * (k + cachePad)
}

// leftFactor returns rows lo … hi−1 of x [rows, k] as the left factor of a product. It returns them
// in place if leftSize(k) is 0; otherwise it copies them to memory.
func leftFactor(memory, x []float32, k, lo, hi int) simd.Matrix {
	if len(memory) == 0 {
		return simd.Rows(x[lo*k:], k)
	}
	for i := range hi - lo {
		copy(memory[i*(k+cachePad):], x[(lo+i)*k:][:k])
	}
	return simd.Rows(memory, k+cachePad)
}

// maxUnpackedColumns is the maximum row length in floats for which transposedMul reads x in place.
// The rows of a panel then fit into the first-level cache.
const maxUnpackedColumns = 128

// transposedMul computes rows lo … hi−1 of dw = yᵀ·x and of db = Σ y: y [rows, out], x [rows, in],
// dw [out, in], db [out]. It sums groups of sumRows rows and adds these sums in order.
func (r *run) transposedMul(w *worker, dw, db, y, x []float32, lo, hi, rows, in, out int) {
	p := &r.device.simd.Products
	clear(dw[lo*in : hi*in])
	clear(db[lo:hi])
	memory := w.floats(rowBlock*(sumRows+1) + p.PackedSize(sumRows, in))
	sum, memory := memory[:rowBlock], memory[rowBlock:]
	columns, right := memory[:rowBlock*sumRows], memory[rowBlock*sumRows:]
	for at := 0; at < rows; at += sumRows {
		n := min(sumRows, rows-at)
		var b simd.Packed
		if in <= maxUnpackedColumns && p.Columns(in) == in {
			b = p.View(x[at*in:], in, n, in)
		} else {
			b = p.Pack(right, simd.Rows(x[at*in:], in), n, in)
		}
		for i := lo; i < hi; i += rowBlock {
			m := min(rowBlock, hi-i)
			p.PackColumns(columns, y[at*out+i:], out, n, m, sum)
			r.addTo(db[i:i+m], sum[:m])
			result := simd.Rows(dw[i*in:], in)
			p.Mul(result, simd.Matrix{Data: columns, Row: 1, Col: m}, b, result, m)
		}
	}
}
