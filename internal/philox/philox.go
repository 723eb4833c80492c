// Package philox implements the counter-based random number generator of sft models, of their
// training and of data conversions. A random number depends only on the seed and a counter. Draws
// therefore need no state, order or locks, and are the same on every device, in every batch and after
// every resume.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. The
// variant is Philox4x32-10. [Counter] defines the layout of the counter.
package philox

const (
	multiplier0 = 0xD2511F53
	multiplier1 = 0xCD9E8D57
	weyl0       = 0x9E3779B9 // (√5 − 1)/2 in units of 2⁻³²
	weyl1       = 0xBB67AE85 // √3 − 1 in units of 2⁻³²
	mask32      = 1<<32 - 1  // truncates multiples of weyl0 and weyl1, which are untyped constants
)

// Words returns the four random words of Philox4x32-10 for the counter and the
// key = (low 32 bits of seed, high 32 bits of seed). One round is
//
//	(c0, c1, c2, c3) ← (hi(M1·c2) ⊕ c1 ⊕ k0, lo(M1·c2), hi(M0·c0) ⊕ c3 ⊕ k1, lo(M0·c0))
//
// and the key increases by the two Weyl constants between rounds.
func Words(seed uint64, counter [4]uint32) [4]uint32 {
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := uint32(seed), uint32(seed>>32)
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0, k1)
	c0, c1, c2, c3 = lastRounds(c0, c1, c2, c3, k0, k1)
	return [4]uint32{c0, c1, c2, c3}
}

// lastRounds computes the rounds after the first. They are unrolled, because each key then costs only
// the addition of a constant.
func lastRounds(c0, c1, c2, c3, k0, k1 uint32) (uint32, uint32, uint32, uint32) {
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(weyl0&mask32), k1+(weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(2*weyl0&mask32), k1+(2*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(3*weyl0&mask32), k1+(3*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(4*weyl0&mask32), k1+(4*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(5*weyl0&mask32), k1+(5*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(6*weyl0&mask32), k1+(6*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(7*weyl0&mask32), k1+(7*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(8*weyl0&mask32), k1+(8*weyl1&mask32))
	c0, c1, c2, c3 = round(c0, c1, c2, c3, k0+(9*weyl0&mask32), k1+(9*weyl1&mask32))
	return c0, c1, c2, c3
}

func round(c0, c1, c2, c3, k0, k1 uint32) (uint32, uint32, uint32, uint32) {
	a, b := multiplier0*uint64(c0), multiplier1*uint64(c2)
	return uint32(b>>32) ^ c1 ^ k0, uint32(b), uint32(a>>32) ^ c3 ^ k1, uint32(a)
}

// Uniform returns u = ((word >> 9) + ½)·2⁻²³. The 24 significant bits fit a float32, so u is exact
// and lies strictly between 0 and 1.
func Uniform(word uint32) float32 {
	return (float32(word>>9) + 0.5) * (1.0 / (1 << 23))
}

// Counter returns (e, tower<<31 | layer<<8 | stream, example, step), the counter of one draw. tower
// is 0 or 1, layer < 2²³ and stream < 2⁸; e is the index of the draw within the stream.
func Counter(e, tower, layer, stream, example, step uint32) [4]uint32 {
	return [4]uint32{e, tower<<31 | layer<<8 | stream, example, step}
}
