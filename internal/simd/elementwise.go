package simd

import "math"

// Elementwise has the kernels of long vectors. The results are the first arguments. Lengths follow
// from one slice, which is named; the others must not be shorter. A result may be the same memory
// as an operand of the same shape, but must not overlap it otherwise.
//
// The functions are those of package fmath with fused products and additions, and have the same
// error bounds and special values. The order of a sum depends on the number of its terms alone.
type Elementwise struct {
	// Exp, Softplus and Sigmoid are y = f(x), len(y) elements.
	Exp, Softplus, Sigmoid func(y, x []float32)

	// Max returns the maximum of len(x) elements, −Inf if there are none, and ignores NaNs. ExpSum
	// is y = e^(x − top) for x ≤ top, len(y) elements, and returns Σ y.
	Max    func(x []float32) float32
	ExpSum func(y, x []float32, top float32) float32

	// GELU is y = x·Φ(x), GELUBackward dx = dy·(Φ(x) + x·φ(x)), len(y) and
	// len(dx) elements.
	GELU         func(y, x []float32)
	GELUBackward func(dx, dy, x []float32)

	// Add is y = a + b, AddScaled y = a + scale·b, Scale y = scale·x, each of
	// len(y) elements.
	Add       func(y, a, b []float32)
	AddScaled func(y, a, b []float32, scale float32)
	Scale     func(y, x []float32, scale float32)

	// LayerNorm is y = gain·(x − mean)·rstd + bias for len(mean) rows of
	// len(gain) elements, rstd = 1/√(variance + eps).
	LayerNorm func(y, mean, rstd, x, gain, bias []float32, eps float32)

	// LayerNormBackward is dx = rstd·(g − mean(g) − x̂·mean(g·x̂)) with
	// x̂ = (x − mean)·rstd and g = gain·dy; LayerNormBackwardAdd adds that to dx.
	// Both add Σ dy·x̂ to dgain and Σ dy to dbias, row after row.
	LayerNormBackward, LayerNormBackwardAdd func(dx, dgain, dbias, dy, x, mean, rstd, gain []float32)

	// RowDot is yᵢ = xᵢ·w + bias for len(y) rows of len(w) elements. Equal rows
	// give the same bits.
	RowDot func(y, x, w []float32, bias float32)
	// AddOuter is yᵢ += aᵢ·w for len(a) rows of len(w) elements.
	AddOuter func(y, a, w []float32)
	// WeightedSum is y = Σ aᵢ·xᵢ for len(a) rows of len(y) elements, each element one chain of
	// additions from the first row to the last.
	WeightedSum func(y, a, x []float32)
	// AddRows is y[at[i]·stride + c] += x[i·stride + c], 0 ≤ c < width, for one i
	// after the other.
	AddRows func(y, x []float32, at []int32, width, stride int)
	// PoolBackward is dxᵢ = aᵢ·dy and dscoreᵢ = aᵢ·Σ dy·(xᵢ − y) for len(a) rows
	// of len(dy) elements.
	PoolBackward func(dx, dscore, a, x, dy, y []float32)

	// Convolution is yᵢ = bias + Σ weightₜ∘x[i·d + t·step …] for len(y)/d rows of d =
	// len(bias) elements and len(weight)/d taps, added in their order.
	Convolution func(y, x, weight, bias []float32, step int)
	// ConvolutionBackward adds Σ weightₜ∘gᵢₜ to dxᵢ, tap by tap, and gᵢₜ∘xᵢ to
	// dweightₜ, row by row, for len(x)/d rows and len(weight)/d taps, where gᵢₜ is
	// dy[i·d + (taps − 1 − t)·step …].
	ConvolutionBackward func(dx, dweight, dy, x, weight []float32, d, step int)

	// Mix is y = weight·a + (1 − weight)·b for len(y) elements. MixBackward adds
	// weight·dy to da and (1 − weight)·dy to db and returns Σ dy·(a − b), for
	// len(dy) elements.
	Mix         func(y, a, b []float32, weight float32)
	MixBackward func(da, db, dy, a, b []float32, weight float32) float32

	// Dropout is y = scale·x where bits 9 … 31 of a random word are at least least, else 0, for
	// len(y) elements. Element i uses word i&3 of Philox4x32-10 for the key and the counter with
	// its first word increased by i>>2.
	Dropout func(y, x []float32, counter *[4]uint32, key *[2]uint32, least uint32, scale float32)

	// Draw is the first word of Philox4x32-10 for the key and the counter with its first word
	// replaced by atᵢ, for len(words) elements. Words may share the memory of at.
	Draw func(words []uint32, counter *[4]uint32, key *[2]uint32, at []int32)

	// SumSquares returns Σ x², in float64.
	SumSquares func(x []float32) float64
	// AdamW updates len(w) weights and their moments by one step with gradient g.
	AdamW func(w, m, v, g []float32, c *AdamWFactors)
}

// AdamWFactors are the factors of an AdamW step that all parameters share: with
// g' = c[0]·g
//
//	m = c[1]·m + c[2]·g'
//	v = c[3]·v + c[4]·g'²
//	w = c[9]·w + c[7]·c[5]·m/(√(c[6]·v) + c[8])
//
// that is gradient scale, β1, 1 − β1, β2, 1 − β2, both corrections, −learning
// rate, ε and 1 − learning rate·decay.
type AdamWFactors = [10]float32

// Least returns Dropout's bound for a rate: u ≥ rate for the uniform number u = (m + ½)·2⁻²³ of
// [sftseq/internal/philox.Uniform] exactly if m ≥ Least.
func Least(rate float32) uint32 {
	return uint32(max(0, math.Ceil(float64(rate)*(1<<23)-0.5)))
}
