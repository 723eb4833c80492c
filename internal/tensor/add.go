package tensor

// Add computes Y = A + B, element by element. The gradient of both operands is the gradient of Y.
type Add struct {
	Y    *Tensor `op:"write" shape:"R,n"`
	A, B *Tensor `shape:"R,n"`
}

// Zero sets Y = 0. It clears the gradient of a parameter that the configuration does not use.
type Zero struct {
	Y *Tensor `op:"write"`
}
