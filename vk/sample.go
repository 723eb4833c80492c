//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(sample)) }

const (
	// maxSingleDispatch is the maximum number of tokens of a pass whose samples are drawn in one dispatch,
	// with one workgroup per sequence. At this number, one dispatch is about as fast as sampleSteps
	// dispatches for one sequence, and much faster for several sequences.
	maxSingleDispatch = 16384
	// sampleChunk is the number of tokens that a workgroup processes in longer passes.
	sampleChunk = 4096

	sampleSteps = 17                      // number of steps in sample.comp
	sampleBoard = sampleSteps * (256 + 8) // words per sequence in sample.comp
)

func sample(r *recorder, k tensor.Sample) {
	tokens, sequences := k.Score.Shape[0], k.Batch.Example.Shape[0]
	keys, marks := r.scratch(tokens), r.scratch(tokens)
	dispatchSteps := func(board operand, chunk, groups, first, end int) {
		r.dispatch(dispatch{shader: "sample", groups: groups,
			push: []uint32{uint32(k.K), k.Layer, math.Float32bits(k.DropRate), boolWord(k.Noise), uint32(chunk),
				uint32(sequences), uint32(first), uint32(end)},
			operands: []operand{write(k.Noised), write(k.Top), write(k.Partner), write(k.Count), read(k.Score),
				read(k.Batch.Offset), read(k.Batch.SampleOffset), read(k.Batch.Example),
				read(k.Batch.Tower), read(k.Batch.Random),
				update(keys), update(marks), board}})
	}
	if tokens <= maxSingleDispatch {
		dispatchSteps(read(nil), 0, sequences, 0, sampleSteps)
		return
	}
	groups := tokens/sampleChunk + sequences // the last chunk of each sequence may be partial
	board := r.scratch(sampleBoard*sequences + 2*groups)
	r.zero(board)
	for step := range sampleSteps {
		dispatchSteps(update(board), sampleChunk, groups, step, step+1)
	}
}
