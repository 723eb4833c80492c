package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// layerNorms emits LayerNorm over the rows of a matrix and its backward pass.
func layerNorms(v isa) {
	layerNorm(v)
	layerNormBackward(v, false)
	layerNormBackward(v, true)
}

// side is the number of vectors of partial sums of a row.
const side = 4

// perElement returns a register with 1/n in every lane.
func (v isa) perElement(n Register) VecVirtual {
	f := XMM()
	v.clear(f) // avoids a dependency on the old value of the register
	VCVTSI2SSQ(n, f, f)
	one := XMM()
	VMOVSS(constant(1), one)
	VDIVSS(f, one, f)
	return v.spread(f)
}

// spread returns a register with the lowest lane of x in every lane.
func (v isa) spread(x VecVirtual) VecVirtual {
	y := v.vec()
	VBROADCASTSS(x, y)
	return y
}

func layerNorm(v isa) {
	v.text("layerNorm", "func(y, mean, rstd, x, gain, bias []float32, eps float32)",
		"layerNorm computes y = gain·(x − mean)·rstd + bias, row by row.")
	y, mean, rstd, x, gain, bias := slice("y"), slice("mean"), slice("rstd"), slice("x"), slice("gain"), slice("bias")
	d, n := length("gain"), length("mean")
	per, eps := v.perElement(d), v.broadcast(argument("eps"))
	rows("row", n, func() {
		part := v.zeros(side)
		v.sweep("mean", d, side, func(s span) {
			for j, u := range s.operands(x) {
				VADDPS(u, part[j], part[j])
			}
		})
		m := v.sum(part)
		VMULPS(per, m, m)
		VMOVSS(m.AsX(), Mem{Base: mean})

		part = v.zeros(side)
		v.sweep("variance", d, side, func(s span) {
			u := s.load(x)
			for j := range u {
				VSUBPS(m, u[j], u[j])
			}
			s.hide(u)
			v.fuse(u, u, part)
		})
		r := v.sum(part)
		VFMADD213PS(eps, per, r)
		VSQRTPS(r, r)
		one := v.splat(1)
		VDIVPS(r, one, r)
		VMOVSS(r.AsX(), Mem{Base: rstd})

		v.sweep("norm", d, side, func(s span) {
			u, b := s.load(x), s.load(bias)
			standardise(u, m, r)
			for j, g := range s.operands(gain) {
				VFMADD231PS(g, u[j], b[j])
			}
			s.store(b, y)
		})
		advance(d, y, x)
		step(mean, rstd)
	})
	end()
}

// layerNormBackward emits the backward pass of LayerNorm. It adds a row's terms to the parameters'
// gradients before it writes dx, because dx may share the memory of dy.
func layerNormBackward(v isa, accumulate bool) {
	name, verb := "layerNormBackward", "computes"
	if accumulate {
		name, verb = name+"Add", "adds"
	}
	v.text(name, "func(dx, dgain, dbias, dy, x, mean, rstd, gain []float32)",
		name+" "+verb+" dx = rstd·(g − mean(g) − x̂·mean(g·x̂)) row by row, g = gain·dy, x̂ = (x − mean)·rstd, and adds dgain = Σ dy·x̂, dbias = Σ dy.")
	dx, dgain, dbias, dy, x := slice("dx"), slice("dgain"), slice("dbias"), slice("dy"), slice("x")
	mean, rstd, gain := slice("mean"), slice("rstd"), slice("gain")
	d, n := length("gain"), length("mean")
	per := v.perElement(d)
	const side = 2 // there are few registers left
	rows("row", n, func() {
		m, r := v.broadcast(Mem{Base: mean}), v.broadcast(Mem{Base: rstd})
		sums, dots := v.zeros(side), v.zeros(side)
		v.sweep("sums", d, side, func(s span) {
			h, g := s.load(x), s.load(dy)
			standardise(h, m, r)
			a := s.load(dgain)
			v.fuse(g, h, a)
			s.store(a, dgain)
			a = s.load(dbias)
			for j := range a {
				VADDPS(g[j], a[j], a[j])
			}
			s.store(a, dbias)
			for j, w := range s.operands(gain) {
				VMULPS(w, g[j], g[j])
				VADDPS(g[j], sums[j], sums[j])
			}
			v.fuse(g, h, dots)
		})
		// dx = rstd·g − x̂·a − b
		a, b := v.sum(dots), v.sum(sums)
		for _, t := range []VecVirtual{a, b} {
			VMULPS(per, t, t)
			VMULPS(r, t, t)
		}
		v.sweep("dx", d, side, func(s span) {
			h, g := s.load(x), s.load(dy)
			standardise(h, m, r)
			for j, w := range s.operands(gain) {
				VMULPS(w, g[j], g[j])
				VFMSUB213PS(b, r, g[j])
				VFNMADD231PS(h[j], a, g[j])
			}
			if accumulate {
				for j, w := range s.operands(dx) {
					VADDPS(w, g[j], g[j])
				}
			}
			s.store(g, dx)
		})
		advance(d, dx, dy, x)
		step(mean, rstd)
	})
	end()
}

// standardise emits x = (x − mean)·rstd.
func standardise(x []VecVirtual, mean, rstd Op) {
	for j := range x {
		VSUBPS(mean, x[j], x[j])
		VMULPS(rstd, x[j], x[j])
	}
}

// advance emits code that moves pointers by n float32s.
func advance(n Register, p ...Register) {
	for _, p := range p {
		LEAQ(Mem{Base: p, Index: n, Scale: 4}, p)
	}
}

// step emits code that moves pointers by one float32.
func step(p ...Register) {
	for _, p := range p {
		ADDQ(U8(4), p)
	}
}
