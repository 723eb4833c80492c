package simd

// Products are the micro-kernels of the matrix product.
type Products struct {
}

var productsGo = Products{}
