package simd

var (
	scoresAVX2   = Scores{}
	scoresAVX512 = Scores{}
)
