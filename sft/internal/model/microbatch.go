package model

import (
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// MicroBatchTokens is the number of tokens that ends a micro-batch. Sums within a micro-batch have
// a fixed order, and a fixed binary tree adds the micro-batches. Memory, threads and devices decide
// how many micro-batches run concurrently, but do not change their sum.
const MicroBatchTokens = distributed.MicroBatchTokens

// ForwardTokens returns the preferred number of tokens of a forward pass on device d; a wide device
// prefers more. The number changes no bit of an output, because outputs do not depend on the rest
// of the pass.
func ForwardTokens(d tensor.Device) int {
	if w, ok := tensor.Capability[tensor.PreferredBatch](d); ok {
		return w.ForwardTokens()
	}
	return MicroBatchTokens
}

// MinTokens is the minimum number of tokens that a sequence counts when examples are split into
// forward passes, because each sequence also takes memory.
const MinTokens = 32

// forwardPasses splits examples into runs of consecutive examples with at most size tokens each. A
// longer example gets its own run.
func forwardPasses(examples []seq.Example, size int) [][]seq.Example {
	var out [][]seq.Example
	from, tokens := 0, 0
	for i, e := range examples {
		n := max(MinTokens, PlannedLength(e))
		if e.B != nil {
			n += max(MinTokens, len(e.B))
		}
		if tokens += n; tokens > size && i > from {
			out = append(out, examples[from:i])
			from, tokens = i, n
		}
	}
	if from < len(examples) {
		out = append(out, examples[from:])
	}
	return out
}
