package sft

import (
	"fmt"
	"math/bits"

	"sftseq/internal/tensor"
)

// wordBytes is the size of a word of device memory.
const wordBytes = 4

// reservedBytes is left to everything beside weights and arenas: the program,
// its data and the garbage collector.
const reservedBytes = 256 << 20

// plan is how a training run divides its memory.
type plan struct {
	lanes                int
	arena, inputs, infer int // words of one lane
}

// newPlan chooses how many gradient groups run at once: as many as the device
// has lanes, or as the limit in bytes allows (0: no limit). It plans for the
// largest group that examples of these lengths can form.
func newPlan(e *engine, lengths []int32, batch int, limit int64) (*plan, error) {
	c := e.config
	longest, shortest := 0, 1<<62
	for _, n := range lengths {
		longest, shortest = max(longest, int(n)), min(shortest, int(n))
	}
	tokens := groupTokens - 1 + longest
	sequences := min(batch, groupTokens/max(shortest, 1)+1)
	tokens = min(tokens, batch*longest)
	if c.Pair() {
		sequences *= 2
	}
	shape := shapeFor(c, tokens, sequences, min(tokens, sequences*c.NumSampledTokens))
	p := &plan{lanes: e.device.Lanes()}
	train, err := NewPass(c, e.params, shape, Train)
	if err != nil {
		return nil, err
	}
	infer, err := NewPass(c, e.params, shape, Infer)
	if err != nil {
		return nil, err
	}
	p.arena, p.inputs = train.Program.Words(tensor.Arena), train.Program.Words(tensor.Inputs)
	p.infer = infer.Program.Words(tensor.Arena) + infer.Program.Words(tensor.Inputs)
	if limit == 0 {
		return p, nil
	}
	// Weights, two moments, their copies in a checkpoint, and the gradients that
	// wait in the tree.
	blocks := 6 + bits.Len(uint(batch))
	fixed := int64(reservedBytes) + int64(blocks)*int64(e.params.Words)*wordBytes
	lane := int64(p.arena+p.inputs+p.infer+2*e.params.Words) * wordBytes
	fit := (limit - fixed) / lane
	if fit < 1 {
		return nil, fmt.Errorf("%s of memory allowed, but training on sequences of up to %d tokens needs %s",
			mebibytes(limit), longest, mebibytes(fixed+lane))
	}
	p.lanes = int(min(int64(p.lanes), fit))
	return p, nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
