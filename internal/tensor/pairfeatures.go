package tensor

// PairFeatures combines the two pooled sequences u and v of each example: Y = [u, v, u∘v, u−v]. u and
// v are consecutive rows of X.
type PairFeatures struct {
	Y *Tensor `op:"write" shape:"E,4d"`
	X *Tensor `shape:"B,d"` // B = 2E
}

// PairFeaturesBackward computes the gradients of u and v, which are consecutive rows of DX. For a
// row [a, b, c, e] of DY, du = a + c∘v + e and dv = b + c∘u − e.
type PairFeaturesBackward struct {
	DX *Tensor `op:"write" shape:"B,d"`
	DY *Tensor `shape:"E,4d"`
	X  *Tensor `shape:"B,d"`
}
