package tensor

// ResidualScale is a residual branch times a learned scalar: Y = A + Scale·B.
type ResidualScale struct {
	Y, A, B *Tensor // [R, d]
	Scale   *Tensor // [1]
}

func (ResidualScale) Name() string        { return "residualscale" }
func (k ResidualScale) Reads() []*Tensor  { return []*Tensor{k.A, k.B, k.Scale} }
func (k ResidualScale) Writes() []*Tensor { return []*Tensor{k.Y} }
func (k ResidualScale) check() {
	same("residualscale", k.Y, k.A)
	same("residualscale", k.Y, k.B)
	words("residualscale", k.Scale, 1)
}

// ResidualScaleBackward: DB = Scale·DY, DScale = Σ DY·B. The gradient of A is
// DY itself. A layer's two branches share the scalar, hence Accumulate.
type ResidualScaleBackward struct {
	DB         *Tensor // [R, d]
	DScale     *Tensor // [1]
	DY, B      *Tensor // [R, d]
	Scale      *Tensor // [1]
	Accumulate bool    // DScale += instead of =
}

func (ResidualScaleBackward) Name() string { return "residualscale_backward" }
func (k ResidualScaleBackward) Reads() []*Tensor {
	return append(accumulated(k.Accumulate, k.DScale), k.DY, k.B, k.Scale)
}
func (k ResidualScaleBackward) Writes() []*Tensor { return []*Tensor{k.DB, k.DScale} }
func (k ResidualScaleBackward) check() {
	same("residualscale_backward", k.DB, k.DY)
	same("residualscale_backward", k.B, k.DY)
}
