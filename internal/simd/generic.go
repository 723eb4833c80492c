package simd

// generic is the level in plain Go.
var generic = &Kernels{"go", 8, productsGo, scoresGo, elementwiseGo, peaksGo}
