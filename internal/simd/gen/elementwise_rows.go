package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// rowKernels emits kernels over the rows of a matrix.
func rowKernels(v isa) {
	rowDot(v)
	addOuter(v)
	weightedSum(v)
	addRows(v)
	poolBackward(v)
}

func rowDot(v isa) {
	v.text("rowDot", "func(y, x, w []float32, bias float32)", "rowDot computes yᵢ = xᵢ·w + bias for the rows xᵢ.")
	y, x, w := slice("y"), slice("x"), slice("w")
	d, n, bias := length("w"), length("y"), argument("bias")
	rows("row", n, func() {
		part := v.zeros(side)
		v.sweep("dot", d, side, func(s span) {
			u := s.load(x)
			for j, c := range s.operands(w) {
				VFMADD231PS(c, u[j], part[j])
			}
		})
		t := v.sum(part).AsX()
		VADDSS(bias, t, t)
		VMOVSS(t, Mem{Base: y})
		advance(d, x)
		step(y)
	})
	end()
}

func addOuter(v isa) {
	v.text("addOuter", "func(y, a, w []float32)", "addOuter computes yᵢ += aᵢ·w for the rows yᵢ.")
	y, a, w := slice("y"), slice("a"), slice("w")
	d, n := length("w"), length("a")
	rows("row", n, func() {
		scale := v.broadcast(Mem{Base: a})
		v.sweep("row", d, side, func(s span) {
			u := s.load(y)
			for j, c := range s.operands(w) {
				VFMADD231PS(c, scale, u[j])
			}
			s.store(u, y)
		})
		advance(d, y)
		step(a)
	})
	end()
}

// weightedSum emits the weighted sum of rows. It keeps some columns in registers for all rows, so
// that each element is a chain of additions from the first row to the last.
func weightedSum(v isa) {
	v.text("weightedSum", "func(y, a, x []float32)", "weightedSum computes y = Σᵢ aᵢ·xᵢ for the rows xᵢ.")
	y, a, x := slice("y"), slice("a"), slice("x")
	d, n := length("y"), length("a")
	stride := GP64()
	MOVQ(d, stride)
	SHLQ(U8(2), stride)
	stripe := 0
	v.sweep("stripe", d, 8, func(s span) {
		stripe++
		part := v.zeros(s.n)
		left, weight, at := GP64(), GP64(), GP64()
		MOVQ(n, left)
		MOVQ(a, weight)
		LEAQ(Mem{Base: x, Index: s.i, Scale: 4}, at)
		rows([]string{"", "rows_wide", "rows", "rows_masked"}[stripe], left, func() {
			c := v.broadcast(Mem{Base: weight})
			for j := range part {
				m := Mem{Base: at, Disp: j * v.bytes()}
				if s.mask == nil {
					VFMADD231PS(m, c, part[j])
					continue
				}
				u := v.vec()
				v.load(m, s.mask, u)
				VFMADD231PS(u, c, part[j])
			}
			ADDQ(stride, at)
			step(weight)
		})
		s.store(part, y)
	})
	end()
}

// addRows emits the addition of rows to target rows, in order, because several rows may have the
// same target.
func addRows(v isa) {
	v.text("addRows", "func(y, x []float32, at []int32, width, stride int)",
		"addRows computes y[at[i]·stride + c] += x[i·stride + c], 0 ≤ c < width, in ascending order of i.")
	y, x, at := slice("y"), slice("x"), slice("at")
	n := length("at")
	width, stride := Load(Param("width"), GP64()), Load(Param("stride"), GP64())
	rows("rows", n, func() {
		p := GP64()
		MOVLQSX(Mem{Base: at}, p)
		IMULQ(stride, p)
		LEAQ(Mem{Base: y, Index: p, Scale: 4}, p)
		v.sweep("row", width, side, func(s span) {
			u := s.load(x)
			for j, c := range s.operands(p) {
				VADDPS(c, u[j], u[j])
			}
			s.store(u, p)
		})
		advance(stride, x)
		step(at)
	})
	end()
}

func poolBackward(v isa) {
	v.text("poolBackward", "func(dx, dscore, a, x, dy, y []float32)",
		"poolBackward computes dxᵢ = aᵢ·dy and dscoreᵢ = aᵢ·Σ dy·(xᵢ − y) for the rows xᵢ.")
	dx, dscore, a, x, dy, y := slice("dx"), slice("dscore"), slice("a"), slice("x"), slice("dy"), slice("y")
	d, n := length("dy"), length("a")
	const side = 2
	rows("row", n, func() {
		part, weight := v.zeros(side), v.broadcast(Mem{Base: a})
		v.sweep("row", d, side, func(s span) {
			u, g := s.load(x), s.load(dy)
			for j, c := range s.operands(y) {
				VSUBPS(c, u[j], u[j])
			}
			v.fuse(u, g, part)
			for j := range g {
				VMULPS(weight, g[j], g[j])
			}
			s.store(g, dx)
		})
		t := v.sum(part)
		VMULPS(weight, t, t)
		VMOVSS(t.AsX(), Mem{Base: dscore})
		advance(d, dx, x)
		step(dscore, a)
	})
	end()
}
