package simd

var (
	peaksAVX2   = peaks(8, fmaAVX2, maxAddAVX2, readAVX2)
	peaksAVX512 = peaks(16, fmaAVX512, maxAddAVX512, readAVX512)
)
