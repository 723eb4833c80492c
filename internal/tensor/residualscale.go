package tensor

// ResidualScale adds a residual branch times a learned scalar: Y = A + Scale·B.
type ResidualScale struct {
	Y     *Tensor `op:"write" shape:"R,d"`
	A, B  *Tensor `shape:"R,d"`
	Scale *Tensor `shape:"1"`
}

// ResidualScaleBackward computes DB = Scale·DY, DScale = Σ DY·B. The gradient of A is DY. The two
// branches of a layer share the scalar, hence Accumulate.
type ResidualScaleBackward struct {
	DB         *Tensor `op:"write" shape:"R,d"`
	DScale     *Tensor `op:"accumulate" shape:"1"`
	DY, B      *Tensor `shape:"R,d"`
	Scale      *Tensor `shape:"1"`
	Accumulate bool    // add to DScale instead of assigning it
}
