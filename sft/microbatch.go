package sft

import (
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// microBatchTokens is where a micro-batch ends. Within a micro-batch every sum has one order;
// the micro-batches are added by a fixed binary tree. So memory, threads and devices
// decide how many micro-batches run at once, and never what they add up to.
const microBatchTokens = distributed.MicroBatchTokens

// forwardTokens is where a forward pass ends at best, which may be anywhere: no bit
// of an output depends on what else is in its pass. A device that is wide says so.
func forwardTokens(d tensor.Device) int {
	if w, ok := tensor.Capability[tensor.PreferredBatch](d); ok {
		return w.ForwardTokens()
	}
	return microBatchTokens
}

// microBatches cuts a batch into runs of consecutive examples, each of the given number
// of tokens or as few more as its last example has.
func microBatches(examples []seq.Example, size int) [][]seq.Example {
	lengths := make([]int, len(examples))
	for i, e := range examples {
		lengths[i] = e.Length()
	}
	var out [][]seq.Example
	from := 0
	for _, end := range distributed.MicroBatches(lengths, size) {
		out = append(out, examples[from:end])
		from = end
	}
	return out
}

// leastTokens is what a sequence counts at least where forward passes are cut:
// memory is taken for each sequence, too.
const leastTokens = 32

// forwardPasses cuts examples into runs of consecutive ones, each of at most the given
// number of tokens, or of a single example that has more.
func forwardPasses(examples []seq.Example, size int) [][]seq.Example {
	var out [][]seq.Example
	from, tokens := 0, 0
	for i, e := range examples {
		n := max(leastTokens, plannedLength(e))
		if e.B != nil {
			n += max(leastTokens, len(e.B))
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
