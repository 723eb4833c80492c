package simd

// Elementwise are the kernels of long vectors.
type Elementwise struct {
}

var elementwiseGo = Elementwise{}
