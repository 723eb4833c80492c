package simd

var (
	elementwiseAVX2   = Elementwise{}
	elementwiseAVX512 = Elementwise{}
)
