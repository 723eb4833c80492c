package fmath

import "testing"

var sink float32

// BenchmarkFunctions measures one call per iteration. The signs of the numbers x have no pattern for
// a branch predictor to learn.
func BenchmarkFunctions(b *testing.B) {
	var x [4096]float32
	state := uint32(1)
	for i := range x {
		state = state*1664525 + 1013904223
		x[i] = float32(int32(state)) / (1 << 29)
	}
	var u [4096]float32
	for i := range u {
		u[i] = (abs(x[i]) + 1e-3) / 4.01
	}
	for _, c := range []struct {
		name string
		f    func(float32) float32
		x    *[4096]float32
	}{
		{"Exp", Exp, &x}, {"Log", Log, &u}, {"Gumbel", Gumbel, &u},
		{"Softplus", Softplus, &x}, {"Sigmoid", Sigmoid, &x}, {"LogSoftplus", LogSoftplus, &x},
		{"Rho", Rho, &x}, {"GELU", GELU, &x}, {"GELUGrad", GELUGrad, &x},
		{"SoftplusSigmoid", func(x float32) float32 { a, b := SoftplusSigmoid(x); return a + b }, &x},
	} {
		b.Run(c.name, func(b *testing.B) {
			var sum float32
			for i := range b.N {
				sum += c.f(c.x[i&4095])
			}
			sink = sum
		})
	}
}
