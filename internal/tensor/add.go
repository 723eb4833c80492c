package tensor

// Add computes Y = A + B, element by element. The gradient of each operand is the gradient of Y.
type Add struct {
	Y    *Tensor `op:"write" shape:"R,n"`
	A, B *Tensor `shape:"R,n"`
}

// Zero sets Y = 0, for example the gradient of a parameter that the program does not use.
type Zero struct {
	Y *Tensor `op:"write"`
}
