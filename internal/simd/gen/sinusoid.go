package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The offsets of SinusoidTile's fields.
const (
	tileS = 24 * iota
	tileD
	tileSum
	tileEF
	tileEG
	tileFA
	tileGA
	tileDFM
	tileDGM
	tileDFA
	tileDGA
	tileTop
	tilePartner
	tileP
	tileDP
	tileTotal
	tileFM
	tileGM
	tileKeys
	tileN       = tileKeys + 8
	tileStride  = tileN + 8
	tileFOrigin = tileStride + 8
	tileGOrigin = tileFOrigin + 8
	tileScale   = tileGOrigin + 8
	tileFloor   = tileScale + 4
)

// log1pCoefficients are Q's of log(1+m) = m + m²·Q(m), −¼ ≤ m ≤ ½: relative
// error 2.8e-8 (minimax, by reweighted least squares).
var log1pCoefficients = []float32{
	-0x1.000014p-1, 0x1.5555e6p-2, -0x1.ffdd9ep-3, 0x1.99216cp-3,
	-0x1.588804p-3, 0x1.32dee0p-3, -0x1.ee46fep-4, 0x1.bb72bap-5,
}

// log1p returns log(1+y) for 0 ≤ y < 2¹²⁷, and 1+y. With E the exponent of 1+y
// over ¾ … 1½ it is log(1+m) + E·ln 2 where m = y·2⁻ᴱ + (2⁻ᴱ − 1): nothing of a
// small y is lost.
func log1p(v isa, y VecVirtual) (log, u VecVirtual) {
	u = v.vec()
	VADDPS(v.wideConstant(1), y, u)
	e := v.vec()
	VPSUBD(v.wideConstant(0.75), u, e) // bits(u) − bits(¾)
	v.and(v.wideBits(0xff800000), e, e)
	s := v.vec()
	VMOVUPS(v.wideConstant(1), s)
	VPSUBD(e, s, s) // 2⁻ᴱ
	m := v.vec()
	VADDPS(v.wideConstant(-1), s, m)
	VFMADD231PS(y, s, m)
	VCVTDQ2PS(e, e) // E·2²³

	// Even and odd coefficients side by side, for a shorter chain.
	m2 := v.vec()
	VMULPS(m, m, m2)
	even, odd := v.vec(), v.vec()
	c := log1pCoefficients
	VMOVUPS(v.wideConstant(c[6]), even)
	VMOVUPS(v.wideConstant(c[7]), odd)
	for i := 4; i >= 0; i -= 2 {
		VFMADD213PS(v.wideConstant(c[i]), m2, even)
		VFMADD213PS(v.wideConstant(c[i+1]), m2, odd)
	}
	VFMADD231PS(odd, m, even) // Q
	VFMADD231PS(even, m2, m)  // m + m²Q
	const ln2 = 0.69314718055994530942 * 0x1p-23
	VFMADD231PS(v.wideConstant(ln2), e, m)
	return m, u
}

// sinusoidKey loads what belongs to key jb/4: the weights of its two tokens,
// and where their windows begin in F and G, in bytes.
func sinusoidKey(v isa, tile, jb Register) (p, w VecVirtual, ft, gt, fp, gp GPVirtual) {
	base := GP64()
	MOVQ(Mem{Base: tile, Disp: tileP}, base)
	p, w = v.vec(), v.vec()
	VBROADCASTSS(Mem{Base: base, Index: jb, Scale: 1}, p)
	VMOVUPS(v.wideConstant(1), w)
	VSUBPS(p, w, w)
	window := func(field int) (f, g GPVirtual) {
		f, g = GP64(), GP64()
		MOVQ(Mem{Base: tile, Disp: field}, base)
		MOVLQSX(Mem{Base: base, Index: jb, Scale: 1}, g)
		if field == tilePartner { // none: any window will do, with weight 0
			TESTQ(g, g)
			JGE(LabelRef("paired"))
			XORQ(g, g)
			v.clear(w)
			Label("paired")
		}
		MOVQ(Mem{Base: tile, Disp: tileFOrigin}, f)
		SUBQ(g, f)
		ADDQ(Mem{Base: tile, Disp: tileGOrigin}, g)
		SHLQ(Imm(2), f)
		SHLQ(Imm(2), g)
		return f, g
	}
	ft, gt = window(tileTop)
	fp, gp = window(tilePartner)
	return
}

// sinusoidTile emits s = max(s·scale·Rmul + Radd, floor), summed into Sum.
func sinusoidTile(v isa) {
	v.text("sinusoidTile", "func(tile *byte)", "is the forward pass of a SinusoidTile, which tile points to.")
	tile := Load(Param("tile"), GP64())
	s := GP64()
	MOVQ(Mem{Base: tile, Disp: tileS}, s)
	scale, floor := v.vec(), v.vec()
	VBROADCASTSS(Mem{Base: tile, Disp: tileScale}, scale)
	VBROADCASTSS(Mem{Base: tile, Disp: tileFloor}, floor)
	jb := GP64()
	XORQ(jb, jb)
	Label("key")
	p, w, ft, gt, fp, gp := sinusoidKey(v, tile, jb)
	at := func(field int, offset Register) Mem {
		base := GP64()
		MOVQ(Mem{Base: tile, Disp: field}, base)
		ADDQ(offset, base)
		return Mem{Base: base}
	}
	eft, fat := at(tileEF, ft), at(tileFA, ft)
	egt, gat := at(tileEG, gt), at(tileGA, gt)
	efp, fap := at(tileEF, fp), at(tileFA, fp)
	egp, gap := at(tileEG, gp), at(tileGA, gp)
	sum := GP64()
	MOVQ(Mem{Base: tile, Disp: tileSum}, sum)
	r := GP64()
	XORQ(r, r)
	Label("queries")
	lane := func(m Mem) Mem { m.Index, m.Scale = r, 1; return m }
	soft := func(f, g Mem) VecVirtual {
		y := v.vec()
		VMOVUPS(lane(f), y)
		VMULPS(lane(g), y, y)
		l, _ := log1p(v, y)
		return l
	}
	add := func(f, g Mem) VecVirtual {
		a := v.vec()
		VMOVUPS(lane(f), a)
		VADDPS(lane(g), a, a)
		return a
	}
	mul := soft(eft, egt)
	VMULPS(p, mul, mul)
	VFMADD231PS(soft(efp, egp), w, mul)
	a := add(fat, gat)
	VMULPS(p, a, a)
	VFMADD231PS(add(fap, gap), w, a)
	x := v.vec()
	VMULPS(Mem{Base: s, Index: r, Scale: 1}, scale, x)
	VFMADD213PS(a, mul, x) // x·Rmul + Radd
	VMAXPS(x, floor, x)    // NaN passes: the second operand is returned
	VMOVUPS(x, Mem{Base: s, Index: r, Scale: 1})
	VADDPS(Mem{Base: sum, Index: r, Scale: 1}, x, x)
	VMOVUPS(x, Mem{Base: sum, Index: r, Scale: 1})
	ADDQ(Imm(uint64(v.bytes())), r)
	limit := GP64()
	MOVQ(Mem{Base: tile, Disp: tileN}, limit)
	SHLQ(Imm(2), limit)
	CMPQ(r, limit)
	JLT(LabelRef("queries"))
	nextKey(tile, s, jb)
	VZEROUPPER()
	RET()
}

// nextKey advances to the next row of s and the next key, or leaves the loop.
func nextKey(tile, s, jb Register) {
	stride := GP64()
	MOVQ(Mem{Base: tile, Disp: tileStride}, stride)
	LEAQ(Mem{Base: s, Index: stride, Scale: 4}, s)
	ADDQ(Imm(4), jb)
	end := GP64()
	MOVQ(Mem{Base: tile, Disp: tileKeys}, end)
	SHLQ(Imm(2), end)
	CMPQ(jb, end)
	JLT(LabelRef("key"))
}

// sinusoidBackward emits the adjoint of sinusoidTile with ReLU weights, from the
// bare scores in S and dA's value in D: it leaves dm in S and ReLU(A) in D, adds
// to the gradients of the tables and of p, and writes Σ_r dm.
func sinusoidBackward(v isa) {
	v.text("sinusoidBackward", "func(tile *byte)", "is the backward pass of a SinusoidTile, which tile points to.")
	tile := Load(Param("tile"), GP64())
	s := GP64()
	MOVQ(Mem{Base: tile, Disp: tileS}, s)
	jb := GP64()
	XORQ(jb, jb)
	Label("key")
	p, w, ft, gt, fp, gp := sinusoidKey(v, tile, jb)
	total, dp := v.zero(), v.zero()
	d := GP64() // D lies as far from S as it does in the first row
	MOVQ(Mem{Base: tile, Disp: tileD}, d)
	SUBQ(Mem{Base: tile, Disp: tileS}, d)
	r := GP64()
	MOVQ(Mem{Base: tile, Disp: tileN}, r)
	Label("queries")
	field := func(f int, offset Register) Mem {
		base := GP64()
		MOVQ(Mem{Base: tile, Disp: f}, base)
		return Mem{Base: base, Index: offset, Scale: 1}
	}
	token := func(f, g Register) (soft, sigmoid, add VecVirtual) {
		y := v.vec()
		VMOVUPS(field(tileEF, f), y)
		VMULPS(field(tileEG, g), y, y)
		soft, u := log1p(v, y)
		sigmoid = v.vec()
		VDIVPS(u, y, sigmoid)
		add = v.vec()
		VMOVUPS(field(tileFA, f), add)
		VADDPS(field(tileGA, g), add, add)
		return
	}
	softT, sigmoidT, addT := token(ft, gt)
	softP, sigmoidP, addP := token(fp, gp)
	mul, a := v.vec(), v.vec()
	VMULPS(softT, p, mul)
	VFMADD231PS(softP, w, mul)
	VMULPS(addT, p, a)
	VFMADD231PS(addP, w, a)
	// From here on the differences are wanted, for the gradient of p.
	VSUBPS(softP, softT, softT)
	VSUBPS(addP, addT, addT)
	m := v.vec()
	scale := v.vec()
	VBROADCASTSS(Mem{Base: tile, Disp: tileScale}, scale)
	VMULPS(Mem{Base: s}, scale, m)
	VFMADD231PS(m, mul, a) // A
	da := v.vec()
	value := Mem{Base: s, Index: d, Scale: 1}
	if v.wide() {
		positive := K()
		VCMPPS(Imm(14), v.zero(), a, positive) // A > 0
		VMOVUPS_Z(value, positive, da)
	} else {
		positive := v.vec()
		VXORPS(positive, positive, positive)
		VCMPPS(Imm(14), positive, a, positive)
		VANDPS(value, positive, da)
	}
	VMAXPS(a, v.zero(), a)
	VMOVUPS(a, value)
	// dm, and its sum.
	VMULPS(da, mul, mul)
	VMULPS(mul, scale, mul)
	VMOVUPS(mul, Mem{Base: s})
	VADDPS(mul, total, total)
	// dRmul = dA·m, dRadd = dA.
	VMULPS(da, m, m)
	VFMADD231PS(m, softT, dp)
	VFMADD231PS(da, addT, dp)
	scatter := func(weight, sigmoid VecVirtual, f, g Register) {
		x := v.vec()
		VMULPS(m, weight, x)
		VMULPS(sigmoid, x, x)
		accumulate := func(x VecVirtual, to Mem) {
			y := v.vec()
			VADDPS(to, x, y)
			VMOVUPS(y, to)
		}
		accumulate(x, field(tileDFM, f))
		accumulate(x, field(tileDGM, g))
		VMULPS(da, weight, x)
		accumulate(x, field(tileDFA, f))
		accumulate(x, field(tileDGA, g))
	}
	scatter(p, sigmoidT, ft, gt)
	scatter(w, sigmoidP, fp, gp)
	for _, x := range []Register{s, ft, gt, fp, gp} {
		ADDQ(Imm(uint64(v.bytes())), x)
	}
	SUBQ(Imm(uint64(v.width)), r)
	JNZ(LabelRef("queries"))
	// Back to the row's first query.
	MOVQ(Mem{Base: tile, Disp: tileN}, r)
	SHLQ(Imm(2), r)
	SUBQ(r, s)
	out := GP64()
	MOVQ(Mem{Base: tile, Disp: tileTotal}, out)
	v.sumLanes(total)
	VMOVSS(total.AsX(), Mem{Base: out, Index: jb, Scale: 1})
	MOVQ(Mem{Base: tile, Disp: tileDP}, out)
	v.sumLanes(dp)
	VADDSS(Mem{Base: out, Index: jb, Scale: 1}, dp.AsX(), dp.AsX())
	VMOVSS(dp.AsX(), Mem{Base: out, Index: jb, Scale: 1})
	nextKey(tile, s, jb)
	VZEROUPPER()
	RET()
}
