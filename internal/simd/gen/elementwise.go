package main

// elementwise emits the kernels of simd.Elementwise.
func elementwise(v isa) {
	maps(v)
	gelus(v)
	softmax(v)
	layerNorms(v)
	rowKernels(v)
	convolutions(v)
	averages(v)
	dropout(v)
	draw(v)
	optimizer(v)
}
