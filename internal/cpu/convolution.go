package cpu

import (
	"sort"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(byRows(convolution), byRows(convolutionBackward)) }

// convolution may read rows of X outside its block, because launches that write X are not fused with it.
func convolution(r *run, k tensor.Convolution) rowwise {
	s, d, reach := r.sequences(k.Batch), k.X.Width(), k.Weight.Shape[0]/2
	y, a, x := r.floats(k.Y), r.floats(k.A), r.floats(k.X)
	weight, bias := r.floats(k.Weight), r.floats(k.Bias)
	z := y // without Z, y holds the sum until the GELU replaces it
	if k.Z != nil {
		z = r.floats(k.Z)
	}
	return rowwise{n: r.rows(k.X), block: func(_ *worker, lo, hi int) {
		s.eachRun(lo, hi, reach, k.Dilation, func(lo, hi, before, after int) {
			r.device.simd.Convolution(z[lo*d:hi*d], x[(lo-before*k.Dilation)*d:],
				weight[(reach-before)*d:(reach+after+1)*d], bias, k.Dilation*d)
		})
		r.device.simd.GELU(y[lo*d:hi*d], z[lo*d:hi*d])
		r.device.simd.Add(y[lo*d:hi*d], y[lo*d:hi*d], a[lo*d:hi*d])
	}}
}

// convolutionBackward computes DX and the gradients of the weights and the bias in one pass, because
// they need the same rows of DZ.
func convolutionBackward(r *run, k tensor.ConvolutionBackward) rowwise {
	s, d, taps, rows := r.sequences(k.Batch), k.X.Width(), k.Weight.Shape[0], r.rows(k.X)
	reach := taps / 2
	dx, dz, x, weight := r.floats(k.DX), r.floats(k.DZ), r.floats(k.X), r.floats(k.Weight)
	size := (taps + 1) * d // floats per block of partial sums
	parts, ones := r.parts(blocks(rows)*size), r.parts(rowBlock)
	for i := range ones {
		ones[i] = 1
	}
	return rowwise{n: rows, block: func(_ *worker, lo, hi int) {
		part := parts[lo/rowBlock*size:][:size]
		dweight, dbias := part[:taps*d], part[taps*d:]
		clear(dweight)
		if !k.Accumulate {
			clear(dx[lo*d : hi*d])
		}
		// DX uses the taps in reverse order.
		s.eachRun(lo, hi, reach, k.Dilation, func(lo, hi, before, after int) {
			from, to := (reach-after)*d, (reach+before+1)*d
			r.device.simd.ConvolutionBackward(dx[lo*d:hi*d], dweight[from:to], dz[(lo-before*k.Dilation)*d:],
				x[lo*d:hi*d], weight[from:to], d, k.Dilation*d)
		})
		r.device.simd.WeightedSum(dbias, ones[:hi-lo], dz[lo*d:hi*d])
	}, finish: func() { r.sumParts(parts, r.floats(k.DWeight), r.floats(k.DBias)) }}
}

// eachRun splits rows lo … hi−1 into runs whose rows have the same numbers of neighbours before and
// after them. The neighbours of a row are the rows of its sequence at multiples of the given distance.
// At most reach neighbours count on each side.
func (s sequences) eachRun(lo, hi, reach, distance int, f func(lo, hi, before, after int)) {
	// the last nonempty sequence that begins at or before row lo
	b := sort.Search(s.n, func(b int) bool { first, _ := s.tokens(b); return first > lo }) - 1
	for ; lo < hi; b++ {
		first, end := s.tokens(b)
		for lo < min(hi, end) {
			before, after := (lo-first)/distance, min(reach, (end-1-lo)/distance)
			next := min(hi, end-after*distance)
			if before < reach {
				next = min(next, first+(before+1)*distance)
			}
			f(lo, next, min(reach, before), after)
			lo = next
		}
	}
}
