package spectra

import "math"

// MuLaw is the id of a sample x from −1 to 1: the 8 bits of the µ-law, whose steps are the
// finer the softer the sound,
//
//	round(127.5 (1 + sgn(x) ln(1 + 255|x|) / ln 256))
func MuLaw(x float32) int32 {
	y := math.Log1p(255*math.Abs(float64(x))) / math.Log(256)
	return int32(math.Round(127.5 * (1 + math.Copysign(y, float64(x)))))
}

// Levels is the number of ids that [MuLaw] gives.
const Levels = 256

// Sample is the sample in the middle of those whose id is given: the inverse of [MuLaw].
func Sample(id int32) float32 { return samples[id] }

var samples = func() (x [Levels]float32) {
	for id := range x {
		y := float64(id)/127.5 - 1
		x[id] = float32(math.Copysign(math.Expm1(math.Abs(y)*math.Log(256))/255, y))
	}
	return x
}()
