package tensor

// GELU computes Y = X·Φ(X), exactly (with erf).
type GELU struct {
	Y *Tensor `op:"write" shape:"R,n"`
	X *Tensor `shape:"R,n"`
}

// GELUBackward computes DX = DY·(Φ(X) + X·φ(X)).
type GELUBackward struct {
	DX    *Tensor `op:"write" shape:"R,n"`
	DY, X *Tensor `shape:"R,n"`
}
