package sinusoid

// Cos returns cos(2π·turn/2³²), bitwise identical on every platform. The absolute error is below
// 1.3e-7. The results are within [−1, 1], and exact at the quarters of a turn.
//
// With turn as a signed integer, let d = 2³⁰ − |turn|: the signed distance from a quarter turn, an
// integer with −2³⁰ ≤ d ≤ 2³⁰. With w = d·2⁻³⁰
//
//	cos(2π·turn/2³²) = sin(π/2·w) = w + w·P(w²),
//
// where P is the minimax polynomial of degree 4 (Remez; the error of the sine is 3.4e-9). The code has no
// fused multiply-add, and a port must not introduce one, as the bits would differ.
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
