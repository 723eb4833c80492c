package sinusoid

import "math"

// Reference evaluates lin(i,j) by its definition in float64, with sines and cosines of every
// position and a sum of products per pair, but without tables. Tests compare the tables and the
// devices with it.
type Reference struct {
	Base float64
	Dim  int
}

// Encoding returns S[i]: dim elements, alternately sin(i·ω_c) and cos(i·ω_c).
func (r Reference) Encoding(i int) []float64 {
	s := make([]float64, r.Dim)
	for c := range r.Dim / 2 {
		omega := math.Pow(r.Base, -2*float64(c)/float64(r.Dim))
		s[2*c], s[2*c+1] = math.Sincos(float64(i) * omega)
	}
	return s
}

// Linear returns lin(i,j) = Σ_c weight[c]·S[i,c]·S[j,c] + bias.
func (r Reference) Linear(weight []float64, bias float64, i, j int) float64 {
	si, sj := r.Encoding(i), r.Encoding(j)
	sum := bias
	for c, w := range weight {
		sum += w * si[c] * sj[c]
	}
	return sum
}

// Adjoint adds the contribution of the gradient d of lin(i,j) to dWeight [dim]: dWeight[c] +=
// d·S[i,c]·S[j,c]. The gradient of the bias is d.
func (r Reference) Adjoint(dWeight []float64, d float64, i, j int) {
	si, sj := r.Encoding(i), r.Encoding(j)
	for c := range dWeight {
		dWeight[c] += d * si[c] * sj[c]
	}
}
