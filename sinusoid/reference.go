package sinusoid

import "math"

// Reference is lin(i,j) by its definition, in float64: sines and cosines of
// every position and a sum of products per pair, no tables. It is the oracle
// that the tables, and every device, are tested against.
type Reference struct {
	Base float64
	Dim  int
}

// Encoding returns S[i], dim elements: sin(i·ω_c) and cos(i·ω_c) in turn.
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

// Adjoint adds to dWeight [dim] what the gradient d of lin(i,j) gives it:
// dWeight[c] += d·S[i,c]·S[j,c]. The bias receives d itself.
func (r Reference) Adjoint(dWeight []float64, d float64, i, j int) {
	si, sj := r.Encoding(i), r.Encoding(j)
	for c := range dWeight {
		dWeight[c] += d * si[c] * sj[c]
	}
}
