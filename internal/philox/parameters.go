package philox

// What Philox4x32-10 consists of, for those who build it of other operations than Go's: see
// [Words].
const (
	Rounds      = 10
	Multiplier0 = multiplier0
	Multiplier1 = multiplier1
	Weyl0       = weyl0
	Weyl1       = weyl1
)
