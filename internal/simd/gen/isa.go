package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set: AVX2 with FMA, or AVX-512 (F, BW, DQ, VL).
type isa struct {
	suffix string
	width  int // number of float32s in a register
}

var (
	avx2   = isa{"AVX2", 8}
	avx512 = isa{"AVX512", 16}
)

func (v isa) wide() bool { return v.width == 16 }

// bytes returns the size of a register in bytes.
func (v isa) bytes() int { return 4 * v.width }

// vec returns a new vector register.
func (v isa) vec() VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

// vecs returns n new vector registers.
func (v isa) vecs(n int) []VecVirtual {
	r := make([]VecVirtual, n)
	for i := range r {
		r[i] = v.vec()
	}
	return r
}

// zero returns a register of zeros.
func (v isa) zero() VecVirtual {
	r := v.vec()
	v.clear(r)
	return r
}

func (v isa) clear(r Op) {
	if v.wide() {
		VPXORD(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}

// and emits dst = a AND b, bitwise.
func (v isa) and(a, b, dst Op) {
	if v.wide() {
		VPANDD(a, b, dst)
	} else {
		VPAND(a, b, dst)
	}
}

// or emits dst = a OR b, bitwise.
func (v isa) or(a, b, dst Op) {
	if v.wide() {
		VPORD(a, b, dst)
	} else {
		VPOR(a, b, dst)
	}
}

// sumLanes emits the sum of the lanes of x into its first lane. It adds the halves first.
func (v isa) sumLanes(x VecVirtual) {
	if v.wide() {
		h := ZMM()
		VEXTRACTF64X4(Imm(1), x, h.AsY())
		VADDPS(h.AsY(), x.AsY(), x.AsY())
	}
	// EVEX has no VEXTRACTF128: registers above 15 need VEXTRACTF32X4.
	h := v.vec()
	if v.wide() {
		VEXTRACTF32X4(Imm(1), x.AsY(), h.AsX())
	} else {
		VEXTRACTF128(Imm(1), x, h.AsX())
	}
	VADDPS(h.AsX(), x.AsX(), x.AsX())
	VSHUFPS(Imm(0x0e), x.AsX(), x.AsX(), h.AsX())
	VADDPS(h.AsX(), x.AsX(), x.AsX())
	VSHUFPS(Imm(0x01), x.AsX(), x.AsX(), h.AsX())
	VADDPS(h.AsX(), x.AsX(), x.AsX())
}

// text begins a function for this instruction set. The parameter doc is its documentation. Functions may
// share it if they differ only in their instruction set or in a number.
func (v isa) text(name, signature, doc string) {
	TEXT(name+v.suffix, NOSPLIT, signature)
	declare(name+v.suffix, signature, doc)
}

// constants maps names to the read-only data of the file.
var constants = map[string]Mem{}

// bits returns a constant for instructions that broadcast from memory. It writes floats as bits,
// because avo would write F32(1) as the integer 1.
func bits(b uint32) Mem {
	return data(fmt.Sprintf("c%08x", b), func() { DATA(0, U32(b)) })
}

// wideBits returns an operand with the constant in every lane.
func (v isa) wideBits(b uint32) Mem {
	return data(fmt.Sprintf("w%08x", b), func() {
		for i := range 16 {
			DATA(4*i, U32(b))
		}
	})
}

func (v isa) wideConstant(x float32) Mem { return v.wideBits(math.Float32bits(x)) }

func constant(x float32) Mem { return bits(math.Float32bits(x)) }

// splat returns a register with x in every lane.
func (v isa) splat(x float32) VecVirtual { return v.splatBits(math.Float32bits(x)) }

func (v isa) splatBits(b uint32) VecVirtual {
	r := v.vec()
	VBROADCASTSS(bits(b), r)
	return r
}
