package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of SinusoidTile.
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
	tileScratch
	tileKeys
	tileN       = tileKeys + 8
	tileStride  = tileN + 8
	tileFOrigin = tileStride + 8
	tileGOrigin = tileFOrigin + 8
	tileScale   = tileGOrigin + 8
	tileFloor   = tileScale + 4
)

// field returns a register with a field of the tile. bytesOf returns a field that counts float32s,
// converted to bytes.
func field(tile Register, disp int) GPVirtual {
	x := GP64()
	MOVQ(Mem{Base: tile, Disp: disp}, x)
	return x
}

func bytesOf(tile Register, disp int) GPVirtual {
	n := field(tile, disp)
	SHLQ(Imm(2), n)
	return n
}

// window returns a pointer field of the tile, moved by offset bytes.
func window(tile Register, disp int, offset Register) GPVirtual {
	base := field(tile, disp)
	ADDQ(offset, base)
	return base
}

// log1pCoefficients are the coefficients of Q in log(1+m) = m + m²·Q(m) for −¼ ≤ m ≤ ½. The
// relative error is 2.0e-7 (minimax, by reweighted least squares).
var log1pCoefficients = []float32{
	-0x1.000038p-1, 0x1.554e72p-2, -0x1.ff9350p-3, 0x1.9b8d78p-3,
	-0x1.63107cp-3, 0x1.21ddaep-3, -0x1.13441ap-4,
}

// log1p emits log(1+y) for 0 ≤ y < 2¹²⁷. With E the exponent of 1+y relative to ¾ … 1½, it computes
// log(1+m) + E·ln 2 with m = y·2⁻ᴱ + (2⁻ᴱ − 1), so that small y lose no bits.
//
// The dependency chain is long and a CPU's reorder window is limited. The instructions of several
// vectors are therefore interleaved, so that an instruction is always ready. The vectors share the
// loads of the constants.
func log1p(v isa, one VecVirtual, y []VecVirtual) []VecVirtual {
	each := func(f func(i int)) {
		for i := range y {
			f(i)
		}
	}
	e, m := v.vecs(len(y)), v.vecs(len(y))
	each(func(i int) { VADDPS(one, y[i], e[i]) })
	low := v.splat(0.75)
	each(func(i int) { VPSUBD(low, e[i], e[i]) }) // bits(1+y) − bits(¾)
	mask := v.splatBits(0xff800000)
	each(func(i int) { v.and(mask, e[i], e[i]) })
	each(func(i int) {
		s := v.vec()
		VPSUBD(e[i], one, s) // 2⁻ᴱ
		VSUBPS(one, s, m[i])
		VFMADD231PS(y[i], s, m[i])
	})
	each(func(i int) { VCVTDQ2PS(e[i], e[i]) }) // E·2²³
	q, c := v.vecs(len(y)), log1pCoefficients
	each(func(i int) { VBROADCASTSS(constant(c[len(c)-1]), q[i]) })
	for k := len(c) - 2; k >= 0; k-- {
		x := v.splat(c[k])
		each(func(i int) { VFMADD213PS(x, m[i], q[i]) })
	}
	each(func(i int) { VFMADD213PS(one, m[i], q[i]) }) // 1 + m·Q
	ln2 := v.splat(0.69314718055994530942 * 0x1p-23)
	each(func(i int) { VMULPS(ln2, e[i], e[i]) })
	each(func(i int) { VFMADD213PS(e[i], m[i], q[i]) }) // m + m²·Q + E·ln 2
	return q
}

// softplusRow emits a loop over a row's queries, several vectors at a time. For y = eᶠ·eᵍ, it first calls
// before(y, at) and then after(log(1+y), at), where at is the offset of the vectors in the row, in bytes.
// ahead holds the windows to prefetch; nil means none.
func softplusRow(v isa, tile Register, label string, f, g Register, ahead *windows, before,
	after func(x []VecVirtual, at Register)) {
	ef, eg, end, at := window(tile, tileEF, f), window(tile, tileEG, g), bytesOf(tile, tileN), GP64()
	XORQ(at, at)
	one := v.splat(1)
	step := func(n int) {
		ahead.prefetch(tile, at, n*v.bytes())
		y := v.vecs(n)
		for i := range y {
			VMOVUPS(Mem{Base: ef, Index: at, Scale: 1, Disp: i * v.bytes()}, y[i])
			VMULPS(Mem{Base: eg, Index: at, Scale: 1, Disp: i * v.bytes()}, y[i], y[i])
		}
		before(y, at)
		after(log1p(v, one, y), at)
		ADDQ(U32(uint32(n*v.bytes())), at)
	}
	const side = 4
	SUBQ(U32(uint32(side*v.bytes())), end)
	JLT(LabelRef(label + "_rest"))
	Label(label)
	step(side)
	CMPQ(at, end)
	JLE(LabelRef(label))
	Label(label + "_rest")
	ADDQ(U32(uint32(side*v.bytes())), end)
	CMPQ(at, end)
	JGE(LabelRef(label + "_done"))
	step(2)
	Label(label + "_done")
}

// windows holds the start offsets of a token's windows in F and G, in bytes.
type windows struct{ f, g GPVirtual }

// prefetch emits prefetches of n bytes of the tables, at an offset in the windows. A nil receiver
// emits nothing.
func (w *windows) prefetch(tile, at Register, n int) {
	if w == nil {
		return
	}
	base := GP64()
	for _, t := range []struct {
		field  int
		offset GPVirtual
	}{{tileEF, w.f}, {tileEG, w.g}, {tileFA, w.f}, {tileGA, w.g}} {
		MOVQ(Mem{Base: tile, Disp: t.field}, base)
		ADDQ(t.offset, base)
		for line := 0; line < n; line += 64 {
			PREFETCHT0(Mem{Base: base, Index: at, Scale: 1, Disp: line})
		}
	}
}

// nextWindows returns the windows of the next key's top token or partner. For the last key it
// returns the key's own windows.
func nextWindows(tile, jb Register, of int) *windows {
	f, g, base := GP64(), GP64(), bytesOf(tile, tileKeys)
	LEAQ(Mem{Base: jb, Disp: 4}, f)
	CMPQ(f, base)
	CMOVQGE(jb, f)
	MOVQ(Mem{Base: tile, Disp: of}, base)
	MOVLQSX(Mem{Base: base, Index: f, Scale: 1}, g)
	XORQ(f, f)
	TESTQ(g, g)
	CMOVQLT(f, g)
	windowsOf(tile, f, g)
	return &windows{f, g}
}

// windowsOf converts the token position in register g to byte offsets: the start of the token's window in
// table F, in register f, and in table G, in register g.
func windowsOf(tile, f, g Register) {
	MOVQ(Mem{Base: tile, Disp: tileFOrigin}, f)
	SUBQ(g, f)
	ADDQ(Mem{Base: tile, Disp: tileGOrigin}, g)
	SHLQ(Imm(2), f)
	SHLQ(Imm(2), g)
}

// sinusoidKey loads the data of key jb/4: the weights of its two tokens, and the start offsets of
// their windows in F and G, in bytes.
func sinusoidKey(v isa, tile, jb Register) (p, w VecVirtual, ft, gt, fp, gp GPVirtual) {
	base := field(tile, tileP)
	p, w = v.vec(), v.vec()
	VBROADCASTSS(Mem{Base: base, Index: jb, Scale: 1}, p)
	VMOVUPS(v.wideConstant(1), w)
	VSUBPS(p, w, w)
	places := func(of int) (f, g GPVirtual) {
		f, g = GP64(), GP64()
		MOVQ(Mem{Base: tile, Disp: of}, base)
		MOVLQSX(Mem{Base: base, Index: jb, Scale: 1}, g)
		if of == tilePartner { // without a partner the weight is 0, so any window can be read
			TESTQ(g, g)
			JGE(LabelRef("paired"))
			XORQ(g, g)
			v.clear(w)
			Label("paired")
		}
		windowsOf(tile, f, g)
		return f, g
	}
	ft, gt = places(tileTop)
	fp, gp = places(tilePartner)
	return
}

// sinusoidTile emits s = max(s·scale·Rmul + Radd, floor), and adds the sum over the keys to Sum.
// With far, it prefetches the next key's windows, for tables that exceed the first-level and second-level caches.
func sinusoidTile(v isa, far bool) {
	name, next := "sinusoidTile", func(jb, tile Register, of int) *windows { return nil }
	doc := "sinusoidTile computes Scores.Sinusoid."
	if far {
		doc = "sinusoidTileFar computes Scores.SinusoidFar: it also prefetches the tables' windows of the next key."
		name, next = "sinusoidTileFar", func(jb, tile Register, of int) *windows { return nextWindows(tile, jb, of) }
	}
	v.text(name, "func(tile *byte)", doc+" tile is a *SinusoidTile.")
	tile := Load(Param("tile"), GP64())
	s, scratch, jb := field(tile, tileS), field(tile, tileScratch), GP64()
	XORQ(jb, jb)
	Label("key")
	p, w, ft, gt, fp, gp := sinusoidKey(v, tile, jb)
	none := func([]VecVirtual, Register) {}
	softplusRow(v, tile, "top", ft, gt, next(jb, tile, tileTop), none, func(log []VecVirtual, at Register) {
		for i, x := range log {
			VMULPS(p, x, x)
			VMOVUPS(x, Mem{Base: scratch, Index: at, Scale: 1, Disp: i * v.bytes()})
		}
	})
	softplusRow(v, tile, "partner", fp, gp, next(jb, tile, tilePartner), none, func(log []VecVirtual, at Register) {
		for i, x := range log {
			m := Mem{Base: scratch, Index: at, Scale: 1, Disp: i * v.bytes()}
			VFMADD213PS(m, w, x)
			VMOVUPS(x, m)
		}
	})
	fat, gat := window(tile, tileFA, ft), window(tile, tileGA, gt)
	fap, gap := window(tile, tileFA, fp), window(tile, tileGA, gp)
	scale, floor := v.vec(), v.vec()
	VBROADCASTSS(Mem{Base: tile, Disp: tileScale}, scale)
	VBROADCASTSS(Mem{Base: tile, Disp: tileFloor}, floor)
	sum, r := field(tile, tileSum), GP64()
	XORQ(r, r)
	Label("queries")
	lane := func(base Register) Mem { return Mem{Base: base, Index: r, Scale: 1} }
	add := func(f, g Register) VecVirtual {
		a := v.vec()
		VMOVUPS(lane(f), a)
		VADDPS(lane(g), a, a)
		return a
	}
	a := add(fat, gat)
	VMULPS(p, a, a)
	VFMADD231PS(add(fap, gap), w, a)
	x := v.vec()
	VMULPS(lane(s), scale, x)
	VFMADD132PS(lane(scratch), a, x) // x·Rmul + Radd
	VMAXPS(x, floor, x)              // NaN stays NaN: VMAXPS returns x, Intel's second source, if an operand is NaN
	VMOVUPS(x, lane(s))
	VADDPS(lane(sum), x, x)
	VMOVUPS(x, lane(sum))
	ADDQ(Imm(uint64(v.bytes())), r)
	CMPQ(r, bytesOf(tile, tileN))
	JLT(LabelRef("queries"))
	nextKey(tile, s, jb)
	end()
}

// nextKey advances to the next row of s and the next key, or leaves the loop.
func nextKey(tile, s, jb Register) {
	LEAQ(Mem{Base: s, Index: field(tile, tileStride), Scale: 4}, s)
	ADDQ(Imm(4), jb)
	CMPQ(jb, bytesOf(tile, tileKeys))
	JLT(LabelRef("key"))
}

// sinusoidBackward emits the adjoint of sinusoidTile with ReLU weights. It reads the unscaled
// scores in S and dA in D, writes dm to S and ReLU(A) to D, adds to the gradients of the tables and
// of p, and writes Σ_r dm.
func sinusoidBackward(v isa) {
	v.text("sinusoidBackward", "func(tile *byte)",
		"sinusoidBackward computes Scores.SinusoidBackward. tile is a *SinusoidTile.")
	tile := Load(Param("tile"), GP64())
	s, jb := field(tile, tileS), GP64()
	XORQ(jb, jb)
	Label("key")
	p, w, ft, gt, fp, gp := sinusoidKey(v, tile, jb)
	soft := func(label string, f, g Register, rows int) {
		out, n := field(tile, tileScratch), bytesOf(tile, tileN)
		for range rows {
			ADDQ(n, out)
		}
		ADDQ(out, n)
		store := func(base Register) func(x []VecVirtual, at Register) {
			return func(x []VecVirtual, at Register) {
				for i := range x {
					VMOVUPS(x[i], Mem{Base: base, Index: at, Scale: 1, Disp: i * v.bytes()})
				}
			}
		}
		softplusRow(v, tile, label, f, g, nil, store(n), store(out))
	}
	soft("top", ft, gt, 0)
	soft("partner", fp, gp, 2)

	total, dp := v.zero(), v.zero()
	d := field(tile, tileD) // the distance between D and S is the same in every row
	SUBQ(Mem{Base: tile, Disp: tileS}, d)
	scratch, n := field(tile, tileScratch), bytesOf(tile, tileN)
	fT, gT := window(tile, tileFA, ft), window(tile, tileGA, gt)
	fP, gP := window(tile, tileFA, fp), window(tile, tileGA, gp)
	r := field(tile, tileN)
	Label("queries")
	load := func(m Mem) VecVirtual {
		x := v.vec()
		VMOVUPS(m, x)
		return x
	}
	softT, softP := load(Mem{Base: scratch}), load(Mem{Base: scratch, Index: n, Scale: 2})
	addT, addP := load(Mem{Base: fT}), load(Mem{Base: fP})
	VADDPS(Mem{Base: gT}, addT, addT)
	VADDPS(Mem{Base: gP}, addP, addP)
	mul, a := v.vec(), v.vec()
	VMULPS(softT, p, mul)
	VFMADD231PS(softP, w, mul)
	VMULPS(addT, p, a)
	VFMADD231PS(addP, w, a)
	// The gradient of p needs the differences.
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
	// dRmul = dA·m and dRadd = dA replace the logarithms.
	VMULPS(da, m, m)
	VMOVUPS(m, Mem{Base: scratch})
	VMOVUPS(da, Mem{Base: scratch, Index: n, Scale: 2})
	VFMADD231PS(m, softT, dp)
	VFMADD231PS(da, addT, dp)
	for _, x := range []Register{s, scratch, fT, gT, fP, gP} {
		ADDQ(Imm(uint64(v.bytes())), x)
	}
	SUBQ(Imm(uint64(v.width)), r)
	JNZ(LabelRef("queries"))
	sinusoidScatter(v, tile, "scatterTop", p, ft, gt, 1)
	sinusoidScatter(v, tile, "scatterPartner", w, fp, gp, 3)
	// Return to the row's first query.
	MOVQ(Mem{Base: tile, Disp: tileN}, r)
	SHLQ(Imm(2), r)
	SUBQ(r, s)
	out := field(tile, tileTotal)
	v.sumLanes(total)
	VMOVSS(total.AsX(), Mem{Base: out, Index: jb, Scale: 1})
	MOVQ(Mem{Base: tile, Disp: tileDP}, out)
	v.sumLanes(dp)
	VADDSS(Mem{Base: out, Index: jb, Scale: 1}, dp.AsX(), dp.AsX())
	VMOVSS(dp.AsX(), Mem{Base: out, Index: jb, Scale: 1})
	nextKey(tile, s, jb)
	end()
}

// sinusoidScatter emits a loop over a row's queries that adds the gradients of a token's terms to
// the tables. In the scratch memory, row 0 is dRmul, row 2 is dRadd, and the row with index
// exponential is eᶠ·eᵍ.
func sinusoidScatter(v isa, tile Register, label string, weight VecVirtual, f, g Register, exponential int) {
	scratch, n, y := field(tile, tileScratch), bytesOf(tile, tileN), GP64()
	MOVQ(scratch, y)
	for range exponential {
		ADDQ(n, y)
	}
	radd := GP64()
	LEAQ(Mem{Base: scratch, Index: n, Scale: 2}, radd)
	mulTables := []GPVirtual{window(tile, tileDFM, f), window(tile, tileDGM, g)}
	addTables := []GPVirtual{window(tile, tileDFA, f), window(tile, tileDGA, g)}
	one := v.splat(1)
	at := GP64()
	XORQ(at, at)
	Label(label)
	lane := func(base Register) Mem { return Mem{Base: base, Index: at, Scale: 1} }
	accumulate := func(x VecVirtual, tables []GPVirtual) {
		for _, t := range tables {
			sum := v.vec()
			VADDPS(lane(t), x, sum)
			VMOVUPS(sum, lane(t))
		}
	}
	sigmoid, u, x := v.vec(), v.vec(), v.vec()
	VMOVUPS(lane(y), sigmoid)
	VADDPS(one, sigmoid, u)
	VDIVPS(u, sigmoid, sigmoid) // σ = y/(1+y)
	VMULPS(lane(scratch), weight, x)
	VMULPS(sigmoid, x, x)
	accumulate(x, mulTables)
	z := v.vec()
	VMULPS(lane(radd), weight, z)
	accumulate(z, addTables)
	ADDQ(Imm(uint64(v.bytes())), at)
	CMPQ(at, n)
	JLT(LabelRef(label))
}
