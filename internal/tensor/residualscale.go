package tensor

// ResidualScale is a residual branch times a learned scalar: Y = A + Scale·B.
type ResidualScale struct {
	Y     *Tensor `op:"write"` // [R, d]
	A, B  *Tensor // [R, d]
	Scale *Tensor // [1]
}

func (ResidualScale) Name() string { return "residualscale" }
func (k ResidualScale) check() {
	same("residualscale", k.Y, k.A)
	same("residualscale", k.Y, k.B)
	words("residualscale", k.Scale, 1)
}

// ResidualScaleBackward: DB = Scale·DY, DScale = Σ DY·B. The gradient of A is
// DY itself. A layer's two branches share the scalar, hence Accumulate.
type ResidualScaleBackward struct {
	DB         *Tensor `op:"write"`      // [R, d]
	DScale     *Tensor `op:"accumulate"` // [1]
	DY, B      *Tensor // [R, d]
	Scale      *Tensor // [1]
	Accumulate bool    // DScale += instead of =
}

func (ResidualScaleBackward) Name() string { return "residualscale_backward" }
func (k ResidualScaleBackward) check() {
	same("residualscale_backward", k.DB, k.DY)
	same("residualscale_backward", k.B, k.DY)
}
