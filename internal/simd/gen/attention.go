package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// attention emits the kernels of sampled attention. Queries are across the lanes and keys are rows,
// except in scoreBackward, where channels are across the lanes.
func attention(v isa) {
	scoreTiles(v, "maxout", maxoutStep)
	scoreTiles(v, "lily", lilyStep)
	scoreBackward(v, "maxout", maxoutBackwardStep)
	scoreBackward(v, "lily", lilyBackwardStep)
	scaleTile(v)
	scaleRows(v)
	dotColumns(v)
	sinusoidTile(v, false)
	sinusoidTile(v, true)
	sinusoidBackward(v)
	if !v.wide() {
		transpose(v) // the AVX-512 level uses these two functions as well
		prefetch(v)
	}
}

// scoreTiles emits kernels of s[j][r] = Σ_c score(q[c][r], k[j][c]) for different numbers of keys. The
// largest number fills the registers, and the others serve the remaining keys.
func scoreTiles(v isa, name string, step func(v isa, q, k Op, acc, one VecVirtual)) {
	blocks := []int{5, 2, 1}
	if v.wide() {
		blocks = []int{8, 2, 1}
	}
	for _, keys := range blocks {
		scoreTile(v, fmt.Sprintf("%s%d", name, keys), keys, step)
	}
}

func scoreTile(v isa, name string, keys int, step func(v isa, q, k Op, acc, one VecVirtual)) {
	v.text(name, "func(n, c int, s *float32, q *float32, stride int, k *float32, ldk int)",
		"maxoutK and lilyK compute Score.Forward for K keys and n queries. n is a multiple of two vectors.")
	n, s, q := word("n"), word("s"), word("q")
	stride, k, ldk := floats("stride"), word("k"), floats("ldk")
	var rows []Mem // rows of the keys
	for j := range keys {
		if j%3 == 0 && j > 0 {
			p := GP64()
			LEAQ(Mem{Base: k, Index: ldk, Scale: 2}, p)
			ADDQ(ldk, p)
			k = p
		}
		m := Mem{Base: k}
		if j%3 > 0 {
			m.Index, m.Scale = ldk, uint8(j%3)
		}
		rows = append(rows, m)
	}
	var bases []Register
	for _, m := range rows {
		if m.Index == nil {
			bases = append(bases, m.Base)
		}
	}
	one := v.splat(1)
	Label("queries")
	c := GP64()
	Load(Param("c"), c)
	column := GP64()
	MOVQ(q, column)
	acc := make([][2]VecVirtual, keys)
	for j := range acc {
		acc[j] = [2]VecVirtual{v.zero(), v.zero()}
	}
	channel := func(i int) {
		q0, q1 := v.vec(), v.vec()
		VMOVUPS(Mem{Base: column}, q0)
		VMOVUPS(Mem{Base: column, Disp: v.bytes()}, q1)
		ADDQ(stride, column)
		for j := range acc {
			m := rows[j]
			m.Disp = 4 * i
			x := v.broadcastOperand(m)
			step(v, q0, x, acc[j][0], one)
			step(v, q1, x, acc[j][1], one)
		}
	}
	advance := func(n int) {
		for _, p := range bases {
			ADDQ(Imm(uint64(4*n)), p)
		}
	}
	SUBQ(Imm(2), c)
	JLT(LabelRef("odd"))
	Label("channels")
	channel(0)
	channel(1)
	advance(2)
	SUBQ(Imm(2), c)
	JGE(LabelRef("channels"))
	Label("odd")
	ADDQ(Imm(2), c)
	JZ(LabelRef("store"))
	channel(0)
	advance(1)
	Label("store")
	out := GP64()
	MOVQ(s, out)
	for j := range acc {
		VMOVUPS(acc[j][0], Mem{Base: out})
		VMOVUPS(acc[j][1], Mem{Base: out, Disp: v.bytes()})
		if j+1 < keys {
			ADDQ(stride, out)
		}
	}
	Load(Param("c"), c)
	SHLQ(Imm(2), c)
	for _, p := range bases {
		SUBQ(c, p)
	}
	ADDQ(U32(uint32(2*v.bytes())), s)
	ADDQ(U32(uint32(2*v.bytes())), q)
	SUBQ(U32(uint32(2*v.width)), n)
	JNZ(LabelRef("queries"))
	end()
}

// broadcastOperand returns an operand with the word at m in every lane. With AVX-512 it is the memory
// operand, which instructions broadcast. This saves register reads, which limit the rate of
// instructions on some CPUs (Zen).
func (v isa) broadcastOperand(m Mem) Op {
	if v.wide() {
		return m
	}
	return v.broadcast(m)
}

// maxoutStep emits acc += max(q, k). It adds with a multiply-add by 1, because maxima and additions share
// execution units on some CPUs (Zen). The multiplication is exact.
func maxoutStep(v isa, q, k Op, acc, one VecVirtual) {
	t := v.vec()
	if v.wide() {
		VMAXPS_BCST(k, q, t)
	} else {
		VMAXPS(k, q, t)
	}
	VFMADD231PS(one, t, acc)
}

// lilyStep emits acc += |q+k| − |q−k|.
func lilyStep(v isa, q, k Op, acc, _ VecVirtual) {
	t, u := v.vec(), v.vec()
	if v.wide() {
		VADDPS_BCST(k, q, t)
		VSUBPS_BCST(k, q, u)
	} else {
		VADDPS(k, q, t)
		VSUBPS(k, q, u)
	}
	v.and(v.wideBits(0x7fffffff), t, t)
	VADDPS(t, acc, acc)
	v.and(v.wideBits(0x7fffffff), u, u)
	VSUBPS(u, acc, acc)
}

// scoreBackward emits, for four keys (or one) and with channels across the lanes,
//
//	dq[r] += Σ_j g[j][r] ∂score/∂q,  dk[j] += Σ_r g[j][r] ∂score/∂k
//
// (for maxout, dk[j] += Σ_r g[j][r] (∂score/∂k − 1)).
func scoreBackward(v isa, name string, step func(v isa, j int, q, k Op, g Mem, dq, dk, one VecVirtual)) {
	for _, keys := range []int{4, 1} {
		v.text(fmt.Sprintf("%sBackward%d", name, keys),
			"func(n, c int, ds *float32, stride int, q, dq *float32, k, dk *float32)",
			"maxoutBackwardK and lilyBackwardK compute Score.Backward for K keys and n queries. "+
				"c is a multiple of a vector.")
		n, c, g, stride, q := word("n"), floats("c"), word("ds"), floats("stride"), word("q")
		dq, k, dk := word("dq"), word("k"), word("dk")
		left := GP64()
		MOVQ(c, left)
		stride3 := GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
		weight := []Mem{{Base: g}, {Base: g, Index: stride, Scale: 1}, {Base: g, Index: stride, Scale: 2},
			{Base: g, Index: stride3, Scale: 1}}
		c3 := GP64()
		LEAQ(Mem{Base: c, Index: c, Scale: 2}, c3)
		row := func(base Register) []Mem {
			return []Mem{{Base: base}, {Base: base, Index: c, Scale: 1}, {Base: base, Index: c, Scale: 2},
				{Base: base, Index: c3, Scale: 1}}
		}

		one := v.splat(1)
		Label("channels")
		ks, dks := v.vecs(keys), v.vecs(keys)
		for j := range keys {
			VMOVUPS(row(k)[j], ks[j])
			VMOVUPS(row(dk)[j], dks[j])
		}
		r := GP64()
		MOVQ(n, r)
		Label("queries")
		x, dx := v.vec(), v.vec()
		VMOVUPS(Mem{Base: q}, x)
		VMOVUPS(Mem{Base: dq}, dx)
		for j := range keys {
			step(v, j, x, ks[j], weight[j], dx, dks[j], one)
		}
		VMOVUPS(dx, Mem{Base: dq})
		ADDQ(c, q)
		ADDQ(c, dq)
		ADDQ(Imm(4), g)
		DECQ(r)
		JNZ(LabelRef("queries"))
		for j := range keys {
			VMOVUPS(dks[j], row(dk)[j])
		}
		// Return to the first query for the next channels.
		t := GP64()
		MOVQ(n, t)
		IMULQ(c, t)
		SUBQ(t, q)
		SUBQ(t, dq)
		MOVQ(n, t)
		SHLQ(Imm(2), t)
		SUBQ(t, g)
		for _, p := range []Register{q, dq, k, dk} {
			ADDQ(Imm(uint64(v.bytes())), p)
		}
		SUBQ(Imm(uint64(v.bytes())), left)
		JNZ(LabelRef("channels"))
		end()
	}
}

// maxoutBackwardStep adds g to the gradient of the query where q ≥ k, and subtracts it there from
// the gradient of the key, which initially is the sum of all g.
func maxoutBackwardStep(v isa, j int, q, k Op, weight Mem, dq, dk, one VecVirtual) {
	if v.wide() {
		mask := K()
		VCMPPS(Imm(13), k, q, mask) // q ≥ k
		VADDPS_BCST(weight, dq, mask, dq)
		VSUBPS_BCST(weight, dk, mask, dk)
		return
	}
	g := v.broadcast(weight)
	mask := v.vec()
	VCMPPS(Imm(13), k, q, mask)
	VANDPS(g, mask, mask)
	if j%2 == 0 { // half of the additions to dq use multiply-adds, see maxoutStep
		VADDPS(mask, dq, dq)
	} else {
		VFMADD231PS(one, mask, dq)
	}
	VFNMADD231PS(one, mask, dk)
}

// lilyBackwardStep adds plus − minus to the gradient of the query and plus + minus to the gradient of the
// key, with plus = g·sign(q+k), minus = g·sign(q−k) and sign(0) = 0.
func lilyBackwardStep(v isa, _ int, q, k Op, weight Mem, dq, dk, _ VecVirtual) {
	g := v.broadcast(weight)
	signed := func(x VecVirtual) VecVirtual {
		y := v.vec()
		if v.wide() {
			nonzero := K()
			VCMPPS(Imm(4), v.zero(), x, nonzero)
			v.and(v.wideBits(1<<31), x, y)
			VPXORD_Z(g, y, nonzero, y)
			return y
		}
		zero := v.zero()
		VCMPPS(Imm(4), zero, x, zero) // x ≠ 0
		v.and(v.wideBits(1<<31), x, y)
		VXORPS(g, y, y)
		VANDPS(zero, y, y)
		return y
	}
	x := v.vec()
	VADDPS(q, k, x)
	plus := signed(x)
	VSUBPS(k, q, x)
	minus := signed(x)
	VADDPS(plus, dq, dq)
	VSUBPS(minus, dq, dq)
	VADDPS(plus, dk, dk)
	VADDPS(minus, dk, dk)
}

// scaleTile emits s = max(s·scale, floor), and adds the sum over the keys to sum.
func scaleTile(v isa) {
	v.text("scaleTile", "func(keys, n int, s *float32, stride int, scale, floor float32, sum *float32)",
		"scaleTile computes Scores.ScaleTile. n is a multiple of a vector.")
	n, s, stride, sum, keys := floats("n"), word("s"), floats("stride"), word("sum"), word("keys")
	scale, floor := v.vec(), v.vec()
	VBROADCASTSS(NewParamAddr("scale", 32), scale)
	VBROADCASTSS(NewParamAddr("floor", 36), floor)
	v.columns(n, func(column Register) {
		p, j := GP64(), GP64()
		LEAQ(Mem{Base: s, Index: column, Scale: 1}, p)
		MOVQ(keys, j)
		total := v.vec()
		VMOVUPS(Mem{Base: sum, Index: column, Scale: 1}, total)
		Label("row")
		x := v.vec()
		VMULPS(Mem{Base: p}, scale, x)
		VMAXPS(x, floor, x) // NaN stays NaN: VMAXPS returns x, Intel's second source, if an operand is NaN
		VMOVUPS(x, Mem{Base: p})
		VADDPS(x, total, total)
		ADDQ(stride, p)
		DECQ(j)
		JNZ(LabelRef("row"))
		VMOVUPS(total, Mem{Base: sum, Index: column, Scale: 1})
	})
	end()
}

// scaleRows emits y[i][r] *= x[r].
func scaleRows(v isa) {
	v.text("scaleRows", "func(rows, n int, y *float32, stride int, x *float32)",
		"scaleRows computes Scores.ScaleRows. n is a multiple of a vector.")
	rows, n, y, stride, x := word("rows"), floats("n"), word("y"), floats("stride"), word("x")
	Label("row")
	v.columns(n, func(column Register) {
		t := v.vec()
		VMOVUPS(Mem{Base: x, Index: column, Scale: 1}, t)
		VMULPS(Mem{Base: y, Index: column, Scale: 1}, t, t)
		VMOVUPS(t, Mem{Base: y, Index: column, Scale: 1})
	})
	ADDQ(stride, y)
	DECQ(rows)
	JNZ(LabelRef("row"))
	end()
}

// dotColumns emits y[r] = Σ_i a[i][r]·b[i][r], in ascending order of i.
func dotColumns(v isa) {
	v.text("dotColumns", "func(rows, n int, y, a, b *float32, stride int)",
		"dotColumns computes Scores.DotColumns. n is a multiple of a vector.")
	n, y, a, b, stride := floats("n"), word("y"), word("a"), word("b"), floats("stride")
	v.columns(n, func(column Register) {
		at, left, total := GP64(), GP64(), v.zero()
		MOVQ(column, at)
		Load(Param("rows"), left)
		Label("row")
		x := v.vec()
		VMOVUPS(Mem{Base: a, Index: at, Scale: 1}, x)
		VFMADD231PS(Mem{Base: b, Index: at, Scale: 1}, x, total)
		ADDQ(stride, at)
		DECQ(left)
		JNZ(LabelRef("row"))
		VMOVUPS(total, Mem{Base: y, Index: column, Scale: 1})
	})
	end()
}

// prefetch emits a loop that prefetches the first cache lines of each row.
func prefetch(v isa) {
	v.text("prefetch",
		"func(rows, lines int, x *float32, stride int)",
		"prefetch prefetches the given number of cache lines at the start of each row. Rows of x are "+
			"stride floats apart.")
	n, x, stride := word("rows"), word("x"), floats("stride")
	rows("row", n, func() {
		line, left := GP64(), GP64()
		MOVQ(x, line)
		Load(Param("lines"), left)
		rows("line", left, func() {
			PREFETCHT1(Mem{Base: line})
			ADDQ(Imm(64), line)
		})
		ADDQ(stride, x)
	})
	RET()
}

// transpose emits the transposition of blocks of 8×8 floats.
func transpose(v isa) {
	v.text("transpose8", "func(blocks int, dst *float32, ldd int, src *float32, lds int)",
		"transpose8 writes the transpose of 8 rows of src, which have 8·blocks floats, to dst. "+
			"Rows of src and dst are lds and ldd floats apart.")
	blocks, dst, ldd, src, lds := word("blocks"), word("dst"), floats("ldd"), word("src"), floats("lds")
	lds3, ldd3 := GP64(), GP64()
	LEAQ(Mem{Base: lds, Index: lds, Scale: 2}, lds3)
	LEAQ(Mem{Base: ldd, Index: ldd, Scale: 2}, ldd3)
	row := func(base, ld, ld3 Register, low, high Register) []Mem {
		return []Mem{{Base: low}, {Base: low, Index: ld, Scale: 1}, {Base: low, Index: ld, Scale: 2},
			{Base: low, Index: ld3, Scale: 1},
			{Base: high}, {Base: high, Index: ld, Scale: 1}, {Base: high, Index: ld, Scale: 2},
			{Base: high, Index: ld3, Scale: 1}}
	}
	srcHigh, dstHigh := GP64(), GP64()
	LEAQ(Mem{Base: src, Index: lds, Scale: 4}, srcHigh)
	Label("block")
	LEAQ(Mem{Base: dst, Index: ldd, Scale: 4}, dstHigh)
	from, to := row(src, lds, lds3, src, srcHigh), row(dst, ldd, ldd3, dst, dstHigh)
	// Rows i and i+4 share a register. Then each 128-bit lane transposes 4×4 floats.
	a := v.vecs(8)
	for i := range 4 {
		for half := range 2 {
			m, h := from[i], from[i+4]
			m.Disp, h.Disp = 16*half, 16*half
			x := YMM()
			VMOVUPS(m, x.AsX())
			VINSERTF128(Imm(1), h, x, a[4*half+i])
		}
	}
	for half := range 2 {
		r := a[4*half:][:4]
		t := v.vecs(4)
		VUNPCKLPS(r[1], r[0], t[0])
		VUNPCKHPS(r[1], r[0], t[1])
		VUNPCKLPS(r[3], r[2], t[2])
		VUNPCKHPS(r[3], r[2], t[3])
		for i := range 4 {
			out := v.vec()
			imm := []uint64{0x44, 0xee, 0x44, 0xee}[i]
			VSHUFPS(Imm(imm), t[2+i/2], t[i/2], out)
			VMOVUPS(out, to[4*half+i])
		}
	}
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), srcHigh)
	LEAQ(Mem{Base: dst, Index: ldd, Scale: 8}, dst)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	end()
}
