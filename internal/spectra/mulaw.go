package spectra

import "math"

// MuLaw returns the id of a sample x in −1 … 1. It encodes the sample in 8 bits by the µ-law, whose
// steps are finer for quieter samples:
//
//	round(127.5 (1 + sgn(x) ln(1 + 255|x|) / ln 256))
func MuLaw(x float32) int32 {
	y := math.Log1p(255*math.Abs(float64(x))) / math.Log(256)
	return int32(math.Round(127.5 * (1 + math.Copysign(y, float64(x)))))
}

// Levels is the number of ids of [MuLaw].
const Levels = 256

// Sample returns the sample whose µ-law value before rounding is id. It inverts [MuLaw]:
// MuLaw(Sample(id)) = id.
func Sample(id int32) float32 { return samples[id] }

var samples = func() (x [Levels]float32) {
	for id := range x {
		y := float64(id)/127.5 - 1
		x[id] = float32(math.Copysign(math.Expm1(math.Abs(y)*math.Log(256))/255, y))
	}
	return x
}()
