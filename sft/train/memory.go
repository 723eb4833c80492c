package train

import (
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// reservedBytes is the memory reserved for the program, its data and the garbage collector, in
// addition to weights and passes. It is not part of the plan for a device with its own memory.
const reservedBytes = 256 << 20

// planSlots returns the number of concurrent micro-batches: the device's slots, times the runs that a
// [tensor.ConcurrentRunner] computes together, or fewer if memory requires it. limit is in bytes; 0
// means no limit. A device's own memory is a further limit. If several micro-batches run together in a
// slot, the plan uses at most half of the limit, because the memory that the device loses by rounding
// up allocations grows with their number. The plan is for the largest micro-batches that the rows can
// form. If the memory does not suffice for one slot, planSlots shortens the evaluation passes before it
// returns an error. sums is the largest number of sums that a rank contributes to an exchange, 0 for a
// single process.
func planSlots(e *model.Engine, train, val []int32, batch int, limit int64, sums int) (int, error) {
	// Weights, two moments, the copies of these three in a checkpoint, and the weights packed for
	// the forward and the backward products.
	blocks := int64(e.Params.Words) * model.WordBytes
	// The n-gram table counts twice: a loaded checkpoint has a copy.
	fixed := int64(reservedBytes) + 8*blocks + 2*e.NGrams.Bytes()
	if own, ok := tensor.Capability[tensor.OwnMemory](e.Device); ok {
		fixed = 3 * blocks // weights and two moments
		// The weights are already allocated, so the budget excludes them.
		if free := own.Budget() + blocks; limit == 0 || free < limit {
			limit = free
		}
	}
	// The sent and received sums, and the sums of all ranks for a share of the words.
	fixed += 3 * int64(sums) * blocks
	evaluation := model.EvaluationMode(e.Config)
	size := model.ForwardTokens(e.Device)
	// For training on sequences of up to longest tokens, a slot needs a pass, its gradient, and the
	// gradients that wait for their siblings in the tree. Evaluation uses at most the device's slots.
	slot := func(longest int32) (training, evaluating int64, err error) {
		tokens, sequences := model.LargestMicroBatch(lengthRange(train, longest), batch)
		trainWords, err := model.PassWords(e.Config, e.Params, e.Device, model.TrainMode, tokens,
			sequences, e.Edges*tokens)
		if err != nil {
			return 0, 0, err
		}
		tokens, sequences = largestPass(lengthRange(val, longest), evaluationRows, size)
		inferWords, err := model.PassWords(e.Config, e.Params, e.Device, evaluation, tokens, sequences,
			max(model.PlannedEdges, e.Edges)*tokens)
		return int64(trainWords)*model.WordBytes + int64(model.GradientBlocks(e.Config, batch))*blocks,
			int64(inferWords) * model.WordBytes, err
	}
	var training, evaluating int64
	var err error
	fits := func(longest int) bool {
		training, evaluating, err = slot(int32(longest))
		return err == nil && (limit == 0 || fixed+training+evaluating <= limit)
	}
	longest := int(max(slices.Max(train), slices.Max(val)))
	for !fits(longest) && size > model.MicroBatchTokens {
		size /= 2
	}
	bytes := func(slots int) int64 {
		return fixed + int64(slots)*training + int64(min(slots, e.Device.Slots()))*evaluating
	}
	if err != nil || limit > 0 && bytes(1) > limit {
		return 0, model.Refusal(limit, bytes(1), longest, err, fits)
	}
	e.SetLimits(evaluation, size, int(slices.Max(val)))
	slots := e.Device.Slots()
	if t, ok := tensor.Capability[tensor.ConcurrentRunner](e.Device); ok {
		slots *= t.ConcurrentRuns()
	}
	for limit > 0 && (bytes(slots) > limit || slots > e.Device.Slots() && bytes(slots) > limit/2) {
		slots--
	}
	return slots, nil
}

// lengthRange returns the minimum and the maximum of lengths, each at most bound.
func lengthRange(lengths []int32, bound int32) []int32 {
	return []int32{min(slices.Min(lengths), bound), min(slices.Max(lengths), bound)}
}

// lengthsWithNoise returns the lengths of the rows and, if token deletion may shorten rows, the length
// 1.
func (s *Settings) lengthsWithNoise(rows []int32) []int32 {
	if s.TokenDeletion == 0 {
		return rows
	}
	return append([]int32{1}, rows...)
}

// largestPass returns the numbers of tokens and examples of the forward pass that needs the most memory.
// The parameter count is the maximum number of rows in a pass. The parameter size is the maximum number of
// tokens, except in a pass of a single row.
func largestPass(lengths []int32, count, size int) (tokens, examples int) {
	longest, shortest := int(slices.Max(lengths)), max(model.MinTokens, int(slices.Min(lengths)))
	return min(max(size, longest), count*longest), min(count, max(1, size/shortest))
}
