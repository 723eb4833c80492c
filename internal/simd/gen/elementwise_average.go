package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The kernels of moving averages process a vector of channels and a few of its states at a time. These
// states, their decays and their gains stay in registers for all rows.

func averages(v isa) {
	average(v)
	averageBackward(v)
}

// groups emits body for the states of the sweep's channels: first for several states at a time, then for
// single states. group is the number of states at a time. body receives the number n of its states. The
// pointers begin at the first state, and advance by n states after each body.
func groups(label string, count Op, stride Register, group int, pointers []Register, body func(label string, n int)) {
	left := GP64()
	MOVQ(count, left)
	for _, n := range slices.Compact([]int{group, 1}) {
		again := fmt.Sprintf("%s_states%d", label, n)
		SUBQ(U8(n), left)
		JLT(LabelRef(again + "_done"))
		Label(again)
		body(again, n)
		for _, p := range pointers {
			for range n {
				ADDQ(stride, p)
			}
		}
		SUBQ(U8(n), left)
		JGE(LabelRef(again))
		Label(again + "_done")
		ADDQ(U8(n), left)
	}
}

func average(v isa) {
	v.text("average", "func(z, state, x, decay, gain []float32, n, d, states, first, step, rows int)",
		"average computes h = decay∘h + xᵢ and zᵢ += gain∘h for states h of n channels. Consecutive rows are step bytes apart.")
	n := Load(Param("n"), GP64())
	stride := Load(Param("d"), GP64())
	SHLQ(U8(2), stride)
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	v.sweep("average", n, 1, func(s span) {
		label := "average_full"
		if s.mask != nil {
			label = "average_masked"
		}
		h0, a0, g0 := slice("state"), slice("decay"), slice("gain")
		for _, p := range []Register{h0, a0, g0} {
			LEAQ(Mem{Base: p, Index: s.i, Scale: 4}, p)
		}
		group := 4
		if s.mask != nil {
			group = 1 // the mask takes a register
		}
		groups(label, argument("states"), stride, group, []Register{h0, a0, g0}, func(label string, n int) {
			h, a, g := v.vecs(n), v.vecs(n), v.vecs(n)
			for j := range n {
				v.load(v.tileRow(h0, stride, stride3, j, 0), s.mask, h[j])
				v.load(v.tileRow(a0, stride, stride3, j, 0), s.mask, a[j])
				v.load(v.tileRow(g0, stride, stride3, j, 0), s.mask, g[j])
			}
			z, x := slice("z"), slice("x")
			at, left := Load(Param("first"), GP64()), Load(Param("rows"), GP64())
			LEAQ(Mem{Base: at, Index: s.i, Scale: 4}, at)
			Label(label + "_row")
			xi, zi := v.vec(), v.vec()
			v.load(Mem{Base: x, Index: at, Scale: 1}, s.mask, xi)
			v.load(Mem{Base: z, Index: at, Scale: 1}, s.mask, zi)
			for j := range n {
				VFMADD213PS(xi, a[j], h[j])
				VFMADD231PS(g[j], h[j], zi)
			}
			v.store(zi, s.mask, Mem{Base: z, Index: at, Scale: 1})
			ADDQ(argument("step"), at)
			DECQ(left)
			JNZ(LabelRef(label + "_row"))
			for j := range n {
				v.store(h[j], s.mask, v.tileRow(h0, stride, stride3, j, 0))
			}
		})
	})
	end()
}

func averageBackward(v isa) {
	v.text("averageBackward",
		"func(dx, sums, state, dz, x, decay, gain []float32, n, d, states, first, step, rows int)",
		"averageBackward computes w = decay∘w + r, r = decay∘r + dzᵢ and dxᵢ += gain∘r for states r and w. "+
			"It adds Σ xᵢ∘r and Σ xᵢ∘w to sums. The states w, and their sums, follow all states r.")
	n := Load(Param("n"), GP64())
	stride := Load(Param("d"), GP64())
	SHLQ(U8(2), stride)
	v.sweep("average", n, 1, func(s span) {
		label := "average_full"
		if s.mask != nil {
			label = "average_masked"
		}
		r0, a0, g0, sum0 := slice("state"), slice("decay"), slice("gain"), slice("sums")
		for _, p := range []Register{r0, a0, g0, sum0} {
			LEAQ(Mem{Base: p, Index: s.i, Scale: 4}, p)
		}
		group := v.width / 4 // limited by the number of registers
		if s.mask != nil {
			group = 1
		}
		groups(label, argument("states"), stride, group, []Register{r0, a0, g0, sum0}, func(label string, n int) {
			r, w, a, g := v.vecs(n), v.vecs(n), v.vecs(n), v.vecs(n)
			sumR, sumW := v.zeros(n), v.zeros(n)
			second := func() Register { // distance from r to w
				p := Load(Param("states"), GP64())
				IMULQ(stride, p)
				return p
			}
			p, toW := GP64(), second()
			XORQ(p, p)
			for j := range n {
				v.load(Mem{Base: r0, Index: p, Scale: 1}, s.mask, r[j])
				v.load(Mem{Base: a0, Index: p, Scale: 1}, s.mask, a[j])
				v.load(Mem{Base: g0, Index: p, Scale: 1}, s.mask, g[j])
				ADDQ(toW, p)
				v.load(Mem{Base: r0, Index: p, Scale: 1}, s.mask, w[j])
				SUBQ(toW, p)
				ADDQ(stride, p)
			}
			dx, dz, x := slice("dx"), slice("dz"), slice("x")
			at, left := Load(Param("first"), GP64()), Load(Param("rows"), GP64())
			LEAQ(Mem{Base: at, Index: s.i, Scale: 4}, at)
			Label(label + "_row")
			xi, dxi, dzi := v.vec(), v.vec(), v.vec()
			v.load(Mem{Base: x, Index: at, Scale: 1}, s.mask, xi)
			v.load(Mem{Base: dx, Index: at, Scale: 1}, s.mask, dxi)
			v.load(Mem{Base: dz, Index: at, Scale: 1}, s.mask, dzi)
			for j := range n {
				VFMADD213PS(r[j], a[j], w[j])
				VFMADD213PS(dzi, a[j], r[j])
				VFMADD231PS(g[j], r[j], dxi)
				VFMADD231PS(xi, r[j], sumR[j])
				VFMADD231PS(xi, w[j], sumW[j])
			}
			v.store(dxi, s.mask, Mem{Base: dx, Index: at, Scale: 1})
			ADDQ(argument("step"), at)
			DECQ(left)
			JNZ(LabelRef(label + "_row"))
			toW = second()
			XORQ(p, p)
			for j := range n {
				total := v.vec()
				v.store(r[j], s.mask, Mem{Base: r0, Index: p, Scale: 1})
				v.load(Mem{Base: sum0, Index: p, Scale: 1}, s.mask, total)
				VADDPS(sumR[j], total, total)
				v.store(total, s.mask, Mem{Base: sum0, Index: p, Scale: 1})
				ADDQ(toW, p)
				v.store(w[j], s.mask, Mem{Base: r0, Index: p, Scale: 1})
				v.load(Mem{Base: sum0, Index: p, Scale: 1}, s.mask, total)
				VADDPS(sumW[j], total, total)
				v.store(total, s.mask, Mem{Base: sum0, Index: p, Scale: 1})
				SUBQ(toW, p)
				ADDQ(stride, p)
			}
		})
	})
	end()
}
