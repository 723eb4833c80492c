//go:build cgo

package vk

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sinusoid"
)

func init() { register(kernel(sinusoidTables), kernel(sinusoidTablesBackward)) }

const (
	tableRows        = 8   // rows per workgroup, equal to the value in tables.glsl
	tableFrequencies = 32  // frequencies per step, equal to the value in tables.glsl
	minTableChunk    = 256 // minimum length of a chunk, in columns of a table
	maxTableChunks   = 128 // maximum number of chunks
	// tablePartWords is the maximum number of words in the partial sums of all chunks. It limits
	// the number of chunks if there are many frequencies.
	tablePartWords = 4 << 20
)

func sinusoidTables(r *recorder, k tensor.Sinusoid) {
	rows, width := k.F.Shape[0], k.F.Width()
	r.dispatch(dispatch{shader: "sinusoid", groups: blocks(rows, tableRows) * blocks(width, 256),
		push: []uint32{uint32(rows), uint32(width), uint32(k.Frequencies.Len())},
		operands: []operand{write(k.F), write(k.G), write(k.E), read(k.MulWeight), read(k.AddWeight),
			read(k.MulBias), read(k.AddBias),
			read(turnWords(r, k.Frequencies))}})
}

func sinusoidTablesBackward(r *recorder, k tensor.SinusoidBackward) {
	rows, width, half := k.DF.Shape[0], k.DF.Width(), k.Frequencies.Len()
	size := 2 * rows * (half + 1)
	// The shaders compute the length of a chunk from maxChunks and the batch's longest sequence. The
	// width is the capacity of the program, not the batch's length, so maxChunks must not depend on
	// the width.
	maxChunks := max(1, min(maxTableChunks, tablePartWords/size))
	chunks := min(maxChunks, blocks(width, minTableChunk))
	parts := r.scratch(chunks * size)
	r.dispatch(dispatch{shader: "sinusoid_backward",
		groups:   blocks(half+1, tableFrequencies) * blocks(rows, tableRows) * chunks,
		push:     []uint32{uint32(rows), uint32(width), uint32(half), uint32(maxChunks)},
		operands: []operand{write(parts), read(k.DF), read(k.DG), read(turnWords(r, k.Frequencies))}})
	r.dispatch(dispatch{shader: "sinusoid_backward_sum", groups: blocks(size/2, 256),
		push: []uint32{uint32(rows), uint32(half), uint32(maxChunks)},
		operands: []operand{write(k.DMulWeight), write(k.DAddWeight), write(k.DMulBias),
			write(k.DAddBias), read(parts)}})
}

// turnWords returns a constant with the 64-bit turns of each frequency as two words, the low word
// first. It appends the frequency 0, whose cosine 1 is the factor of the biases in the backward pass.
func turnWords(r *recorder, q *sinusoid.Frequencies) *tensor.Tensor {
	var words []uint32
	for _, w := range q.Turns() {
		words = append(words, uint32(w), uint32(w>>32))
	}
	return r.constant(append(words, 0, 0))
}
