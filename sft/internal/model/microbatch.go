package model

import (
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// MicroBatchTokens is where a micro-batch ends. Within a micro-batch every sum has one order;
// the micro-batches are added by a fixed binary tree. So memory, threads and devices
// decide how many micro-batches run concurrently, and never change their sum.
const MicroBatchTokens = distributed.MicroBatchTokens

// ForwardTokens is where a forward pass ends at best, which may be anywhere: no bit
// of an output depends on what else is in its pass. A device that is wide says so.
func ForwardTokens(d tensor.Device) int {
	if w, ok := tensor.Capability[tensor.PreferredBatch](d); ok {
		return w.ForwardTokens()
	}
	return MicroBatchTokens
}

// MinTokens is what a sequence counts at least where forward passes are cut:
// memory is taken for each sequence, too.
const MinTokens = 32

// forwardPasses cuts examples into runs of consecutive ones, each of at most the given
// number of tokens, or of a single example that has more.
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
