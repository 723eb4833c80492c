package model

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// PlannedEdges are the edges of a token that memory is planned for where the data do not say.
const PlannedEdges = 8

// PlannedLength is the tokens of an example that its memory is planned by: more than it has, if
// these have more edges than is planned for.
func PlannedLength(e seq.Example) int {
	return PlannedTokens(e.First(), len(e.Edges))
}

// PlannedTokens is the length by which the memory of a sequence with a number of tokens and edges is planned.
func PlannedTokens(tokens, edges int) int {
	return max(tokens, (edges+PlannedEdges-1)/PlannedEdges)
}

// WordBytes is the size of a word of device memory.
const WordBytes = 4

// Refusal is the error of sequences that do not fit, for a reason if that is not
// the sum of bytes. It looks for a length that does.
func Refusal(limit, need int64, longest int, reason error, fits func(longest int) bool) error {
	e := &config.MemoryError{Limit: limit, Need: need, Longest: longest, Reason: reason}
	if e.Fits = sort.Search(longest, func(n int) bool { return !fits(n + 1) }); e.Fits == 0 && reason != nil {
		return reason // it does not depend on length
	}
	return e
}

// PlannedBytes is the device memory that a batch of sequences of one length
// takes in a number of slots: weights and activations, in training also gradients
// and moments.
func PlannedBytes(c *config.Config, training bool, batch, length, slots int) (int64, error) {
	params, mode := NewParameters(c), InferMode
	if training {
		mode = TrainMode
	}
	tokens, sequences := LargestMicroBatch([]int32{int32(length)}, batch)
	slot, err := PassWords(c, params, nil, mode, tokens, sequences, PlannedEdges*tokens)
	if err != nil {
		return 0, err
	}
	blocks := 2 // the weights, and as they are packed for products
	if mode.backward() {
		slot += (1 + bits.Len(uint(batch))) * params.Words
		blocks += 3 // moments, and the packs of the backward's products
	}
	return WordBytes * (int64(blocks)*int64(params.Words) + int64(slots)*int64(slot)), nil
}

// LargestMicroBatch is the size of the largest micro-batch of up to count examples of
// such lengths.
func LargestMicroBatch(lengths []int32, count int) (tokens, examples int) {
	longest, shortest := int(slices.Max(lengths)), max(1, int(slices.Min(lengths)))
	return min(MicroBatchTokens-1+longest, count*longest), min(count, MicroBatchTokens/shortest+1)
}

// PassWords is the memory of a pass of at most the given tokens, examples and edges. A device with memory of its own
// also needs its scratch memory.
func PassWords(c *config.Config, params *config.Parameters, device tensor.Device, mode PassMode, tokens, examples,
	edges int) (int, error) {
	sequences := examples * c.Sequences()
	p, err := newPass(c, params, shapeFor(c, tokens, sequences, min(tokens, sequences*c.NumSampledTokens), edges), mode)
	if err != nil {
		return 0, err
	}
	words := p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs)
	if own, ok := tensor.Capability[tensor.OwnMemory](device); ok {
		scratch, err := own.Scratch(p.Program)
		return words + scratch, err
	}
	return words, nil
}
