package sft

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"sftseq/internal/tensor"
)

// wordBytes is the size of a word of device memory.
const wordBytes = 4

// reservedBytes is left to everything beside weights and arenas: the program,
// its data and the garbage collector.
const reservedBytes = 256 << 20

// OwnMemory is a [tensor.Device] with memory of its own, apart from the program's.
type OwnMemory interface {
	// Budget is how many bytes of it are left.
	Budget() int64
	// Scratch is how many words a program takes of it beside its spaces.
	Scratch(p *tensor.Program) (words int, err error)
}

// planLanes chooses how many gradient groups run at once: as many as the device
// has lanes, or as the limit in bytes allows (0: no limit but the device's). It
// plans for the largest groups that the rows can form.
func planLanes(e *engine, train, val []int32, batch int, limit int64) (int, error) {
	// Weights, two moments and their copies in a checkpoint, and the weights as a
	// device packs them for its two products.
	blocks := int64(e.params.Words) * wordBytes
	fixed := int64(reservedBytes) + 8*blocks
	if own, ok := e.device.(OwnMemory); ok {
		fixed = 3 * blocks // of which the weights are there
		if free := own.Budget() + blocks; limit == 0 || free < limit {
			limit = free
		}
	}
	// In a lane, the gradient it computes and those that wait for their siblings in
	// the tree, if no sequence is longer.
	lane := func(longest int32) (int64, error) {
		trainWords, err := laneWords(e.config, e.params, e.device, cut(train, longest), batch, Train, groupTokens)
		if err != nil {
			return 0, err
		}
		inferWords, err := laneWords(e.config, e.params, e.device, cut(val, longest), evaluationRows, Infer, forwardTokens(e.device))
		return int64(trainWords+inferWords)*wordBytes + int64(1+bits.Len(uint(batch)))*blocks, err
	}
	longest := max(slices.Max(train), slices.Max(val))
	bytes, err := lane(longest)
	if err != nil {
		return 0, err
	}
	lanes := int64(e.device.Lanes())
	if limit > 0 {
		lanes = min(lanes, (limit-fixed)/bytes)
	}
	if lanes >= 1 {
		return int(lanes), nil
	}
	fits := sort.Search(int(longest), func(n int) bool {
		bytes, err := lane(int32(n + 1))
		return err != nil || fixed+bytes > limit
	})
	return 0, &MemoryError{Limit: limit, Need: fixed + bytes, Longest: int(slices.Max(train)), Fits: fits}
}

// cut are the extremes of lengths, none above a bound.
func cut(lengths []int32, bound int32) []int32 {
	return []int32{min(slices.Min(lengths), bound), min(slices.Max(lengths), bound)}
}

// MemoryError refuses training that the memory limit leaves no room for.
type MemoryError struct {
	Limit, Need int64 // bytes
	Longest     int   // tokens of the longest sequence
	Fits        int   // tokens that it might have; 0: not even one, or not known
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("%s of memory allowed, but a batch with sequences of up to %d tokens needs %s",
		mebibytes(e.Limit), e.Longest, mebibytes(e.Need))
	if e.Fits > 0 {
		s += fmt.Sprintf("; up to %d tokens would fit", e.Fits)
	}
	return s
}

// PlannedBytes is the device memory that a batch of sequences of one length
// takes in so many lanes: weights and activations, in Train gradients and
// moments too.
func PlannedBytes(c *Config, mode Mode, batch, length, lanes int) (int64, error) {
	params := NewParameters(c)
	lane, err := laneWords(c, params, nil, []int32{int32(length)}, batch, mode, groupTokens)
	if err != nil {
		return 0, err
	}
	blocks := 2 // the weights, and as they are packed for products
	if mode.backward() {
		lane += (1 + bits.Len(uint(batch))) * params.Words
		blocks += 3 // moments, and the packs of the backward's products
	}
	return wordBytes * (int64(blocks)*int64(params.Words) + int64(lanes)*int64(lane)), nil
}

// laneWords is the memory of the largest group of up to count rows, where a group
// ends at so many tokens, on a device if it has memory of its own.
func laneWords(c *Config, params *Parameters, device tensor.Device, lengths []int32, count int, mode Mode, size int) (int, error) {
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
	words := p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs)
	if own, ok := device.(OwnMemory); ok {
		scratch, err := own.Scratch(p.Program)
		return words + scratch, err
	}
	return words, nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
