package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// softmax emits the kernels of a softmax over many classes.
func softmax(v isa) {
	greatest(v)
	expSum(v)
}

func greatest(v isa) {
	v.text("max", "func(x []float32) float32",
		"max returns the maximum, ignoring NaN; −Inf without elements.")
	x := slice("x")
	top := make([]VecVirtual, 4)
	for j := range top {
		top[j] = v.splat(float32(math.Inf(-1)))
	}
	v.sweep("sweep", length("x"), len(top), func(s span) {
		switch {
		case s.mask == nil:
			for j := range s.n {
				VMAXPS(top[j], v.loaded(s.at(x, j)), top[j]) // keeps top where x is NaN
			}
		case v.wide():
			VMAXPS(top[0], s.load(x)[0], s.mask, top[0])
		default:
			u := s.load(x)[0]
			VBLENDVPS(s.mask, u, top[0], u)
			VMAXPS(top[0], u, top[0])
		}
	})
	total := v.reduce(top, func(a, b VecVirtual) { VMAXPS(a, b, b) })
	VMOVSS(total.AsX(), result())
	end()
}

// loaded returns a register with the vector at m.
func (v isa) loaded(m Mem) VecVirtual {
	r := v.vec()
	VMOVUPS(m, r)
	return r
}

func expSum(v isa) {
	v.text("expSum", "func(y, x []float32, top float32) float32",
		"expSum computes y = e^(x − top) for x ≤ top, and returns Σ y.")
	y, x := slice("y"), slice("x")
	top := v.broadcast(argument("top"))
	part := v.zeros(2)
	v.sweep("sweep", length("y"), 2, func(s span) {
		u := s.load(x)
		for j := range u {
			VSUBPS(top, u[j], u[j])
		}
		e := v.expNegative(u)
		s.hide(e)
		for j := range e {
			VADDPS(e[j], part[j], part[j])
		}
		s.store(e, y)
	})
	VMOVSS(v.sum(part).AsX(), result())
	end()
}
