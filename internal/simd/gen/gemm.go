package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// gemm emits the tiles of the matrix product, with every height from 1 to the number of rows that fit
// into registers beside two vectors of B, and the packing of operands. AVX-512 also has tiles one
// vector wide, because a head often has 16 channels.
func gemm(v isa) {
	rows := 6
	if v.wide() {
		rows = 14
	}
	for ; rows > 0; rows-- {
		gemmTile(v, rows, 2)
		if v.wide() {
			gemmTile(v, rows, 1)
		}
	}
	packRows(v)
	packColumns(v)
}

func gemmTile(v isa, rows, vectors int) {
	name, columns := "gemm", "two vectors"
	if vectors == 1 {
		name, columns = "gemmNarrow", "a vector"
	}
	v.text(fmt.Sprintf("%s%d", name, rows),
		"func(n, k int, a *float32, rs, cs int, b *float32, ldb int, init *float32, is int, c *float32, ldc, cols int)",
		name+"R computes n tiles of R rows, one below the other, with up to "+columns+" of columns: c = a·b + init.")
	Label("tile")
	k, a, rs, cs := word("k"), word("a"), word("rs"), word("cs")
	SHLQ(Imm(2), rs)
	SHLQ(Imm(2), cs)

	// Three rows share a base register: base, base+rs, base+2rs.
	bases := []Register{a}
	for r := 3; r < rows; r += 3 {
		next := GP64()
		LEAQ(Mem{Base: bases[len(bases)-1], Index: rs, Scale: 2}, next)
		ADDQ(rs, next)
		bases = append(bases, next)
	}
	element := func(r int) Mem {
		m := Mem{Base: bases[r/3]}
		if r%3 > 0 {
			m.Index, m.Scale = rs, uint8(r%3)
		}
		return m
	}

	acc := make([][]VecVirtual, rows)
	for r := range acc {
		for range vectors {
			acc[r] = append(acc[r], v.zero())
		}
	}

	// The result is rarely in the first-level cache, so prefetch it.
	c, ldc := word("c"), floats("ldc")
	for r := range rows {
		for line := 0; line < vectors*v.bytes(); line += 64 {
			PREFETCHT0(Mem{Base: c, Disp: line})
		}
		if r+1 < rows {
			ADDQ(ldc, c)
		}
	}

	b, ldb := word("b"), floats("ldb")
	step := func() {
		right := v.vecs(vectors)
		for i := range right {
			VMOVUPS(Mem{Base: b, Disp: i * v.bytes()}, right[i])
		}
		ADDQ(ldb, b)
		for r := range acc {
			x := v.vec()
			VBROADCASTSS(element(r), x)
			for i := range right {
				VFMADD231PS(right[i], x, acc[r][i])
			}
		}
		for _, p := range bases {
			ADDQ(cs, p)
		}
	}
	pairs := GP64()
	MOVQ(k, pairs)
	SHRQ(Imm(1), pairs)
	JZ(LabelRef("odd"))
	Label("loop")
	step()
	step()
	DECQ(pairs)
	JNZ(LabelRef("loop"))
	Label("odd")
	TESTQ(U32(1), k)
	JZ(LabelRef("store"))
	step()
	Label("store")
	gemmStore(v, acc)
	for _, next := range []struct{ pointer, stride string }{{"a", "rs"}, {"init", "is"}, {"c", "ldc"}} {
		stride := Load(Param(next.stride), GP64())
		IMUL3Q(U32(uint32(4*rows)), stride, stride)
		ADDQ(stride, argument(next.pointer))
	}
	DECQ(argument("n"))
	JNZ(LabelRef("tile"))
	end()
}

// packRows emits the copy of a panel, two vectors wide, from a matrix with contiguous rows.
func packRows(v isa) {
	v.text("packRows", "func(k int, dst, src *float32, stride int)",
		"packRows copies k rows of two vectors, which are stride floats apart in src.")
	k, dst, src, stride := word("k"), word("dst"), word("src"), floats("stride")
	Label("row")
	x, y := v.vec(), v.vec()
	VMOVUPS(Mem{Base: src}, x)
	VMOVUPS(Mem{Base: src, Disp: v.bytes()}, y)
	VMOVUPS(x, Mem{Base: dst})
	VMOVUPS(y, Mem{Base: dst, Disp: v.bytes()})
	ADDQ(stride, src)
	ADDQ(U32(uint32(2*v.bytes())), dst)
	DECQ(k)
	JNZ(LabelRef("row"))
	end()
}

// gemmStore emits code that adds init to the accumulators and stores the sums. It uses masks if the tile
// has fewer columns than its vectors have lanes.
func gemmStore(v isa, acc [][]VecVirtual) {
	vectors := len(acc[0])
	init, is := word("init"), floats("is")
	c, ldc := word("c"), floats("ldc")
	cols := word("cols")
	each := func(move func(from, to Mem, sum VecVirtual, i int)) {
		for r := range acc {
			for i := range vectors {
				move(Mem{Base: init, Disp: i * v.bytes()}, Mem{Base: c, Disp: i * v.bytes()}, acc[r][i], i)
			}
			if r+1 < len(acc) {
				ADDQ(is, init)
				ADDQ(ldc, c)
			}
		}
	}
	CMPQ(cols, Imm(uint64(vectors*v.width)))
	JNE(LabelRef("narrow"))
	each(func(from, to Mem, sum VecVirtual, _ int) {
		VADDPS(from, sum, sum)
		VMOVUPS(sum, to)
	})
	JMP(LabelRef("done"))
	Label("narrow")
	masks := []Op{v.mask(cols)}
	if vectors == 2 {
		masks = columnMasks(v, cols)
	}
	each(func(from, to Mem, sum VecVirtual, i int) {
		x := v.vec()
		v.load(from, masks[i], x)
		VADDPS(x, sum, sum)
		v.store(sum, masks[i], to)
	})
	Label("done")
}

// columnMasks returns masks that select the first cols columns of two vectors.
func columnMasks(v isa, cols Register) []Op {
	low, high, bound := GP64(), GP64(), GP64()
	MOVQ(U32(uint32(v.width)), bound)
	MOVQ(cols, high)
	SUBQ(bound, high)
	MOVQ(cols, low)
	CMPQ(cols, bound)
	CMOVQGT(bound, low)
	first := v.mask(low)
	XORQ(bound, bound)
	TESTQ(high, high)
	CMOVQLT(bound, high)
	return []Op{first, v.mask(high)}
}

// packColumns emits the contiguous copy of a block of columns, with the sum of each column. Reading
// the columns in place would thrash the first-level cache.
func packColumns(v isa) {
	v.text("packColumns", "func(rows, cols int, dst, src *float32, stride int, sum *float32)",
		"packColumns copies rows of cols floats, which are stride floats apart in src, and writes the sum of each column.")
	cols, stride := word("cols"), floats("stride")
	v.sweep("columns", cols, 4, func(s span) {
		rows, dst, src := word("rows"), word("dst"), word("src")
		sums := v.zeros(s.n)
		label := fmt.Sprintf("rows%d", s.n)
		if s.mask != nil {
			label = "rowsMasked"
		}
		Label(label)
		x := s.load(src)
		s.store(x, dst)
		for i := range x {
			VADDPS(x[i], sums[i], sums[i])
		}
		ADDQ(stride, src)
		LEAQ(Mem{Base: dst, Index: cols, Scale: 4}, dst)
		DECQ(rows)
		JNZ(LabelRef(label))
		s.store(sums, word("sum"))
	})
	end()
}
