package simd

import "math"

// Elementwise holds the kernels for long vectors. Results are the first arguments. The comment of a
// kernel names the slice that determines the lengths; the other slices must not be shorter. In kernels that
// map elements, and in LayerNorm, LayerNormBackward and PoolBackward, an overwritten result may share
// the memory of an operand of the same shape. Results must not overlap operands otherwise.
//
// Mathematical functions have the error bounds and special values of package fmath, except that the
// slope of GELU at an infinity may be its limit. The assembly uses fused multiply-adds. The order of
// the terms of a sum depends only on their number.
type Elementwise struct {
	// Exp, Softplus and Sigmoid compute y = f(x) for len(y) elements.
	Exp, Softplus, Sigmoid func(y, x []float32)

	// Max returns the maximum of len(x) elements, ignoring NaN; −Inf without elements. ExpSum
	// computes y = e^(x − top) for len(y) elements with x ≤ top, and returns Σ y.
	Max    func(x []float32) float32
	ExpSum func(y, x []float32, top float32) float32

	// GELU computes y = x·Φ(x) for len(y) elements, GELUBackward dx = dy·(Φ(x) + x·φ(x)) for
	// len(dx) elements.
	GELU         func(y, x []float32)
	GELUBackward func(dx, dy, x []float32)

	// For len(y) elements, Add computes y = a + b, AddScaled y = a + scale·b, and Scale y =
	// scale·x.
	Add       func(y, a, b []float32)
	AddScaled func(y, a, b []float32, scale float32)
	Scale     func(y, x []float32, scale float32)

	// LayerNorm computes y = gain·(x − mean)·rstd + bias for len(mean) rows of len(gain) elements. It
	// also computes mean and rstd = 1/√(variance + eps) of each row.
	LayerNorm func(y, mean, rstd, x, gain, bias []float32, eps float32)

	// LayerNormBackward computes dx = rstd·(g − mean(g) − x̂·mean(g·x̂)) with x̂ = (x − mean)·rstd
	// and g = gain·dy, for len(mean) rows of len(gain) elements. LayerNormBackwardAdd adds this gradient
	// to dx. Both add Σ dy·x̂ to dgain and Σ dy to dbias, row after row.
	LayerNormBackward, LayerNormBackwardAdd func(dx, dgain, dbias, dy, x, mean, rstd, gain []float32)

	// RowDot computes yᵢ = xᵢ·w + bias for len(y) rows of len(w) elements. The results of equal rows
	// are bitwise identical.
	RowDot func(y, x, w []float32, bias float32)
	// AddOuter computes yᵢ += aᵢ·w for len(a) rows of len(w) elements.
	AddOuter func(y, a, w []float32)
	// WeightedSum computes y = Σ aᵢ·xᵢ for len(a) rows of len(y) elements. The terms of each
	// element are added from the first row to the last.
	WeightedSum func(y, a, x []float32)
	// AddRows computes y[at[i]·stride + c] += x[i·stride + c] for 0 ≤ i < len(at), in ascending order,
	// and 0 ≤ c < width.
	AddRows func(y, x []float32, at []int32, width, stride int)
	// PoolBackward computes dxᵢ = aᵢ·dy and dscoreᵢ = aᵢ·Σ dy·(xᵢ − y) for len(a) rows of len(dy)
	// elements.
	PoolBackward func(dx, dscore, a, x, dy, y []float32)

	// Convolution computes yᵢ = bias + Σ weightₜ∘x[i·d + t·step …] for len(y)/d rows of d =
	// len(bias) elements and len(weight)/d taps, added in order.
	Convolution func(y, x, weight, bias []float32, step int)
	// ConvolutionBackward adds Σ weightₜ∘gᵢₜ to dxᵢ, tap by tap, and gᵢₜ∘xᵢ to dweightₜ, row by
	// row, for len(x)/d rows and len(weight)/d taps. gᵢₜ is dy[i·d + (taps − 1 − t)·step …].
	ConvolutionBackward func(dx, dweight, dy, x, weight []float32, d, step int)

	// Average computes h_s = decay_s∘h_s + xᵢ and zᵢ += gain_s∘h_s for rows i of n elements and for the
	// states s = 0, 1 … of decay; h is the slice state. Row i begins at index first + i·step; step may be
	// negative. Vector s of state, decay and gain begins at index s·d.
	Average func(z, state, x, decay, gain []float32, n, d, first, step, rows int)
	// AverageBackward computes, for the same rows and states and in this order, w_s = decay_s∘w_s +
	// r_s, r_s = decay_s∘r_s + dzᵢ and dxᵢ += gain_s∘r_s, and adds Σ xᵢ∘r_s and Σ xᵢ∘w_s to sums. In
	// state and in sums the vectors of w follow those of r.
	AverageBackward func(dx, sums, state, dz, x, decay, gain []float32, n, d, first, step, rows int)

	// Mix computes y = weight·a + (1 − weight)·b for len(y) elements. MixBackward adds weight·dy to
	// da and (1 − weight)·dy to db for len(dy) elements, and returns Σ dy·(a − b).
	Mix         func(y, a, b []float32, weight float32)
	MixBackward func(da, db, dy, a, b []float32, weight float32) float32

	// Dropout computes, for len(y) elements, y = scale·x if the number in bits 9 … 31 of a random
	// word is ≥ threshold, and y = 0 otherwise. Element i uses word i&3 of Philox4x32-10 for the key and
	// the counter with its first word increased by i>>2.
	Dropout func(y, x []float32, counter *[4]uint32, key *[2]uint32, threshold uint32, scale float32)

	// Draw computes, for len(words) elements, the first word of Philox4x32-10 for the key and the
	// counter with its first word replaced by atᵢ. words may share the memory of at.
	Draw func(words []uint32, counter *[4]uint32, key *[2]uint32, at []int32)

	// SumSquares returns Σ x², in float64.
	SumSquares func(x []float32) float64
	// AdamW updates len(w) weights and their moments in one step with gradient g.
	AdamW func(w, m, v, g []float32, c *AdamWFactors)
}

// AdamWFactors holds the factors of an AdamW step that all parameters share. With g' = c[0]·g, the
// step is
//
//	m = c[1]·m + c[2]·g'
//	v = c[3]·v + c[4]·g'²
//	w = c[9]·w + c[7]·c[5]·m/(√(c[6]·v) + c[8])
//
// The factors are, in the order of their indices, the gradient scale, β1, 1 − β1, β2, 1 − β2, the bias
// corrections of m and v, −learning rate, ε and 1 − learning rate·decay.
type AdamWFactors = [10]float32

// DropoutThreshold returns the threshold of Dropout for a rate. For the uniform number u = (m + ½)·2⁻²³ of
// [philox.Uniform], u ≥ rate is equivalent to m ≥ DropoutThreshold(rate).
func DropoutThreshold(rate float32) uint32 {
	return uint32(max(0, math.Ceil(float64(rate)*(1<<23)-0.5)))
}
