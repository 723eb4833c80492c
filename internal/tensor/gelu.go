package tensor

// GELU: Y = X·Φ(X), exact (erf).
type GELU struct{ Y, X *Tensor } // [R, n]

func (GELU) Name() string        { return "gelu" }
func (k GELU) Reads() []*Tensor  { return []*Tensor{k.X} }
func (k GELU) Writes() []*Tensor { return []*Tensor{k.Y} }
func (k GELU) check()            { same("gelu", k.Y, k.X) }

// GELUBackward: DX = DY·(Φ(X) + X·φ(X)).
type GELUBackward struct{ DX, DY, X *Tensor } // [R, n]

func (GELUBackward) Name() string        { return "gelu_backward" }
func (k GELUBackward) Reads() []*Tensor  { return []*Tensor{k.DY, k.X} }
func (k GELUBackward) Writes() []*Tensor { return []*Tensor{k.DX} }
func (k GELUBackward) check() {
	same("gelu_backward", k.DX, k.X)
	same("gelu_backward", k.DY, k.X)
}
