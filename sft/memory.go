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
	trainWords, err := laneWords(e, train, batch, Train)
	if err != nil {
		return 0, err
	}
	inferWords, err := laneWords(e, val, evaluationRows, Infer)
	if err != nil {
		return 0, err
	}
	lanes := e.device.Lanes()
	if limit == 0 {
		return lanes, nil
	}
	// Weights, two moments and their copies in a checkpoint; in each lane, the
	// gradient it computes and those that wait for their siblings in the tree.
	blocks := int64(e.params.Words) * wordBytes
	fixed := int64(reservedBytes) + 6*blocks
	lane := int64(trainWords+inferWords)*wordBytes + int64(1+bits.Len(uint(batch)))*blocks
	fit := (limit - fixed) / lane
	if fit < 1 {
		return 0, fmt.Errorf("%s of memory allowed, but training on sequences of up to %d tokens needs %s",
			mebibytes(limit), slices.Max(train), mebibytes(fixed+lane))
	}
	return int(min(int64(lanes), fit)), nil
}

// laneWords is the memory of the largest group of up to count rows.
func laneWords(e *engine, lengths []int32, count int, mode Mode) (int, error) {
	longest, shortest := int(slices.Max(lengths)), max(1, int(slices.Min(lengths)))
	tokens := min(groupTokens-1+longest, count*longest)
	sequences := min(count, groupTokens/shortest+1)
	if e.config.Pair() {
		sequences *= 2
	}
	p, err := NewPass(e.config, e.params, shapeFor(e.config, tokens, sequences, min(tokens, sequences*e.config.NumSampledTokens)), mode)
	if err != nil {
		return 0, err
	}
	return p.Program.Words(tensor.Arena) + p.Program.Words(tensor.Inputs), nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
