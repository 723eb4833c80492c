package philox

// Constants of Philox4x32-10 for implementations in other languages (see [Words]).
const (
	Rounds      = 10
	Multiplier0 = multiplier0
	Multiplier1 = multiplier1
	Weyl0       = weyl0
	Weyl1       = weyl1
)
