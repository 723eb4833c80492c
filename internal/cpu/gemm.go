package cpu

import "sftseq/internal/simd"

// productRows is the number of rows of a product that a worker takes at a time:
// whole tiles of 6 rows and of 14.
const productRows = 84

// eachProductRows cuts the rows of a product into blocks.
func (r *run) eachProductRows(n int, f func(w *worker, lo, hi int)) {
	r.each((n+productRows-1)/productRows, func(w *worker, i int) { f(w, i*productRows, min(n, (i+1)*productRows)) })
}

// mulTransposed computes y = x·wᵀ + bias for rows lo … hi−1:
// x [rows, in], wt = wᵀ packed, y [rows, out].
func (r *run) mulTransposed(y, x []float32, wt simd.Packed, bias []float32, lo, hi int) {
	r.device.simd.Mul(simd.Rows(y[lo*wt.N:], wt.N), simd.Rows(x[lo*wt.K:], wt.K), wt, simd.Rows(bias, 0), hi-lo)
}

// mul computes x = y·w for rows lo … hi−1, or adds it to x:
// y [rows, out], w packed, x [rows, in].
func (r *run) mul(x, y []float32, w simd.Packed, lo, hi int, accumulate bool) {
	result := simd.Rows(x[lo*w.N:], w.N)
	var init simd.Matrix
	if accumulate {
		init = result
	}
	r.device.simd.Mul(result, simd.Rows(y[lo*w.K:], w.K), w, init, hi-lo)
}

// transposedMul computes rows lo … hi−1 of dw = yᵀ·x and of db = Σ y:
// y [rows, out], x [rows, in], dw [out, in], db [out]. Rows are summed in pieces
// of sumRows, the pieces in order.
func (r *run) transposedMul(w *worker, dw, db, y, x []float32, lo, hi, rows, in, out int) {
	p := &r.device.simd.Products
	clear(dw[lo*in : hi*in])
	clear(db[lo:hi])
	memory := w.floats(productRows*(sumRows+1) + p.PackedSize(sumRows, in))
	sum, memory := memory[:productRows], memory[productRows:]
	columns, right := memory[:productRows*sumRows], memory[productRows*sumRows:]
	for at := 0; at < rows; at += sumRows {
		n := min(sumRows, rows-at)
		b := p.Pack(right, simd.Rows(x[at*in:], in), n, in)
		for i := lo; i < hi; i += productRows {
			m := min(productRows, hi-i)
			p.PackColumns(columns, y[at*out+i:], out, n, m, sum)
			addTo(db[i:i+m], sum[:m])
			result := simd.Rows(dw[i*in:], in)
			p.Mul(result, simd.Matrix{Data: columns, Row: 1, Col: m}, b, result, m)
		}
	}
}
