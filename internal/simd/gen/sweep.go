package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// span is the part of a slice that one step of a sweep processes: one or more full vectors, or a single
// vector under a mask.
type span struct {
	v    isa
	i    Register // index of the first element
	n    int      // number of vectors
	mask Op       // nil for full vectors
}

func (s span) at(p Register, j int) Mem {
	return Mem{Base: p, Index: s.i, Scale: 4, Disp: j * s.v.bytes()}
}

// load emits loads of the span of the slice at p. Lanes outside the mask become 0.
func (s span) load(p Register) []VecVirtual {
	x := s.v.vecs(s.n)
	for j := range x {
		s.v.load(s.at(p, j), s.mask, x[j])
	}
	return x
}

func (s span) store(x []VecVirtual, p Register) {
	for j := range x {
		s.v.store(x[j], s.mask, s.at(p, j))
	}
}

// operands returns the values of the span as memory operands for the next instruction. With a mask
// it loads them into registers.
func (s span) operands(p Register) []Op {
	x := make([]Op, s.n)
	for j := range x {
		x[j] = s.at(p, j)
	}
	if s.mask != nil {
		x[0] = s.load(p)[0]
	}
	return x
}

// hide emits code that sets the lanes outside the mask to 0, so that they do not affect sums.
func (s span) hide(x []VecVirtual) {
	switch {
	case s.mask == nil:
	case s.v.wide():
		VMOVAPS_Z(x[0], s.mask, x[0])
	default:
		VANDPS(s.mask, x[0], x[0])
	}
}

// sweep emits body for the elements 0 … n−1: first for several vectors at a time, then for single
// vectors, then for the remaining elements under a mask. wide is the number of vectors at a time. Labels
// begin with label.
func (v isa) sweep(label string, n Register, wide int, body func(span)) {
	i, left := GP64(), GP64()
	XORQ(i, i)
	MOVQ(n, left)
	for _, vectors := range []int{wide, 1} {
		again, done := label+"_vectors", label+"_vectors_done"
		if vectors == 1 {
			again, done = label+"_vector", label+"_vector_done"
		}
		step := U32(vectors * v.width)
		SUBQ(step, left)
		JLT(LabelRef(done))
		Label(again)
		body(span{v, i, vectors, nil})
		ADDQ(step, i)
		SUBQ(step, left)
		JGE(LabelRef(again))
		Label(done)
		ADDQ(step, left)
		if wide == 1 {
			break
		}
	}
	JZ(LabelRef(label + "_end"))
	body(span{v, i, 1, v.mask(left)})
	Label(label + "_end")
}

// mask returns the mask of the first n lanes, where n is at most the number of lanes.
func (v isa) mask(n Register) Op {
	table := GP64()
	if v.wide() {
		LEAQ(lowBits(), table)
		k := K()
		KMOVW(Mem{Base: table, Index: n, Scale: 2}, k)
		return k
	}
	LEAQ(onesThenZeros(), table)
	back, m := GP64(), YMM()
	MOVQ(n, back)
	NEGQ(back)
	VMOVUPS(Mem{Base: table, Index: back, Scale: 4, Disp: 32}, m)
	return m
}

// load emits the load of a vector; a nil mask loads all lanes.
func (v isa) load(m Mem, mask Op, x VecVirtual) {
	switch {
	case mask == nil:
		VMOVUPS(m, x)
	case v.wide():
		VMOVUPS_Z(m, mask, x)
	default:
		VMASKMOVPS(m, mask, x)
	}
}

func (v isa) store(x VecVirtual, mask Op, m Mem) {
	switch {
	case mask == nil:
		VMOVUPS(x, m)
	case v.wide():
		VMOVUPS(x, mask, m)
	default:
		VMASKMOVPS(x, mask, m)
	}
}

// data returns a read-only table by name. It calls write once to fill the table.
func data(name string, write func()) Mem {
	m, ok := constants[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		write()
		constants[name] = m
	}
	return m
}

func onesThenZeros() Mem {
	return data("ones_then_zeros", func() {
		for i := range 16 {
			word := U32(0)
			if i < 8 {
				word = U32(1<<32 - 1)
			}
			DATA(4*i, word)
		}
	})
}

func lowBits() Mem {
	return data("low_bits", func() {
		for i := range 17 {
			DATA(2*i, U16(1<<i-1))
		}
	})
}

// sum returns the sum of all lanes of x in every lane. It always adds in the same order: pairs of
// vectors first, then halves of vectors.
func (v isa) sum(x []VecVirtual) VecVirtual {
	return v.reduce(x, func(a, b VecVirtual) { VADDPS(a, b, b) })
}

// reduce combines all lanes of x in the order of sum. combine emits code that sets b to the
// combination of a and b.
func (v isa) reduce(x []VecVirtual, combine func(a, b VecVirtual)) VecVirtual {
	for n := len(x); n > 1; n = (n + 1) / 2 {
		for i := range n / 2 {
			combine(x[n-1-i], x[i])
		}
	}
	total, t := x[0], v.vec()
	if v.wide() {
		VSHUFF32X4(U8(0x4e), total, total, t)
		combine(t, total)
		VSHUFF32X4(U8(0xb1), total, total, t)
	} else {
		VPERM2F128(U8(1), total, total, t)
	}
	combine(t, total)
	for _, halves := range []uint8{0x4e, 0xb1} {
		VSHUFPS(U8(halves), total, total, t)
		combine(t, total)
	}
	return total
}

// zeros returns n registers of zeros.
func (v isa) zeros(n int) []VecVirtual {
	x := v.vecs(n)
	for _, r := range x {
		v.clear(r)
	}
	return x
}

// argument returns the address of a parameter that is not a slice.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// result returns the address of the function's result. avo's Store would emit an SSE instruction,
// which waits for the upper halves of registers.
func result() Mem {
	b, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// broadcast returns a register with the word at m in every lane.
func (v isa) broadcast(m Mem) VecVirtual {
	r := v.vec()
	VBROADCASTSS(m, r)
	return r
}

// slice returns a register with the address of a slice parameter.
func slice(name string) Register { return Load(Param(name).Base(), GP64()) }

// length returns a register with the length of a slice parameter.
func length(name string) Register { return Load(Param(name).Len(), GP64()) }

// word returns a register with an integer or pointer parameter. floats returns a parameter that
// counts float32s, converted to bytes.
func word(name string) Register { return Load(Param(name), GP64()) }

func floats(name string) Register {
	n := word(name)
	SHLQ(Imm(2), n)
	return n
}

// columns emits a loop over n > 0 bytes, a vector at a time. body receives a vector's offset in bytes.
func (v isa) columns(n Register, body func(column Register)) {
	column := GP64()
	XORQ(column, column)
	Label("column")
	body(column)
	ADDQ(Imm(uint64(v.bytes())), column)
	CMPQ(column, n)
	JLT(LabelRef("column"))
}

// rows emits a loop of n iterations, one per row. Labels begin with label.
func rows(label string, n Register, body func()) {
	TESTQ(n, n)
	JLE(LabelRef(label + "_done"))
	Label(label)
	body()
	DECQ(n)
	JNZ(LabelRef(label))
	Label(label + "_done")
}

// end emits the return from a function.
func end() {
	VZEROUPPER()
	RET()
}
