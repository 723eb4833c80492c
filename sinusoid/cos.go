package sinusoid

// Cos returns cos(2π·turn/2³²), the same bits on every platform. The absolute
// error is below 1.3e-7; the results stay within [−1, 1], and at the quarters
// of a turn they are exact.
//
// The angle's distance y from the nearest half turn, measured from a quarter
// turn, −2³⁰ ≤ y ≤ 2³⁰, is an exact integer, and with w = y·2⁻³⁰
//
//	cos(2π·turn/2³²) = sin(π/2·w) = w + w·P(w²),
//
// P the minimax polynomial of degree 4 (Remez, error 3.4e-9 of the sine). There is no
// fused multiplication and addition here, and a port must not introduce one.
func Cos(turn uint32) float32 {
	s := int32(turn)
	s = (s ^ s>>31) - s>>31 // |s|, where |−2³¹| wraps to −2³¹
	w := float32(int32(1<<30-uint32(s))) * (1.0 / (1 << 30))
	y := float32(w * w)
	p := float32(0x1.3c4b2ep-13*y) - 0x1.3232fap-8
	p = float32(p*y) + 0x1.46676ep-4
	p = float32(p*y) - 0x1.4abbb6p-1
	p = float32(p*y) + 0x1.243f6ap-1
	return w + float32(w*p)
}
