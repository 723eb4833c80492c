package tensor

// LayerNorm normalises rows: Y = Gain·(X − mean)·rstd + Bias with rstd = 1/√(variance + Eps), where
// the variance is the sum of squared deviations divided by d.
type LayerNorm struct {
	Y          *Tensor `op:"write" shape:"R,d"`
	X          *Tensor `shape:"R,d"`
	Mean, RStd *Tensor `op:"write" shape:"R"` // saved for the backward pass
	Gain, Bias *Tensor `shape:"d"`
	Eps        float32
}

// LayerNormBackward computes, with x̂ = (X − mean)·rstd and g = Gain·DY, DX = rstd·(g − mean(g) −
// x̂·mean(g·x̂)), DGain = Σ DY·x̂, DBias = Σ DY.
type LayerNormBackward struct {
	DX           *Tensor `op:"accumulate" shape:"R,d"`
	DGain, DBias *Tensor `op:"write" shape:"d"`
	DY, X        *Tensor `shape:"R,d"`
	Mean, RStd   *Tensor `shape:"R"`
	Gain         *Tensor `shape:"d"`
	Accumulate   bool    // add to DX instead of assigning it
}
