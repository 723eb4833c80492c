package cpu

import "sftseq/internal/tensor"

// tableBlock is the number of table entries that a worker computes at a time,
// and that the adjoint sums before it adds to the total.
const tableBlock = 256

func sinusoidTables(r *run, k tensor.SinusoidTables) {
	n := int(r.ints(k.Counts)[tensor.CountLongest])
	h, nf, ng := k.F.Shape[0]/2, k.F.Width(), k.G.Width()
	f, g := r.floats(k.F), r.floats(k.G)
	mul, add := r.floats(k.MulWeight), r.floats(k.AddWeight)
	mulBias, addBias := r.floats(k.MulBias), r.floats(k.AddBias)
	cs := k.Frequencies.Len()
	blocks := (2*n - 1 + tableBlock - 1) / tableBlock
	r.each(blocks, func(w *worker, i int) {
		lo := i * tableBlock
		hi := min(2*n-1, lo+tableBlock)
		cosines := w.floats(tableBlock * cs)[:(hi-lo)*cs]
		k.Frequencies.Cosines(cosines, lo, hi-lo)
		for row := range 2 * h {
			weight, bias := mul, mulBias
			if row >= h {
				weight, bias = add, addBias
			}
			head := row % h
			wr, b := weight[head*2*cs:(head+1)*2*cs], bias[head]
			for t := lo; t < hi; t++ {
				x := cosines[(t-lo)*cs:][:cs]
				var even, odd float32
				for c, v := range x {
					even += float32(wr[2*c] * v)
					odd += float32(wr[2*c+1] * v)
				}
				if t < n {
					f[row*nf+t] = float32(0.5*(odd+even)) + b
				}
				g[row*ng+t] = 0.5 * (odd - even)
			}
		}
	})
}

// sinusoidTablesBackward: with F = ½(odd + even) + b and G = ½(odd − even),
// deven = ½(dF − dG), dodd = ½(dF + dG). The bias is part of every entry of F
// that a pair reads, so its gradient is the sum of dF.
func sinusoidTablesBackward(r *run, k tensor.SinusoidTablesBackward) {
	n := int(r.ints(k.Counts)[tensor.CountLongest])
	h, nf, ng := k.DF.Shape[0]/2, k.DF.Width(), k.DG.Width()
	df, dg := r.floats(k.DF), r.floats(k.DG)
	dmul, dadd := r.floats(k.DMulWeight), r.floats(k.DAddWeight)
	dmulBias, daddBias := r.floats(k.DMulBias), r.floats(k.DAddBias)
	cs := k.Frequencies.Len()
	blocks := (2*n - 1 + tableBlock - 1) / tableBlock
	size := 2 * h * 2 * cs // gradients of one block
	partial := make([]float32, blocks*size)
	r.each(blocks, func(w *worker, i int) {
		lo := i * tableBlock
		hi := min(2*n-1, lo+tableBlock)
		cosines := w.floats(tableBlock * cs)[:(hi-lo)*cs]
		k.Frequencies.Cosines(cosines, lo, hi-lo)
		for row := range 2 * h {
			out := partial[i*size+row*2*cs:][:2*cs]
			for t := lo; t < hi; t++ {
				var a float32
				if t < n {
					a = df[row*nf+t]
				}
				b := dg[row*ng+t]
				even, odd := 0.5*(a-b), 0.5*(a+b)
				if even == 0 && odd == 0 {
					continue
				}
				for c, v := range cosines[(t-lo)*cs:][:cs] {
					out[2*c] += float32(even * v)
					out[2*c+1] += float32(odd * v)
				}
			}
		}
	})
	r.each(2*h, func(_ *worker, row int) {
		weight, bias, head := dmul, dmulBias, row
		if row >= h {
			weight, bias, head = dadd, daddBias, row-h
		}
		out := weight[head*2*cs : (head+1)*2*cs]
		clear(out)
		for i := range blocks {
			for c, v := range partial[i*size+row*2*cs:][:2*cs] {
				out[c] += v
			}
		}
		bias[head] = 0
		for lo := 0; lo < n; lo += tableBlock {
			var part float32
			for _, v := range df[row*nf+lo : row*nf+min(n, lo+tableBlock)] {
				part += v
			}
			bias[head] += part
		}
	})
}
