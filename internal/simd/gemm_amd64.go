package simd

var (
	productsAVX2 = Products{16, []tile{
		{6, gemm6AVX2}, {4, gemm4AVX2}, {2, gemm2AVX2}, {1, gemm1AVX2},
	}, packRowsAVX2}
	productsAVX512 = Products{32, []tile{
		{14, gemm14AVX512}, {8, gemm8AVX512}, {4, gemm4AVX512}, {2, gemm2AVX512}, {1, gemm1AVX512},
	}, packRowsAVX512}
)
