package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// optimizer emits the kernels of AdamW and of the squared norm of the gradient.
func optimizer(v isa) {
	sumSquares(v)
	adamW(v)
}

// sumSquares emits Σ x² in float64, where the squares are exact.
func sumSquares(v isa) {
	v.text("sumSquares", "func(x []float32) float64", "sumSquares returns Σ x² in float64.")
	x := slice("x")
	part := v.zeros(side)
	v.sweep("sweep", length("x"), side/2, func(s span) {
		for j, u := range s.load(x) {
			// Each half of the register has its own sum, because a float64 takes two lanes.
			for h, half := range v.halves(u) {
				w := v.vec()
				VCVTPS2PD(half, w)
				VFMADD231PD(w, w, part[2*j+h])
			}
		}
	})
	total := v.sumDouble(part)
	VMOVSD(total, result())
	end()
}

// halves returns registers with the lower and the upper half of x.
func (v isa) halves(x VecVirtual) [2]Register {
	if v.wide() {
		upper := YMM()
		VEXTRACTF64X4(U8(1), x, upper)
		return [2]Register{x.AsY(), upper}
	}
	upper := XMM()
	VEXTRACTF128(U8(1), x, upper)
	return [2]Register{x.AsX(), upper}
}

// sumDouble returns the sum of the float64s in x, in the same order as sum.
func (v isa) sumDouble(x []VecVirtual) Register {
	for n := len(x); n > 1; n = (n + 1) / 2 {
		for i := range n / 2 {
			VADDPD(x[n-1-i], x[i], x[i])
		}
	}
	total, t := x[0], v.vec()
	if v.wide() {
		VSHUFF64X2(U8(0x4e), total, total, t)
		VADDPD(t, total, total)
		VSHUFF64X2(U8(0xb1), total, total, t)
	} else {
		VPERM2F128(U8(1), total, total, t)
	}
	VADDPD(t, total, total)
	VSHUFPD(U8(0x55), total, total, t)
	VADDPD(t, total, total)
	return total.AsX()
}

func adamW(v isa) {
	v.text("adamW", "func(w, m, v, g []float32, c *[10]float32)",
		"adamW updates the weights and both moments in one step; c holds gradient scale, β1, 1−β1, β2, 1−β2, correction 1, correction 2, −learning rate, ε, 1 − learning rate·decay.")
	w, m, vs, g := slice("w"), slice("m"), slice("v"), slice("g")
	c := Load(Param("c"), GP64())
	at := func(i int) VecVirtual { return v.broadcast(Mem{Base: c, Disp: 4 * i}) }
	scale, beta1, rest1, beta2, rest2 := at(0), at(1), at(2), at(3), at(4)
	correct1, correct2, rate, eps := at(5), at(6), at(7), at(8)
	keep := v.broadcast(Mem{Base: c, Disp: 4 * 9})
	v.sweep("sweep", length("w"), 1, func(s span) {
		d, a, b := s.load(g)[0], s.load(m)[0], s.load(vs)[0]
		VMULPS(scale, d, d)
		VMULPS(beta1, a, a)
		VFMADD231PS(rest1, d, a)
		s.store([]VecVirtual{a}, m)
		VMULPS(d, d, d)
		VMULPS(beta2, b, b)
		VFMADD231PS(rest2, d, b)
		s.store([]VecVirtual{b}, vs)
		VMULPS(correct2, b, b)
		VSQRTPS(b, b)
		VADDPS(eps, b, b)
		VMULPS(correct1, a, a)
		VMULPS(rate, a, a)
		VDIVPS(b, a, a)
		p := s.load(w)[0]
		VFMADD231PS(p, keep, a)
		s.store([]VecVirtual{a}, w)
	})
	end()
}
