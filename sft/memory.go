package sft

import (
	"fmt"
	"math/bits"
	"slices"

	"sftseq/internal/tensor"
)

// wordBytes is the size of a word of device memory.
const wordBytes = 4

// reservedBytes is left to everything beside weights and arenas: the program,
// its data and the garbage collector.
const reservedBytes = 256 << 20

// planLanes chooses how many gradient groups run at once: as many as the device
// has lanes, or as the limit in bytes allows (0: no limit). It plans for the
// largest groups that the rows can form.
func planLanes(e *engine, train, val []int32, batch int, limit int64) (int, error) {
	trainWords, err := laneWords(e.config, e.params, train, batch, Train, groupTokens)
	if err != nil {
		return 0, err
	}
	inferWords, err := laneWords(e.config, e.params, val, evaluationRows, Infer, forwardTokens(e.device))
	if err != nil {
		return 0, err
	}
	lanes := e.device.Lanes()
	if limit == 0 {
		return lanes, nil
	}
	// Weights, two moments and their copies in a checkpoint, and the weights as a
	// device packs them for its two products; in each lane, the gradient it
	// computes and those that wait for their siblings in the tree.
	blocks := int64(e.params.Words) * wordBytes
	fixed := int64(reservedBytes) + 8*blocks
	lane := int64(trainWords+inferWords)*wordBytes + int64(1+bits.Len(uint(batch)))*blocks
	fit := (limit - fixed) / lane
	if fit < 1 {
		return 0, &MemoryError{Limit: limit, Need: fixed + lane, Longest: int(slices.Max(train))}
	}
	return int(min(int64(lanes), fit)), nil
}

// MemoryError refuses training that the memory limit leaves no room for.
type MemoryError struct {
	Limit, Need int64 // bytes
	Longest     int   // tokens of the longest sequence
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s of memory allowed, but a batch with sequences of up to %d tokens needs %s",
		mebibytes(e.Limit), e.Longest, mebibytes(e.Need))
}

// PlannedBytes is the device memory that a batch of sequences of one length
// takes in so many lanes: weights and activations, in Train gradients and
// moments too.
func PlannedBytes(c *Config, mode Mode, batch, length, lanes int) (int64, error) {
	params := NewParameters(c)
	lane, err := laneWords(c, params, []int32{int32(length)}, batch, mode, groupTokens)
	if err != nil {
		return 0, err
	}
	blocks := 2 // the weights, and as they are packed for products
	if mode != Infer {
		lane += (1 + bits.Len(uint(batch))) * params.Words
		blocks += 3 // moments, and the packs of the backward's products
	}
	return wordBytes * (int64(blocks)*int64(params.Words) + int64(lanes)*int64(lane)), nil
}

// laneWords is the memory of the largest group of up to count rows, where a group
// ends at so many tokens.
func laneWords(c *Config, params *Parameters, lengths []int32, count int, mode Mode, size int) (int, error) {
	longest, shortest := int(slices.Max(lengths)), max(1, int(slices.Min(lengths)))
	tokens := min(size-1+longest, count*longest)
	sequences := min(count, size/shortest+1)
	if c.Pair() {
		sequences *= 2
	}
	p, err := NewPass(c, params, shapeFor(c, tokens, sequences, min(tokens, sequences*c.NumSampledTokens)), mode)
	if err != nil {
		return 0, err
	}
	return p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs), nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
