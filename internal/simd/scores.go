package simd

// Scores are the kernels of sampled attention.
type Scores struct {
}

var scoresGo = Scores{}
