package fmath

// The tail of the normal distribution: for a = |x|,
//
//	q(a) = 1 − Φ(a) = e^(−a²/2)·R(t),  t = 1/(1 + 0.3·a),
//
// where R is a polynomial without constant term (the form of Abramowitz and Stegun 7.1.26, fitted
// to a relative error of 1.2e-7 for 0 ≤ a ≤ 13.3; for larger a the exponential is 0). Φ(x) is 1 − q
// for x ≥ 0 and q for x < 0, without cancellation in either tail.

// GELU returns x·Φ(x), the exact (erf) GELU. The error is below 2e-7·max(1, |x|). GELU(−Inf) is
// NaN, the product of −Inf and 0.
func GELU(x float32) float32 {
	cdf, _ := normal(x)
	return x * cdf
}

// GELUGrad returns the derivative of GELU, Φ(x) + x·φ(x), with the density φ(x) = e^(−x²/2)/√(2π).
// The absolute error is below 3e-7.
func GELUGrad(x float32) float32 {
	const invSqrt2Pi = 0.39894228040143267794
	cdf, e := normal(x)
	return cdf + float32(x*float32(e*invSqrt2Pi))
}

// normal returns Φ(x) and e^(−x²/2).
func normal(x float32) (cdf, e float32) {
	e = Exp(-0.5 * float32(x*x))
	t := 1 / (1 + float32(0.3*abs(x)))

	p := float32(0x1.27358ap-5*t) - 0x1.450b96p-3
	p = float32(p*t) + 0x1.abf58ap-3
	p = float32(p*t) - 0x1.cb8950p-5
	p = float32(p*t) + 0x1.09eb50p-3
	p = float32(p*t) + 0x1.97a584p-4
	p = float32(p*t) + 0x1.eeddb0p-4
	p = float32(p*t) + 0x1.e9fc14p-4
	q := float32(e * float32(p*t))
	return choose(x, q, 1-q), e
}
