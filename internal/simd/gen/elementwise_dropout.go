package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// philoxGroups returns the number of counter groups that fit into the registers.
func (v isa) philoxGroups() int {
	if v.wide() {
		return 6
	}
	return 3
}

// dropout emits a kernel that keeps an element if the element's word of Philox4x32-10 is large enough;
// each block of four elements uses the four words of a counter. A group of counters has a counter in
// each 64-bit lane. Words are in the lower halves of the lanes, where VPMULUDQ reads and writes
// them, and the upper halves are ignored. Each iteration processes several groups, because a round
// is a long dependency chain.
func dropout(v isa) {
	count := v.philoxGroups()
	block := U32(2 * count * v.width)
	v.text("dropout", "func(y, x []float32, counter *[4]uint32, key *[2]uint32, threshold uint32, scale float32)",
		"dropout computes yᵢ = scale·xᵢ where word i of the counters has bits 9 … 31 ≥ threshold, else 0.")
	y, x := slice("y"), slice("x")
	counter, key := Load(Param("counter"), GP64()), Load(Param("key"), GP64())
	e := GP32()
	MOVL(Mem{Base: counter}, e)

	draw := func() []VecVirtual {
		first := v.vec()
		if v.wide() {
			VPBROADCASTD(e, first)
		} else {
			low := XMM()
			VMOVD(e, low)
			VPBROADCASTD(low, first)
		}
		k := []VecVirtual{v.broadcast(Mem{Base: key}), v.broadcast(Mem{Base: key, Disp: 4})}
		groups := make([][]VecVirtual, count)
		for i := range groups {
			c := v.vecs(4)
			VPADDD(counters(v, i), first, c[0])
			for w := 1; w < 4; w++ {
				VBROADCASTSS(Mem{Base: counter, Disp: 4 * w}, c[w])
			}
			groups[i] = c
		}
		philoxRounds(v, groups, k)
		var words []VecVirtual
		for _, c := range groups {
			words = append(words, inOrder(v, c)...)
		}
		return words
	}
	// kept scales u where the word is large enough, and clears u elsewhere.
	kept := func(words, u VecVirtual) {
		scale := v.broadcast(argument("scale"))
		threshold := v.broadcast(argument("threshold"))
		VPSRLD(U8(9), words, words)
		VMULPS(scale, u, u)
		if v.wide() {
			k := K()
			VPCMPD(U8(5), threshold, words, k) // ≥
			VMOVAPS_Z(u, k, u)
			return
		}
		VPCMPGTD(words, threshold, words) // threshold > words
		VPANDN(u, words, u)
	}

	i, left := GP64(), length("y")
	XORQ(i, i)
	SUBQ(block, left)
	JLT(LabelRef("blocks_done"))
	Label("blocks")
	s := span{v, i, 2 * count, nil}
	for j, w := range draw() {
		u := v.vec()
		VMOVUPS(s.at(x, j), u)
		kept(w, u)
		VMOVUPS(u, s.at(y, j))
	}
	ADDL(U8(count*v.width/2), e)
	ADDQ(block, i)
	SUBQ(block, left)
	JGE(LabelRef("blocks"))
	Label("blocks_done")
	ADDQ(block, left)
	JZ(LabelRef("end"))

	// The remaining elements: each vector has its own mask.
	zero, full, some := GP64(), GP64(), GP64()
	XORQ(zero, zero)
	MOVQ(U32(v.width), full)
	for j, w := range draw() {
		MOVQ(left, some)
		CMPQ(some, full)
		CMOVQGT(full, some)
		SUBQ(some, left)
		mask, u := v.mask(some), v.vec()
		v.load(s.at(x, j), mask, u)
		kept(w, u)
		v.store(u, mask, s.at(y, j))
	}
	Label("end")
	end()
}

// counters returns the offsets of a group's counters from the first counter, in the order that inOrder expects.
func counters(v isa, group int) Mem {
	name := fmt.Sprintf("counters_%d_%d", v.width, group)
	return data(name, func() {
		n := v.width / 2
		for lane := range n {
			// The 128-bit lane i holds the counters i and i + n/2 of the group.
			c := group*n + lane/2 + lane%2*n/2
			DATA(8*lane, U64(c))
		}
	})
}

// philoxRounds replaces the counters in groups by the words that Philox computes from them.
func philoxRounds(v isa, groups [][]VecVirtual, k []VecVirtual) {
	for round := range 10 {
		if round > 0 {
			VPADDD(v.wideBits(0x9E3779B9), k[0], k[0])
			VPADDD(v.wideBits(0xBB67AE85), k[1], k[1])
		}
		for i, c := range groups {
			groups[i] = philoxRound(v, c, k)
		}
	}
}

// philoxRound returns
//
//	(hi(M1·c2) ⊕ c1 ⊕ k0, lo(M1·c2), hi(M0·c0) ⊕ c3 ⊕ k1, lo(M0·c0)).
func philoxRound(v isa, c, k []VecVirtual) []VecVirtual {
	VPMULUDQ(v.wideBits(0xD2511F53), c[0], c[0])
	VPMULUDQ(v.wideBits(0xCD9E8D57), c[2], c[2])
	mix := func(product, c, k VecVirtual) VecVirtual {
		high := v.vec()
		VPSRLQ(U8(32), product, high)
		if v.wide() {
			VPTERNLOGD(U8(0x96), c, k, high)
		} else {
			VPXOR(c, high, high)
			VPXOR(k, high, high)
		}
		return high
	}
	return []VecVirtual{mix(c[2], c[1], k[0]), c[2], mix(c[0], c[3], k[1]), c[0]}
}

// inOrder returns two vectors with the words of the counters in order.
func inOrder(v isa, c []VecVirtual) []VecVirtual {
	for i := range 2 { // in each 128-bit lane: w0 w0' w1 w1', then w2 w2' w3 w3'
		VSHUFPS(U8(0x88), c[2*i+1], c[2*i], c[2*i])
	}
	low, high := v.vec(), v.vec()
	VSHUFPS(U8(0x88), c[2], c[0], low)
	VSHUFPS(U8(0xdd), c[2], c[0], high)
	return []VecVirtual{low, high}
}
