package tensor

// LayerNorm normalises rows: Y = Gain·(X − mean)·rstd + Bias with
// rstd = 1/√(variance + Eps), the variance divided by d.
type LayerNorm struct {
	Y          *Tensor `op:"write"` // [R, d]
	X          *Tensor // [R, d]
	Mean, RStd *Tensor `op:"write"` // [R], saved for the backward
	Gain, Bias *Tensor // [d]
	Eps        float32
}

func (LayerNorm) Name() string { return "layernorm" }
func (k LayerNorm) check() {
	same("layernorm", k.Y, k.X)
	words("layernorm", k.Gain, k.X.Width())
	words("layernorm", k.Bias, k.X.Width())
}

// LayerNormBackward: with x̂ = (X − mean)·rstd and g = Gain·DY,
// DX = rstd·(g − mean(g) − x̂·mean(g·x̂)), DGain = Σ DY·x̂, DBias = Σ DY.
type LayerNormBackward struct {
	DX           *Tensor `op:"accumulate"` // [R, d]
	DGain, DBias *Tensor `op:"write"`      // [d]
	DY, X        *Tensor // [R, d]
	Mean, RStd   *Tensor // [R]
	Gain         *Tensor // [d]
	Accumulate   bool    // DX += instead of =
}

func (LayerNormBackward) Name() string { return "layernorm_backward" }
func (k LayerNormBackward) check() {
	same("layernorm_backward", k.DX, k.X)
	same("layernorm_backward", k.DY, k.X)
	words("layernorm_backward", k.DGain, k.X.Width())
}
