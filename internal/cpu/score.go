package cpu

import "math"

// The mean and the inverse deviation of max(q, k) for standard normal q and k.
var (
	standardMean  = float32(1 / math.Sqrt(math.Pi))
	standardScale = float32(1 / math.Sqrt(1-1/math.Pi))
)
