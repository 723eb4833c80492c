package sinusoid

// Fold computes the coefficients of the tables, [2·rows, dim/2+1], from the weights W [rows, dim],
// in which sine and cosine alternate, and the biases b [rows]. The coefficients of a row's f come
// before those of its g:
//
//	coef[2r]   = ½(W[r,2c+1] + W[r,2c]) for c < dim/2, b[r]
//	coef[2r+1] = ½(W[r,2c+1] − W[r,2c]) for c < dim/2, 0
//
// The tables are the product of coef and the matrix of [Frequencies.Cosines].
func (q *Frequencies) Fold(coef, weight, bias []float32) {
	half := len(q.turns)
	for r, b := range bias {
		f, g, w := coef[2*r*(half+1):][:half+1], coef[(2*r+1)*(half+1):][:half+1], weight[2*half*r:]
		for c := range half {
			sine, cosine := w[2*c], w[2*c+1]
			f[c] = 0.5 * (cosine + sine)
			g[c] = 0.5 * (cosine - sine)
		}
		f[half], g[half] = b, 0
	}
}

// Unfold is the adjoint of Fold. From dCoef [2·rows, dim/2+1] it computes
//
//	dWeight[r,2c]   = ½(dCoef[2r,c] − dCoef[2r+1,c])
//	dWeight[r,2c+1] = ½(dCoef[2r,c] + dCoef[2r+1,c])
//	dBias[r]        = dCoef[2r,dim/2]
func (q *Frequencies) Unfold(dWeight, dBias, dCoef []float32) {
	half := len(q.turns)
	for r := range dBias {
		f, g, w := dCoef[2*r*(half+1):][:half+1], dCoef[(2*r+1)*(half+1):][:half+1], dWeight[2*half*r:]
		for c := range half {
			w[2*c] = 0.5 * (f[c] - g[c])
			w[2*c+1] = 0.5 * (f[c] + g[c])
		}
		dBias[r] = f[half]
	}
}
