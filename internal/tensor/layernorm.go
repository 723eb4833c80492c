package tensor

// LayerNorm normalises rows: Y = Gain·(X − mean)·rstd + Bias with
// rstd = 1/√(variance + Eps), the variance divided by d.
type LayerNorm struct {
	Y, X       *Tensor // [R, d]
	Mean, RStd *Tensor // [R], saved for the backward
	Gain, Bias *Tensor // [d]
	Eps        float32
}

func (LayerNorm) Name() string        { return "layernorm" }
func (k LayerNorm) Reads() []*Tensor  { return []*Tensor{k.X, k.Gain, k.Bias} }
func (k LayerNorm) Writes() []*Tensor { return []*Tensor{k.Y, k.Mean, k.RStd} }
func (k LayerNorm) check() {
	same("layernorm", k.Y, k.X)
	words("layernorm", k.Gain, k.X.Width())
	words("layernorm", k.Bias, k.X.Width())
}

// LayerNormBackward: with x̂ = (X − mean)·rstd and g = Gain·DY,
// DX = rstd·(g − mean(g) − x̂·mean(g·x̂)), DGain = Σ DY·x̂, DBias = Σ DY.
type LayerNormBackward struct {
	DX           *Tensor // [R, d]
	DGain, DBias *Tensor // [d]
	DY, X        *Tensor // [R, d]
	Mean, RStd   *Tensor // [R]
	Gain         *Tensor // [d]
	Accumulate   bool    // DX += instead of =
}

func (LayerNormBackward) Name() string { return "layernorm_backward" }
func (k LayerNormBackward) Reads() []*Tensor {
	return append(accumulated(k.Accumulate, k.DX), k.DY, k.X, k.Mean, k.RStd, k.Gain)
}
func (k LayerNormBackward) Writes() []*Tensor { return []*Tensor{k.DX, k.DGain, k.DBias} }
func (k LayerNormBackward) check() {
	same("layernorm_backward", k.DX, k.X)
	same("layernorm_backward", k.DY, k.X)
	words("layernorm_backward", k.DGain, k.X.Width())
}

// accumulated lists an output that is added to, which makes it an input too.
func accumulated(yes bool, t *Tensor) []*Tensor {
	if yes {
		return []*Tensor{t}
	}
	return nil
}
