package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

// maps emits the exponential, softplus, sigmoid, sums, scaling and the weighted mean.
func maps(v isa) {
	v.function("exp", "computes y = eˣ.", v.width/8, v.exp)
	v.function("softplus", "computes y = log(1 + eˣ).", 2, v.softplus)
	v.function("sigmoid", "computes y = 1/(1 + e⁻ˣ).", 2, v.sigmoid)
	add(v)
	addScaled(v)
	scale(v)
	mix(v)
}

func add(v isa) {
	v.text("add", "func(y, a, b []float32)", "add computes y = a + b.")
	y, a, b := slice("y"), slice("a"), slice("b")
	v.sweep("sweep", length("y"), 4, func(s span) {
		u := s.load(a)
		for j, w := range s.operands(b) {
			VADDPS(w, u[j], u[j])
		}
		s.store(u, y)
	})
	end()
}

func addScaled(v isa) {
	v.text("addScaled", "func(y, a, b []float32, scale float32)", "addScaled computes y = a + scale·b.")
	y, a, b := slice("y"), slice("a"), slice("b")
	c := v.broadcast(argument("scale"))
	v.sweep("sweep", length("y"), 4, func(s span) {
		u := s.load(a)
		for j, w := range s.operands(b) {
			VFMADD231PS(w, c, u[j])
		}
		s.store(u, y)
	})
	end()
}

func scale(v isa) {
	v.text("scale", "func(y, x []float32, scale float32)", "scale computes y = scale·x.")
	y, x := slice("y"), slice("x")
	c := v.broadcast(argument("scale"))
	v.sweep("sweep", length("y"), 4, func(s span) {
		u := s.load(x)
		for j := range u {
			VMULPS(c, u[j], u[j])
		}
		s.store(u, y)
	})
	end()
}

// mix emits the weighted mean of two slices and its backward pass.
func mix(v isa) {
	// weights returns the weight and 1 minus the weight.
	weights := func() (w, rest VecVirtual) {
		w, rest = v.broadcast(argument("weight")), v.splat(1)
		VSUBPS(w, rest, rest)
		return w, rest
	}
	v.text("mix", "func(y, a, b []float32, weight float32)", "mix computes y = weight·a + (1 − weight)·b.")
	y, a, b := slice("y"), slice("a"), slice("b")
	weight, rest := weights()
	v.sweep("sweep", length("y"), 4, func(s span) {
		u := s.load(a)
		for j := range u {
			VMULPS(weight, u[j], u[j])
		}
		for j, w := range s.operands(b) {
			VFMADD231PS(w, rest, u[j])
		}
		s.store(u, y)
	})
	end()

	v.text("mixBackward", "func(da, db, dy, a, b []float32, weight float32) float32",
		"mixBackward adds weight·dy to da and (1 − weight)·dy to db, and returns Σ dy·(a − b).")
	da, db, dy := slice("da"), slice("db"), slice("dy")
	a, b = slice("a"), slice("b")
	weight, rest = weights()
	part := v.zeros(2)
	v.sweep("sweep", length("dy"), 2, func(s span) {
		g, u := s.load(dy), s.load(a)
		for j, w := range s.operands(b) {
			VSUBPS(w, u[j], u[j])
		}
		v.fuse(g, u, part)
		for _, to := range []struct {
			p      Register
			weight VecVirtual
		}{{da, weight}, {db, rest}} {
			t := s.load(to.p)
			for j := range t {
				VFMADD231PS(g[j], to.weight, t[j])
			}
			s.store(t, to.p)
		}
	})
	VMOVSS(v.sum(part).AsX(), result())
	end()
}

// function emits a kernel y = f(x). wide is the number of vectors that it processes at a time.
func (v isa) function(name, doc string, wide int, f func([]VecVirtual) []VecVirtual) {
	v.text(name, "func(y, x []float32)", name+" "+doc)
	y, x := slice("y"), slice("x")
	v.sweep("sweep", length("y"), wide, func(s span) { s.store(f(s.load(x)), y) })
	end()
}
