package simd

var (
	peaksAVX2   = Peaks{}
	peaksAVX512 = Peaks{}
)
