package train

import (
	"math/bits"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// reservedBytes is left to everything beside weights and arenas: the program,
// its data and the garbage collector.
const reservedBytes = 256 << 20

// planSlots chooses the number of concurrent micro-batches: as many as the device has slots, or as
// the limit in bytes allows (0: no limit but the device's). Where several run together in each
// slot, these take half of the limit at most: what a device loses by rounding grows with them.
// It plans for the largest micro-batches that the rows can form, and shortens the passes of
// evaluation before it refuses. sums is the largest number of sums that a rank contributes to an
// exchange, 0 for a single process.
func planSlots(e *model.Engine, train, val []int32, batch int, limit int64, sums int) (int, error) {
	// Weights, two moments and their copies in a checkpoint, and the weights as a
	// device packs them for its two products.
	blocks := int64(e.Params.Words) * model.WordBytes
	fixed := int64(reservedBytes) + 8*blocks + 2*e.NGrams.Bytes() // the table, and that of a checkpoint that is read
	if own, ok := tensor.Capability[tensor.OwnMemory](e.Device); ok {
		fixed = 3 * blocks // the weights are allocated already
		if free := own.Budget() + blocks; limit == 0 || free < limit {
			limit = free
		}
	}
	// What is sent and received, and the sums of all ranks for a share of the words.
	fixed += 3 * int64(sums) * blocks
	evaluation := model.EvaluationMode(e.Config)
	limits := &model.PassLimits{Size: model.ForwardTokens(e.Device), Longest: int(slices.Max(val))}
	// In a slot, the gradient it computes and those that wait for their siblings in
	// the tree, if no sequence is longer; evaluation takes as many slots as the device has.
	slot := func(longest int32) (training, evaluating int64, err error) {
		tokens, sequences := model.LargestMicroBatch(cut(train, longest), batch)
		trainWords, err := model.PassWords(e.Config, e.Params, e.Device, model.TrainMode, tokens,
			sequences, e.Edges*tokens)
		if err != nil {
			return 0, 0, err
		}
		tokens, sequences = largestPass(cut(val, longest), evaluationRows, limits.Size)
		inferWords, err := model.PassWords(e.Config, e.Params, e.Device, evaluation, tokens, sequences,
			max(model.PlannedEdges, e.Edges)*tokens)
		return int64(trainWords)*model.WordBytes + int64(1+bits.Len(uint(batch)))*blocks,
			int64(inferWords) * model.WordBytes, err
	}
	var training, evaluating int64
	var err error
	fits := func(longest int) bool {
		training, evaluating, err = slot(int32(longest))
		return err == nil && (limit == 0 || fixed+training+evaluating <= limit)
	}
	longest := int(max(slices.Max(train), slices.Max(val)))
	for !fits(longest) && limits.Size > model.MicroBatchTokens {
		limits.Size /= 2
	}
	bytes := func(slots int) int64 {
		return fixed + int64(slots)*training + int64(min(slots, e.Device.Slots()))*evaluating
	}
	if err != nil || limit > 0 && bytes(1) > limit {
		return 0, model.Refusal(limit, bytes(1), longest, err, fits)
	}
	e.Limits[evaluation] = limits
	slots := e.Device.Slots()
	if t, ok := tensor.Capability[tensor.Together](e.Device); ok {
		slots *= t.Together()
	}
	for limit > 0 && (bytes(slots) > limit || slots > e.Device.Slots() && bytes(slots) > limit/2) {
		slots--
	}
	return slots, nil
}

// cut are the extremes of lengths, none above a bound.
func cut(lengths []int32, bound int32) []int32 {
	return []int32{min(slices.Min(lengths), bound), min(slices.Max(lengths), bound)}
}

// readLengths are the lengths of rows as training reads them: noise may leave a single
// token of one.
func (s *Settings) readLengths(rows []int32) []int32 {
	if s.TokenDeletion == 0 {
		return rows
	}
	return append([]int32{1}, rows...)
}

// largestPass is the size of the largest forward pass, if a pass ends at size tokens.
func largestPass(lengths []int32, count, size int) (tokens, examples int) {
	longest, shortest := int(slices.Max(lengths)), max(model.MinTokens, int(slices.Min(lengths)))
	return min(max(size, longest), count*longest), min(count, max(1, size/shortest))
}
