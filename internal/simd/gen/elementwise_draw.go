package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// draw emits a kernel that computes the first word of Philox for each counter. The counters differ in
// their first word, and lie in the 64-bit lanes of registers as in dropout. The kernel processes
// whole vectors; its caller computes the remainder.
func draw(v isa) {
	v.text("draw", "func(words []uint32, counter *[4]uint32, key *[2]uint32, at []int32) int",
		"draw computes wordsᵢ, the first word of Philox4x32-10 for the counter with its first word replaced by atᵢ, for whole vectors; it returns the number of words.")
	words, at, left := slice("words"), slice("at"), length("words")
	counter, key := Load(Param("counter"), GP64()), Load(Param("key"), GP64())
	done, lanes := GP64(), v.width/2
	XORQ(done, done)
	for _, count := range []int{v.philoxGroups(), 1} {
		label := fmt.Sprintf("groups%d", count)
		step := U32(count * lanes)
		SUBQ(step, left)
		JLT(LabelRef(label + "_done"))
		Label(label)
		place := func(p Register, i int) Mem { return Mem{Base: p, Index: done, Scale: 4, Disp: 4 * lanes * i} }
		k := []VecVirtual{v.broadcast(Mem{Base: key}), v.broadcast(Mem{Base: key, Disp: 4})}
		groups := make([][]VecVirtual, count)
		for i := range groups {
			c := v.vecs(4)
			VPMOVZXDQ(place(at, i), c[0])
			for w := 1; w < 4; w++ {
				VBROADCASTSS(Mem{Base: counter, Disp: 4 * w}, c[w])
			}
			groups[i] = c
		}
		philoxRounds(v, groups, k)
		for i, c := range groups {
			if v.wide() {
				VPMOVQD(c[0], place(words, i))
				continue
			}
			high := XMM()
			VEXTRACTF128(U8(1), c[0], high)
			VSHUFPS(U8(0x88), high, c[0].AsX(), high)
			VMOVUPS(high, place(words, i))
		}
		ADDQ(step, done)
		SUBQ(step, left)
		JGE(LabelRef(label))
		Label(label + "_done")
		ADDQ(step, left)
	}
	Store(done, ReturnIndex(0))
	end()
}
