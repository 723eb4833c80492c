package simd

var (
	productsAVX2   = Products{}
	productsAVX512 = Products{}
)
