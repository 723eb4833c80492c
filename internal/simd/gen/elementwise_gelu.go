package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// gelus emits GELU and its backward pass. AVX2 uses the exponential as in package fmath. AVX-512 can
// permute a table of 32 numbers in two registers, and uses piecewise polynomials, which take a
// third of the instructions.
func gelus(v isa) {
	v.text("gelu", "func(y, x []float32)", "gelu computes y = x·Φ(x).")
	y, x := slice("y"), slice("x")
	cdf := v.cdf()
	v.sweep("sweep", length("y"), v.width/4, func(s span) {
		c := cdf(s, x)
		for j, u := range s.operands(x) {
			VMULPS(u, c[j], c[j])
		}
		s.store(c, y)
	})
	end()

	v.text("geluBackward", "func(dx, dy, x []float32)", "geluBackward computes dx = dy·(Φ(x) + x·φ(x)).")
	dx, dy, x := slice("dx"), slice("dy"), slice("x")
	slope := v.geluSlope()
	v.sweep("sweep", length("dx"), v.width/4, func(s span) {
		g := slope(s, x)
		for j, w := range s.operands(dy) {
			VMULPS(w, g[j], g[j])
		}
		s.store(g, dx)
	})
	end()
}

// cdf returns a function that emits Φ of a span.
func (v isa) cdf() func(s span, x Register) []VecVirtual {
	if v.wide() {
		return v.pieces("cdf", normalCDF)
	}
	return func(s span, x Register) []VecVirtual {
		c, _ := v.normal(func() []VecVirtual { return s.load(x) })
		return c
	}
}

// geluSlope returns a function that emits Φ(x) + x·φ(x) of a span.
func (v isa) geluSlope() func(s span, x Register) []VecVirtual {
	if v.wide() {
		return v.pieces("slope", geluSlope)
	}
	return func(s span, x Register) []VecVirtual {
		const invSqrt2Pi = 0.39894228040143267794
		g, e := v.normal(func() []VecVirtual { return s.load(x) })
		for j, u := range s.operands(x) {
			VMULPS(v.wideConstant(invSqrt2Pi), e[j], e[j])
			VFMADD231PS(u, e[j], g[j])
		}
		return g
	}
}

func normalCDF(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }

func geluSlope(x float64) float64 { return normalCDF(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi) }

// Piecewise approximation of a function f with f(−x) = 1 − f(x) and f(x) = 1 from the last piece
// on. f(|x|) = ½ + p(r), where r = |x| − n·pieceWidth, n = 0 … 31 is the nearest piece, and p is
// its polynomial of degree 4. The error of p is below 3e-8, less than a rounding error of f.
const (
	pieceCount  = 32
	pieceWidth  = 13. / 64 // few bits, so that n·pieceWidth is exact
	pieceDegree = 4
)

// pieceCoefficients returns, for each piece, the coefficients of p for r⁰, r¹, …. The polynomial p
// interpolates f(x) − ½ at the Chebyshev nodes. The first piece has no constant term, so that f(0)
// is ½. The last piece is the constant ½.
func pieceCoefficients(f func(float64) float64) (c [pieceDegree + 1][pieceCount]float64) {
	for n := range pieceCount - 1 {
		var nodes, values [pieceDegree + 1]float64
		for i := range nodes {
			nodes[i] = pieceWidth / 2 * math.Cos(math.Pi*(float64(i)+0.5)/float64(len(nodes)))
			values[i] = f(float64(n)*pieceWidth+nodes[i]) - 0.5
		}
		for i, x := range interpolate(nodes[:], values[:]) {
			c[i][n] = x
		}
	}
	c[0][0], c[0][pieceCount-1] = 0, 0.5
	return c
}

// interpolate returns the coefficients of the polynomial through the points.
func interpolate(x, y []float64) []float64 {
	c := append([]float64(nil), y...)
	for k := 1; k < len(x); k++ { // divided differences
		for i := len(x) - 1; i >= k; i-- {
			c[i] = (c[i] - c[i-1]) / (x[i] - x[i-k])
		}
	}
	p := make([]float64, len(x))
	for i := len(x) - 1; i >= 0; i-- { // p = p·(r − xᵢ) + cᵢ
		for k := len(p) - 1; k > 0; k-- {
			p[k] = p[k-1] - x[i]*p[k]
		}
		p[0] = c[i] - x[i]*p[0]
	}
	return p
}

// pieces emits code that loads the coefficients of f into registers, once per kernel. It returns a
// function that emits f of a span.
func (v isa) pieces(name string, f func(float64) float64) func(s span, x Register) []VecVirtual {
	c := pieceCoefficients(f)
	var low, high [pieceDegree + 1]VecVirtual
	for i := range c {
		table := data(fmt.Sprintf("%s%d", name, i), func() {
			for n, x := range c[i] {
				DATA(4*n, U32(math.Float32bits(float32(x))))
			}
		})
		low[i], high[i] = v.vec(), v.vec()
		VMOVUPS(table, low[i])
		VMOVUPS(table.Offset(64), high[i])
	}
	return func(s span, x Register) []VecVirtual {
		const round = 3 << 22 // adding and subtracting it rounds to integers
		u := s.load(x)
		a, n, r := v.vecs(s.n), v.vecs(s.n), v.vecs(s.n)
		for j := range u {
			v.and(v.wideBits(1<<31-1), u[j], a[j])
			bound := v.splat((pieceCount - 1) * pieceWidth)
			VMINPS(a[j], bound, a[j]) // NaN stays NaN: VMINPS returns a, Intel's second source, if an operand is NaN
			VBROADCASTSS(constant(1/pieceWidth), n[j])
			VFMADD213PS(v.wideConstant(round), a[j], n[j])
			VSUBPS(v.wideConstant(round), n[j], r[j])
			VFNMADD132PS(v.wideConstant(pieceWidth), a[j], r[j])
		}
		read := func(i, j int) VecVirtual {
			out := v.vec()
			VMOVAPS(n[j], out)
			VPERMI2PS(high[i], low[i], out)
			return out
		}
		y := make([]VecVirtual, s.n)
		for j := range u {
			y[j] = read(pieceDegree, j)
		}
		for i := pieceDegree - 1; i >= 0; i-- {
			for j := range u {
				VFMADD213PS(read(i, j), r[j], y[j])
			}
		}
		for j := range u {
			VPTERNLOGD(U8(0xf8), v.wideBits(1<<31), u[j], y[j]) // y | u & sign
			VADDPS(v.wideConstant(0.5), y[j], y[j])
		}
		return y
	}
}
