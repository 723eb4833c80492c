package fmath

import "math"

const (
	log2e = 1.44269504088896340736
	// ln 2 as a sum of two parts. ln2High has 9 bits, so that its product with the integer n of the
	// reduction, |n| ≤ 149, is exact.
	ln2High = 0.693359375
	ln2Low  = -2.12194440054690583e-4
	// Adding 1.5·2²³ rounds to an integer and stores it in the low bits.
	roundToInt = 12582912

	expHigh = 88.72283  // the largest x with a finite eˣ
	expLow  = -87.33654 // the smallest x with eˣ ≥ 2⁻¹²⁶
)

// Exp returns eˣ: with n = round(x/ln 2), r = x − n·ln 2 and |r| ≤ ½ ln 2,
//
//	eˣ = 2ⁿ (1 + r + r²·P(r)).
//
// The relative error is below 1.1e-7. The result is +Inf above 88.72283, and 0 below −87.33654,
// where eˣ would be subnormal. Exp(NaN) is NaN.
func Exp(x float32) float32 {
	if !(x <= expHigh) {
		if x != x {
			return x
		}
		return math.Float32frombits(infinity)
	}
	if x < expLow {
		return 0
	}
	t := float32(x*log2e) + roundToInt
	n := math.Float32bits(t) // the low bits are n; the shift removes the others
	k := t - roundToInt
	r := x - float32(k*ln2High)
	r -= float32(k * ln2Low)

	r2 := float32(r * r)
	p := float32(0x1.6a2358p-10*r2) + (float32(0x1.123a6ap-7*r) + 0x1.5558f4p-5)
	p = float32(p*r2) + (float32(0x1.555490p-3*r) + 0x1.fffffcp-2)
	y := float32(p*r2) + r + 1
	return math.Float32frombits(math.Float32bits(y) + n<<23)
}
