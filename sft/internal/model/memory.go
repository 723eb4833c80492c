package model

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// PlannedEdges is the number of edges per token for which memory is planned by default.
const PlannedEdges = 8

// PlannedLength returns the number of tokens for which the memory of an example's first sequence is
// planned: its length, or more if it has more than PlannedEdges edges per token.
func PlannedLength(e seq.Example) int {
	return PlannedTokens(e.First(), len(e.Edges))
}

// PlannedTokens returns the number of tokens for which the memory of a sequence with these tokens
// and edges is planned.
func PlannedTokens(tokens, edges int) int {
	return max(tokens, (edges+PlannedEdges-1)/PlannedEdges)
}

// WordBytes is the size of a word of device memory.
const WordBytes = 4

// Refusal returns the error for sequences that do not fit, with the maximum length that fits. The
// parameters limit and need are in bytes, longest is in tokens, and reason is nil if need exceeds limit. If no
// length fits, Refusal returns a non-nil reason unchanged.
func Refusal(limit, need int64, longest int, reason error, fits func(longest int) bool) error {
	e := &config.MemoryError{Limit: limit, Need: need, Longest: longest, Reason: reason}
	if e.Fits = sort.Search(longest, func(n int) bool { return !fits(n + 1) }); e.Fits == 0 && reason != nil {
		return reason // reason applies to every length
	}
	return e
}

// PlannedBytes returns the device memory in bytes for a batch of equally long sequences and this
// number of slots: weights and activations, and for training also gradients and moments.
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
	blocks := 2 // the weights, and the weights packed for products
	if mode.backward() {
		slot += GradientBlocks(c, batch) * params.Words
		blocks += 3 // two moments, and the weights packed for the products of the backward pass
	}
	return WordBytes * (int64(blocks)*int64(params.Words) + int64(slots)*int64(slot)), nil
}

// GradientBlocks returns the number of gradients that a slot needs: its own, those that wait for
// their siblings in the tree of sums, and with chunks a term to add to its own gradient.
func GradientBlocks(c *config.Config, batch int) int {
	n := 1 + bits.Len(uint(batch))
	if c.Chunks != nil {
		n++
	}
	return n
}

// LargestMicroBatch returns upper bounds on the numbers of tokens and of examples of a micro-batch,
// for batches of up to count examples with these lengths.
func LargestMicroBatch(lengths []int32, count int) (tokens, examples int) {
	longest, shortest := int(slices.Max(lengths)), max(1, int(slices.Min(lengths)))
	return min(MicroBatchTokens-1+longest, count*longest), min(count, MicroBatchTokens/shortest+1)
}

// PassBytes returns the memory in bytes of the largest pass for this number of tokens and examples,
// without the weights.
func PassBytes(c *config.Config, training bool, tokens, examples int) (int64, error) {
	mode := InferMode
	if training {
		mode = TrainMode
	}
	if c.Chunks == nil {
		p, err := RecordProgram(c, training, tokens, examples*c.Sequences())
		if err != nil {
			return 0, err
		}
		return p.Bytes(), nil
	}
	words, err := PassWords(c, NewParameters(c), nil, mode, tokens, examples, 0)
	return WordBytes * int64(words), err
}

// PassWords returns the memory in words of a slot for passes with up to this number of tokens,
// examples and edges. The stages of a chunked model share the slot's memory. For a device with its
// own memory it includes scratch memory.
func PassWords(c *config.Config, params *config.Parameters, device tensor.Device, mode PassMode, tokens, examples,
	edges int) (int, error) {
	size := MicroBatchTokens
	if !mode.backward() {
		size = ForwardTokens(device)
	}
	var need passWords
	for _, s := range stages(c) {
		if s == tokenStage && mode == InferMode && c.MasksTokens() {
			continue // embeddings do not run it
		}
		rows, items := s.planned(c, tokens, examples, size)
		words, err := wordsOf(c, params, device, PassKind{s, s.mode(c, mode)}, rows, items, edges)
		if err != nil {
			return 0, err
		}
		need = passWords{max(need.arena, words.arena), max(need.inputs, words.inputs), max(need.scratch, words.scratch)}
	}
	return need.total(), nil
}

// passWords is the memory of a pass in words.
type passWords struct{ arena, inputs, scratch int }

func (w passWords) total() int { return w.arena + w.inputs + w.scratch }

// wordsOf returns the memory of a pass with up to this number of tokens, items and edges.
func wordsOf(c *config.Config, params *config.Parameters, device tensor.Device, kind PassKind, tokens, items,
	edges int) (w passWords, err error) {
	sequences := items * kind.stage.sequences(c)
	shape := kind.stage.shapeFor(c, tokens, sequences, min(tokens, sequences*c.NumSampledTokens), edges)
	p, err := newPass(c, params, shape, kind.Mode)
	if err != nil {
		return w, err
	}
	w = passWords{arena: p.Program.Words(tensor.Arena), inputs: p.Program.Words(tensor.Inputs)}
	if own, ok := tensor.Capability[tensor.OwnMemory](device); ok {
		w.scratch, err = own.Scratch(p.Program)
	}
	return w, err
}
