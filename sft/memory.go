package sft

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/sftseq/sftseq/internal/tensor"
)

// wordBytes is the size of a word of device memory.
const wordBytes = 4

// reservedBytes is left to everything beside weights and arenas: the program,
// its data and the garbage collector.
const reservedBytes = 256 << 20

// planSlots chooses how many micro-batches run at once: as many as the device has slots, or as
// the limit in bytes allows (0: no limit but the device's). Where several run together in each
// slot, these take half of the limit at most: what a device loses by rounding grows with them.
// It plans for the largest micro-batches that the rows can form, and shortens the passes of
// evaluation before it refuses. Of several ranks each brings up to so many sums to an
// exchange; a single process brings none.
func planSlots(e *engine, train, val []int32, batch int, limit int64, sums int) (int, error) {
	// Weights, two moments and their copies in a checkpoint, and the weights as a
	// device packs them for its two products.
	blocks := int64(e.params.Words) * wordBytes
	fixed := int64(reservedBytes) + 8*blocks
	if own, ok := tensor.Capability[tensor.OwnMemory](e.device); ok {
		fixed = 3 * blocks // of which the weights are there
		if free := own.Budget() + blocks; limit == 0 || free < limit {
			limit = free
		}
	}
	// What is sent and received, and the sums of all ranks for a share of the words.
	fixed += 3 * int64(sums) * blocks
	evaluation := e.config.objective().evaluation()
	limits := &passLimits{size: forwardTokens(e.device), longest: int(slices.Max(val))}
	// In a slot, the gradient it computes and those that wait for their siblings in
	// the tree, if no sequence is longer; evaluation takes as many slots as the device has.
	slot := func(longest int32) (training, evaluating int64, err error) {
		tokens, sequences := largestMicroBatch(cut(train, longest), batch)
		trainWords, err := passWords(e.config, e.params, e.device, trainMode, tokens, sequences, e.edges*tokens)
		if err != nil {
			return 0, 0, err
		}
		tokens, sequences = largestPass(cut(val, longest), evaluationRows, limits.size)
		inferWords, err := passWords(e.config, e.params, e.device, evaluation, tokens, sequences,
			max(plannedEdges, e.edges)*tokens)
		return int64(trainWords)*wordBytes + int64(1+bits.Len(uint(batch)))*blocks, int64(inferWords) * wordBytes, err
	}
	var training, evaluating int64
	var err error
	fits := func(longest int) bool {
		training, evaluating, err = slot(int32(longest))
		return err == nil && (limit == 0 || fixed+training+evaluating <= limit)
	}
	longest := int(max(slices.Max(train), slices.Max(val)))
	for !fits(longest) && limits.size > microBatchTokens {
		limits.size /= 2
	}
	bytes := func(slots int) int64 {
		return fixed + int64(slots)*training + int64(min(slots, e.device.Slots()))*evaluating
	}
	if err != nil || limit > 0 && bytes(1) > limit {
		return 0, refusal(limit, bytes(1), longest, err, fits)
	}
	e.limits[evaluation] = limits
	slots := e.device.Slots()
	if t, ok := tensor.Capability[tensor.Together](e.device); ok {
		slots *= t.Together()
	}
	for limit > 0 && (bytes(slots) > limit || slots > e.device.Slots() && bytes(slots) > limit/2) {
		slots--
	}
	return slots, nil
}

// refusal is the error of sequences that do not fit, for a reason if that is not
// the sum of bytes. It looks for a length that does.
func refusal(limit, need int64, longest int, reason error, fits func(longest int) bool) error {
	e := &MemoryError{Limit: limit, Need: need, Longest: longest, Reason: reason}
	if e.Fits = sort.Search(longest, func(n int) bool { return !fits(n + 1) }); e.Fits == 0 && reason != nil {
		return reason // which length has nothing to do with
	}
	return e
}

// cut are the extremes of lengths, none above a bound.
func cut(lengths []int32, bound int32) []int32 {
	return []int32{min(slices.Min(lengths), bound), min(slices.Max(lengths), bound)}
}

// MemoryError refuses what the memory limit leaves no room for, or what the device
// cannot do in one piece.
type MemoryError struct {
	Limit, Need int64 // bytes
	Longest     int   // tokens of the longest sequence
	Fits        int   // tokens that it might have; 0: not even one, or not known
	Reason      error // of the device; nil: Need is more than Limit
}

func (e *MemoryError) Unwrap() error { return e.Reason }

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("%s of memory allowed, but a batch with sequences of up to %d tokens needs %s",
		mebibytes(e.Limit), e.Longest, mebibytes(e.Need))
	if e.Reason != nil {
		s = fmt.Sprintf("sequences of up to %d tokens are too long: %v", e.Longest, e.Reason)
	}
	if e.Fits > 0 {
		s += fmt.Sprintf("; up to %d tokens would fit", e.Fits)
	}
	return s
}

// PlannedBytes is the device memory that a batch of sequences of one length
// takes in so many slots: weights and activations, in training gradients and
// moments too.
func PlannedBytes(c *Config, training bool, batch, length, slots int) (int64, error) {
	params, mode := NewParameters(c), inferMode
	if training {
		mode = trainMode
	}
	tokens, sequences := largestMicroBatch([]int32{int32(length)}, batch)
	slot, err := passWords(c, params, nil, mode, tokens, sequences, plannedEdges*tokens)
	if err != nil {
		return 0, err
	}
	blocks := 2 // the weights, and as they are packed for products
	if mode.backward() {
		slot += (1 + bits.Len(uint(batch))) * params.Words
		blocks += 3 // moments, and the packs of the backward's products
	}
	return wordBytes * (int64(blocks)*int64(params.Words) + int64(slots)*int64(slot)), nil
}

// readLengths are the lengths of rows as training reads them: noise may leave a single
// token of one.
func (s *Settings) readLengths(rows []int32) []int32 {
	if s.TokenDeletion == 0 {
		return rows
	}
	return append([]int32{1}, rows...)
}

// largestMicroBatch is the size of the largest micro-batch of up to count examples of
// such lengths.
func largestMicroBatch(lengths []int32, count int) (tokens, examples int) {
	longest, shortest := int(slices.Max(lengths)), max(1, int(slices.Min(lengths)))
	return min(microBatchTokens-1+longest, count*longest), min(count, microBatchTokens/shortest+1)
}

// largestPass is the size of the largest forward pass, if one ends at so many tokens.
func largestPass(lengths []int32, count, size int) (tokens, examples int) {
	longest, shortest := int(slices.Max(lengths)), max(leastTokens, int(slices.Min(lengths)))
	return min(max(size, longest), count*longest), min(count, max(1, size/shortest))
}

// passWords is the memory of a pass of at most so many tokens, examples and edges, on a
// device if it has memory of its own.
func passWords(c *Config, params *Parameters, device tensor.Device, mode passMode, tokens, examples,
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

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
