package cpu

// The matrix products of every layer go through these three functions, so that
// a faster one replaces them here. Each element of a result is one chain of
// additions, in ascending order of the summed index, whatever the number of
// rows: a row's result does not depend on the rows beside it.

// mulTransposed computes y = x·wᵀ + bias for rows lo … hi−1:
// x [rows, in], w [out, in], y [rows, out].
func mulTransposed(y, x, w, bias []float32, lo, hi, in, out int) {
	i := lo
	for ; i+2 <= hi; i += 2 {
		x0 := x[i*in : i*in+in]
		x1 := x[(i+1)*in : (i+1)*in+in][:len(x0)]
		y0, y1 := y[i*out:i*out+out], y[(i+1)*out:(i+1)*out+out]
		o := 0
		for ; o+4 <= out; o += 4 {
			w0 := w[o*in : o*in+in][:len(x0)]
			w1 := w[(o+1)*in : (o+1)*in+in][:len(x0)]
			w2 := w[(o+2)*in : (o+2)*in+in][:len(x0)]
			w3 := w[(o+3)*in : (o+3)*in+in][:len(x0)]
			var a0, a1, a2, a3, b0, b1, b2, b3 float32
			for k, u := range x0 {
				v := x1[k]
				a0 += float32(u * w0[k])
				a1 += float32(u * w1[k])
				a2 += float32(u * w2[k])
				a3 += float32(u * w3[k])
				b0 += float32(v * w0[k])
				b1 += float32(v * w1[k])
				b2 += float32(v * w2[k])
				b3 += float32(v * w3[k])
			}
			y0[o], y0[o+1], y0[o+2], y0[o+3] = a0+bias[o], a1+bias[o+1], a2+bias[o+2], a3+bias[o+3]
			y1[o], y1[o+1], y1[o+2], y1[o+3] = b0+bias[o], b1+bias[o+1], b2+bias[o+2], b3+bias[o+3]
		}
		for ; o < out; o++ {
			w0 := w[o*in : o*in+in]
			y0[o], y1[o] = dot(x0, w0)+bias[o], dot(x1, w0)+bias[o]
		}
	}
	for ; i < hi; i++ {
		x0 := x[i*in : i*in+in]
		for o := range out {
			y[i*out+o] = dot(x0, w[o*in:o*in+in]) + bias[o]
		}
	}
}

// dot is one chain of additions in ascending order.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s float32
	for i, u := range a {
		s += float32(u * b[i])
	}
	return s
}

// mul computes x = y·w for rows lo … hi−1, or adds it to x:
// y [rows, out], w [out, in], x [rows, in].
func mul(x, y, w []float32, lo, hi, in, out int, accumulate bool) {
	store := func(at int, v float32) {
		if accumulate {
			v += x[at]
		}
		x[at] = v
	}
	i := lo
	for ; i+2 <= hi; i += 2 {
		y0 := y[i*out : i*out+out]
		y1 := y[(i+1)*out : (i+1)*out+out][:len(y0)]
		j := 0
		for ; j+4 <= in; j += 4 {
			var a0, a1, a2, a3, b0, b1, b2, b3 float32
			at := j
			for o, u := range y0 {
				v := y1[o]
				w0 := w[at : at+4 : at+4]
				a0 += float32(u * w0[0])
				a1 += float32(u * w0[1])
				a2 += float32(u * w0[2])
				a3 += float32(u * w0[3])
				b0 += float32(v * w0[0])
				b1 += float32(v * w0[1])
				b2 += float32(v * w0[2])
				b3 += float32(v * w0[3])
				at += in
			}
			p, q := i*in+j, (i+1)*in+j
			store(p, a0)
			store(p+1, a1)
			store(p+2, a2)
			store(p+3, a3)
			store(q, b0)
			store(q+1, b1)
			store(q+2, b2)
			store(q+3, b3)
		}
		for ; j < in; j++ {
			store(i*in+j, dotStrided(y0, w[j:], in))
			store((i+1)*in+j, dotStrided(y1, w[j:], in))
		}
	}
	for ; i < hi; i++ {
		for j := range in {
			store(i*in+j, dotStrided(y[i*out:i*out+out], w[j:], in))
		}
	}
}

// dotStrided is dot with b's elements a stride apart.
func dotStrided(a, b []float32, stride int) float32 {
	var s float32
	for i, u := range a {
		s += float32(u * b[i*stride])
	}
	return s
}

// transposedMul computes rows lo … hi−1 of dw = yᵀ·x:
// y [rows, out], x [rows, in], dw [out, in]. Rows are summed in pieces of
// sumRows, the pieces in order.
func transposedMul(dw, y, x []float32, lo, hi, rows, in, out int) {
	for r := 0; r < rows || r == 0; r += sumRows {
		end := min(rows, r+sumRows)
		put := func(o, j int, v float32) {
			if r > 0 {
				v += dw[o*in+j]
			}
			dw[o*in+j] = v
		}
		o := lo
		for ; o+2 <= hi; o += 2 {
			j := 0
			for ; j+4 <= in; j += 4 {
				var a0, a1, a2, a3, b0, b1, b2, b3 float32
				p, q := r*out+o, r*in+j
				for range end - r {
					u := y[p : p+2 : p+2]
					v := x[q : q+4 : q+4]
					a0 += float32(u[0] * v[0])
					a1 += float32(u[0] * v[1])
					a2 += float32(u[0] * v[2])
					a3 += float32(u[0] * v[3])
					b0 += float32(u[1] * v[0])
					b1 += float32(u[1] * v[1])
					b2 += float32(u[1] * v[2])
					b3 += float32(u[1] * v[3])
					p += out
					q += in
				}
				put(o, j, a0)
				put(o, j+1, a1)
				put(o, j+2, a2)
				put(o, j+3, a3)
				put(o+1, j, b0)
				put(o+1, j+1, b1)
				put(o+1, j+2, b2)
				put(o+1, j+3, b3)
			}
			for ; j < in; j++ {
				put(o, j, dotRows(y[o:], x[j:], r, end, out, in))
				put(o+1, j, dotRows(y[o+1:], x[j:], r, end, out, in))
			}
		}
		for ; o < hi; o++ {
			for j := range in {
				put(o, j, dotRows(y[o:], x[j:], r, end, out, in))
			}
		}
	}
}

// dotRows is Σ a[i·sa]·b[i·sb] for i = from … to−1.
func dotRows(a, b []float32, from, to, sa, sb int) float32 {
	var s float32
	for i := from; i < to; i++ {
		s += float32(a[i*sa] * b[i*sb])
	}
	return s
}
