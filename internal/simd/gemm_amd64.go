package simd

var (
	productsAVX2 = Products{16, []tile{
		gemm1AVX2, gemm2AVX2, gemm3AVX2, gemm4AVX2, gemm5AVX2, gemm6AVX2,
	}, nil, packRowsAVX2, packColumnsAVX2}
	productsAVX512 = Products{32, []tile{
		gemm1AVX512, gemm2AVX512, gemm3AVX512, gemm4AVX512, gemm5AVX512, gemm6AVX512, gemm7AVX512,
		gemm8AVX512, gemm9AVX512, gemm10AVX512, gemm11AVX512, gemm12AVX512, gemm13AVX512, gemm14AVX512,
	}, []tile{
		gemmNarrow1AVX512, gemmNarrow2AVX512, gemmNarrow3AVX512, gemmNarrow4AVX512, gemmNarrow5AVX512,
		gemmNarrow6AVX512, gemmNarrow7AVX512,
		gemmNarrow8AVX512, gemmNarrow9AVX512, gemmNarrow10AVX512, gemmNarrow11AVX512, gemmNarrow12AVX512,
		gemmNarrow13AVX512, gemmNarrow14AVX512,
	}, packRowsAVX512, packColumnsAVX512}
)
