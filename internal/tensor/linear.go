package tensor

// Linear is a linear layer: Y = X·Weightᵀ + Bias.
type Linear struct {
	Y      *Tensor `op:"write"` // [R, out]
	X      *Tensor // [R, in]
	Weight *Tensor // [out, in]
	Bias   *Tensor // [out]
}

func (Linear) Name() string { return "linear" }
func (k Linear) check() {
	rows("linear", k.Y, k.X)
	width("linear", k.X, k.Weight.Width())
	width("linear", k.Y, k.Weight.Shape[0])
	words("linear", k.Bias, k.Weight.Shape[0])
}

// LinearBackward: DX = DY·Weight, DWeight = DYᵀ·X, DBias = Σ DY.
type LinearBackward struct {
	DX         *Tensor `op:"accumulate"` // [R, in]
	DWeight    *Tensor `op:"write"`      // [out, in]
	DBias      *Tensor `op:"write"`      // [out]
	DY         *Tensor // [R, out]
	X          *Tensor // [R, in]
	Weight     *Tensor // [out, in]
	Accumulate bool    // DX += instead of =
}

func (LinearBackward) Name() string { return "linear_backward" }
func (k LinearBackward) check() {
	same("linear_backward", k.DX, k.X)
	width("linear_backward", k.X, k.Weight.Width())
	width("linear_backward", k.DY, k.Weight.Shape[0])
	words("linear_backward", k.DWeight, k.Weight.Words())
	words("linear_backward", k.DBias, k.Weight.Shape[0])
}
