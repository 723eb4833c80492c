package simd

import "golang.org/x/sys/cpu"

var levels = func() []*Kernels {
	ks := []*Kernels{generic}
	if x := cpu.X86; x.HasAVX2 && x.HasFMA {
		ks = append([]*Kernels{{"avx2", 8, productsAVX2, scoresAVX2, elementwiseAVX2, peaksAVX2}}, ks...)
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
			ks = append([]*Kernels{{"avx512", 16, productsAVX512, scoresAVX512, elementwiseAVX512, peaksAVX512}}, ks...)
		}
	}
	return ks
}()
