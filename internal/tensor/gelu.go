package tensor

// GELU: Y = X·Φ(X), exact (erf).
type GELU struct {
	Y *Tensor `op:"write"` // [R, n]
	X *Tensor // [R, n]
}

func (GELU) Name() string { return "gelu" }
func (k GELU) check()     { same("gelu", k.Y, k.X) }

// GELUBackward: DX = DY·(Φ(X) + X·φ(X)).
type GELUBackward struct {
	DX    *Tensor `op:"write"` // [R, n]
	DY, X *Tensor // [R, n]
}

func (GELUBackward) Name() string { return "gelu_backward" }
func (k GELUBackward) check() {
	same("gelu_backward", k.DX, k.X)
	same("gelu_backward", k.DY, k.X)
}
