package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// tokens emits what makes tokens of text.
func tokens(v isa) {
	v.text("widen", "func(to []byte, text string)", "is the 16 bits toᵢ = textᵢ + 1.")
	to, text, left := slice("to"), slice("text"), length("text")
	less := v.splatBits(1<<32 - 1)
	for _, vectors := range []int{4, 1} {
		again, done := "vectors", "vectors_done"
		if vectors == 1 {
			again, done = "vector", "vector_done"
		}
		step := vectors * v.bytes() / 2
		SUBQ(U32(step), left)
		JLT(LabelRef(done))
		Label(again)
		for j, x := range v.vecs(vectors) {
			VPMOVZXBW(Mem{Base: text, Disp: j * v.bytes() / 2}, x)
			VPSUBW(less, x, x)
			VMOVUPS(x, Mem{Base: to, Disp: j * v.bytes()})
		}
		ADDQ(U32(step), text)
		ADDQ(U32(2*step), to)
		SUBQ(U32(step), left)
		JGE(LabelRef(again))
		Label(done)
		ADDQ(U32(step), left)
	}
	rows("byte", left, func() {
		id := GP32()
		MOVBLZX(Mem{Base: text}, id)
		INCL(id)
		MOVW(id.As16(), Mem{Base: to})
		INCQ(text)
		ADDQ(U8(2), to)
	})
	end()
}
