package tensor

// Linear computes a linear layer: Y = X·Weightᵀ + Bias.
type Linear struct {
	Y      *Tensor `op:"write" shape:"R,out"`
	X      *Tensor `shape:"R,in"`
	Weight *Tensor `shape:"out,in"`
	Bias   *Tensor `shape:"out"`
}

// LinearBackward computes DX = DY·Weight, DWeight = DYᵀ·X, DBias = Σ DY.
type LinearBackward struct {
	DX         *Tensor `op:"accumulate" shape:"R,in"`
	DWeight    *Tensor `op:"write" shape:"out,in"`
	DBias      *Tensor `op:"write" shape:"out"`
	DY         *Tensor `shape:"R,out"`
	X          *Tensor `shape:"R,in"`
	Weight     *Tensor `shape:"out,in"`
	Accumulate bool    // add to DX instead of assigning it
}
