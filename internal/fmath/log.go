package fmath

import "math"

// Log returns the natural logarithm: with x = 2ᵉ·(1 + f), √½ ≤ 1 + f < √2,
//
//	log x = e·ln 2 + f − f²/2 + f³·P(f).
//
// The relative error is below 1.2e-7, even near 1, where f is exact. Log(0) is −Inf, and Log of a
// negative number is NaN. Log(+Inf) is +Inf, and Log(NaN) is NaN. The bound holds for subnormal x, too.
func Log(x float32) float32 {
	b := math.Float32bits(x)
	if b-0x00800000 >= infinity-0x00800000 { // not a positive normal number
		return logSpecial(x)
	}
	return logNormal(b, 0)
}

// logNormal returns log(2^exponent·x) for the bits b of a positive normal x.
func logNormal(b uint32, exponent int32) float32 {
	const sqrtHalf = 0x3f3504f3
	k := int32(b-sqrtHalf) >> 23
	f := math.Float32frombits(b-uint32(k)<<23) - 1
	e := float32(k + exponent)

	p := float32(-0x1.38b504p-4*f) + 0x1.055b4ap-3
	p = float32(p*f) - 0x1.0d854ap-3
	p = float32(p*f) + 0x1.22da22p-3
	p = float32(p*f) - 0x1.547244p-3
	p = float32(p*f) + 0x1.99a008p-3
	p = float32(p*f) - 0x1.000226p-2
	p = float32(p*f) + 0x1.555554p-2
	f2 := float32(f * f)
	y := float32(float32(f*f2)*p) + float32(e*ln2Low)
	y -= float32(0.5 * f2)
	return f + y + float32(e*ln2High)
}

func logSpecial(x float32) float32 {
	switch {
	case x == 0:
		return math.Float32frombits(infinity | 1<<31)
	case x < 0:
		return math.Float32frombits(0x7fc00000)
	case x < 1: // subnormal
		return logNormal(math.Float32bits(x*(1<<23)), -23)
	}
	return x // +Inf or NaN
}

// log1pTail returns Q(z) = (z − log(1+z))/z² for 0 ≤ z ≤ 1. It uses a polynomial instead of the
// shorter series in z/(2+z), because Vulkan does not guarantee correctly rounded divisions.
func log1pTail(z float32) float32 {
	z2 := float32(z * z)
	z4 := float32(z2 * z2)
	q01 := float32(-0x1.554df0p-2*z) + 0x1.ffffd2p-2
	q23 := float32(-0x1.935ca8p-3*z) + 0x1.ff26e2p-3
	q45 := float32(-0x1.b57a1ap-4*z) + 0x1.3a7a9cp-3
	q67 := float32(-0x1.4b08e6p-6*z) + 0x1.d863ccp-5
	q47 := q45 + float32(q67*z2) + float32(0x1.b2f6bcp-9*z4)
	return q01 + float32(q23*z2) + float32(q47*z4)
}

// Gumbel returns −log(−log u) for 0 < u < 1: standard Gumbel noise from a uniform number. The
// absolute error is below 6e-7 for the uniform numbers of package philox. For the largest u, the
// bound relies on the relative accuracy of Log near 1.
func Gumbel(u float32) float32 {
	return -Log(-Log(u))
}
