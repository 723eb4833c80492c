package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The elementary functions are the functions of package fmath, with its polynomials and
// coefficients, but with fused multiply-adds. A function takes several vectors and emits each step
// for all of them, so that consecutive instructions do not depend on each other.

// linear returns c1·x + c0.
func (v isa) linear(x []VecVirtual, c1, c0 float32) []VecVirtual {
	y := v.vecs(len(x))
	for j := range x {
		VBROADCASTSS(constant(c1), y[j])
		VFMADD213PS(v.wideConstant(c0), x[j], y[j])
	}
	return y
}

// pairs sets p to p·x² + c1·x + c0 for each pair of coefficients. The dependency chain is half as
// long as in Horner's scheme.
func (v isa) pairs(p, x, x2 []VecVirtual, coefficients ...float32) {
	for i := 0; i < len(coefficients); i += 2 {
		next := v.linear(x, coefficients[i], coefficients[i+1])
		for j := range x {
			VFMADD213PS(next[j], x2[j], p[j])
		}
	}
}

// times returns a·b.
func (v isa) times(a, b []VecVirtual) []VecVirtual {
	y := v.vecs(len(a))
	for j := range a {
		VMULPS(a[j], b[j], y[j])
	}
	return y
}

// fuse sets c to a·b + c.
func (v isa) fuse(a, b, c []VecVirtual) {
	for j := range a {
		VFMADD231PS(a[j], b[j], c[j])
	}
}

// minusAbs returns −|x|.
func (v isa) minusAbs(x []VecVirtual) []VecVirtual {
	y := v.vecs(len(x))
	for j := range x {
		v.or(v.wideBits(1<<31), x[j], y[j])
	}
	return y
}

// expPolynomial returns y = 1 + r + r²·P(r) ≈ eʳ, and a word whose low bits are n + bias, where x =
// n·ln 2 + r. It overwrites x.
func (v isa) expPolynomial(x []VecVirtual, bias float32) (y, n []VecVirtual) {
	const roundToInt = 12582912
	n, k := v.vecs(len(x)), v.vecs(len(x))
	for j := range x {
		VBROADCASTSS(constant(math.Log2E), n[j])
		VFMADD213PS(v.wideConstant(roundToInt+bias), x[j], n[j])
		VSUBPS(v.wideConstant(roundToInt+bias), n[j], k[j])
	}
	for j := range x {
		VFNMADD231PS(v.wideConstant(0.693359375), k[j], x[j])
		VFNMADD231PS(v.wideConstant(-2.12194440054690583e-4), k[j], x[j])
	}
	r2 := v.times(x, x)
	y = v.linear(r2, 0x1.6a2358p-10, 0x1.5558f4p-5)
	for j := range x {
		VFMADD231PS(v.wideConstant(0x1.123a6ap-7), x[j], y[j])
	}
	q := v.linear(x, 0x1.555490p-3, 0x1.fffffcp-2)
	for j := range x {
		VFMADD213PS(q[j], r2[j], y[j])
		VFMADD213PS(x[j], r2[j], y[j])
		VADDPS(v.wideConstant(1), y[j], y[j])
	}
	return y, n
}

// Limits beyond which eˣ is infinite, or subnormal and treated as 0.
const expHigh, expLow = 88.72283, -87.33654

// expNegative returns eˣ for x ≤ 0 or NaN.
func (v isa) expNegative(x []VecVirtual) []VecVirtual {
	low := make([]Op, len(x))
	for j := range x {
		low[j] = v.compare(greaterEqualOrNaN, v.wideConstant(expLow), x[j])
	}
	y, n := v.expPolynomial(x, 127)
	for j := range x {
		VPSLLD(U8(23), n[j], n[j]) // 2ⁿ
		if v.wide() {
			VMULPS_Z(n[j], y[j], low[j], y[j])
			continue
		}
		VMULPS(n[j], y[j], y[j])
		v.and(low[j], y[j], y[j])
	}
	return y
}

// exp returns eˣ. 2ⁿ may overflow where the result does not. Therefore n is added to the exponent,
// and lanes where the result is then wrong are replaced.
func (v isa) exp(x []VecVirtual) []VecVirtual {
	low, high, beyond := make([]Op, len(x)), make([]Op, len(x)), v.vecs(len(x))
	for j := range x {
		low[j] = v.compare(greaterEqualOrNaN, v.wideConstant(expLow), x[j])
		high[j] = v.compare(greaterOrNaN, v.wideConstant(expHigh), x[j])
		VADDPS(v.wideConstant(float32(math.Inf(1))), x[j], beyond[j])
	}
	y, n := v.expPolynomial(x, 0)
	for j := range x {
		VPSLLD(U8(23), n[j], n[j])
		if v.wide() {
			VPADDD_Z(n[j], y[j], low[j], y[j])
			VMOVAPS(beyond[j], high[j], y[j])
			continue
		}
		VPADDD(n[j], y[j], y[j])
		v.and(low[j], y[j], y[j])
		VBLENDVPS(high[j], beyond[j], y[j], y[j])
	}
	return y
}

// Quiet comparison predicates that are true for NaN.
const (
	greaterEqualOrNaN = 0x15 // not less than
	greaterOrNaN      = 0x16 // not less than or equal
)

// compare returns the mask of the lanes where x and b satisfy a predicate.
func (v isa) compare(predicate uint8, b Op, x VecVirtual) Op {
	if v.wide() {
		k := K()
		VCMPPS(U8(predicate), b, x, k)
		return k
	}
	m := YMM()
	VCMPPS(U8(predicate), b, x, m)
	return m
}

// choose returns a vector with the lanes of negative where the sign bit of x is set, and the lanes of
// positive elsewhere. The parameter positive is a vector or a constant.
func (v isa) choose(x, negative VecVirtual, positive Op) VecVirtual {
	y := v.vec()
	if v.wide() {
		k := K()
		VPMOVD2M(x, k)
		VMOVUPS(positive, y)
		VMOVAPS(negative, k, y)
		return y
	}
	p, ok := positive.(VecVirtual)
	if !ok {
		p = y
		VMOVUPS(positive, y)
	}
	VBLENDVPS(x, negative, p, y)
	return y
}

// softplus returns max(x, 0) + log(1 + z), z = e^−|x|.
func (v isa) softplus(x []VecVirtual) []VecVirtual {
	z := v.expNegative(v.minusAbs(x))
	y := v.log1p(z)
	zero := v.zero()
	for j := range x {
		VMAXPS(x[j], zero, x[j]) // NaN stays NaN
		VADDPS(x[j], y[j], y[j])
	}
	return y
}

// log1p returns log(1 + z) = z − z²·Q(z) for 0 ≤ z ≤ 1.
func (v isa) log1p(z []VecVirtual) []VecVirtual {
	z2 := v.times(z, z)
	q := v.linear(z, -0x1.4b08e6p-6, 0x1.d863ccp-5) // terms 6 and 7 of Q
	for j := range z {                              // term 8, as in package fmath
		VFMADD231PS(v.wideConstant(0x1.b2f6bcp-9), z2[j], q[j])
	}
	v.pairs(q, z, z2, -0x1.b57a1ap-4, 0x1.3a7a9cp-3, -0x1.935ca8p-3, 0x1.ff26e2p-3, -0x1.554df0p-2, 0x1.ffffd2p-2)
	for j := range z {
		VFNMADD213PS(z[j], z2[j], q[j])
	}
	return q
}

// sigmoid returns (x < 0 ? z : 1)/(1 + z), z = e^−|x|.
func (v isa) sigmoid(x []VecVirtual) []VecVirtual {
	z := v.expNegative(v.minusAbs(x))
	y := make([]VecVirtual, len(x))
	for j := range x {
		y[j] = v.choose(x[j], z[j], v.wideConstant(1))
		VADDPS(v.wideConstant(1), z[j], z[j])
		VDIVPS(z[j], y[j], y[j])
	}
	return y
}

// normal returns Φ(x) and e^(−x²/2). The division overlaps with the exponential. x is loaded twice,
// because there are few registers.
func (v isa) normal(load func() []VecVirtual) (cdf, e []VecVirtual) {
	x := load()
	t := v.minusAbs(x)
	for j := range x {
		d := v.vec()
		VBROADCASTSS(constant(1), d)
		VFNMADD132PS(v.wideConstant(0.3), d, t[j])
		VDIVPS(t[j], d, t[j])
	}
	for j := range x {
		VMULPS(x[j], x[j], x[j])
		VMULPS(v.wideConstant(-0.5), x[j], x[j])
	}
	e = v.expNegative(x)
	p := v.linear(t, 0x1.27358ap-5, -0x1.450b96p-3)
	v.pairs(p, t, v.times(t, t), 0x1.abf58ap-3, -0x1.cb8950p-5, 0x1.09eb50p-3, 0x1.97a584p-4,
		0x1.eeddb0p-4, 0x1.e9fc14p-4)
	cdf = make([]VecVirtual, len(x))
	x = load()
	for j := range x {
		VMULPS(t[j], p[j], p[j])
		VMULPS(e[j], p[j], p[j])
		upper := v.vec()
		VBROADCASTSS(constant(1), upper)
		VSUBPS(p[j], upper, upper)
		cdf[j] = v.choose(x[j], p[j], upper)
	}
	return cdf, e
}
