package model

import (
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// MicroBatchTokens is the minimum size of a micro-batch in tokens: a micro-batch ends with the example that
// reaches it. Only the last micro-batch of a batch may be smaller. Sums within a micro-batch have a fixed
// order, and a fixed binary tree adds the sums of the micro-batches. The memory and the numbers of threads
// and devices decide how many micro-batches run concurrently, but do not change the result.
const MicroBatchTokens = distributed.MicroBatchTokens

// ForwardTokens returns the preferred number of tokens of a forward pass on device d; a GPU needs more
// for full utilisation. The number changes no bit of an output, because an output does not depend on the other
// sequences of its pass.
func ForwardTokens(d tensor.Device) int {
	if w, ok := tensor.Capability[tensor.PreferredBatch](d); ok {
		return w.ForwardTokens()
	}
	return MicroBatchTokens
}

// MinTokens is the minimum number of tokens that a sequence adds to the size of a forward pass,
// because each sequence also takes memory.
const MinTokens = 32

// passItem is an example, a chunk or a document of a pass.
type passItem struct {
	tokens int // tokens for which the pass plans memory
	size   int // tokens that count towards the size of a pass
}

// plannedItem returns the item whose sequences have these lengths.
func plannedItem(lengths ...int) (item passItem) {
	for _, n := range lengths {
		item.tokens += n
		item.size += max(MinTokens, n)
	}
	return item
}

func plannedExamples(examples []seq.Example) []passItem {
	out := make([]passItem, len(examples))
	for i, e := range examples {
		out[i] = plannedItem(PlannedLength(e))
		if e.B != nil {
			out[i] = plannedItem(PlannedLength(e), len(e.B))
		}
	}
	return out
}

func plannedChunks(chunks []docChunk) []passItem {
	out := make([]passItem, len(chunks))
	for i, p := range chunks {
		out[i] = plannedItem(len(p.tokens))
	}
	return out
}

// plannedDocuments plans documents of this number of sequences. chunks has the chunks of each sequence.
func plannedDocuments(c *config.Config, sequences int, chunks [][]docChunk) []passItem {
	out := make([]passItem, len(chunks)/sequences)
	lengths := make([]int, sequences)
	for i := range out {
		for side := range lengths {
			lengths[side] = 0
			for _, x := range chunks[i*sequences+side] {
				lengths[side] += exportedRows(c, len(x.tokens))
			}
		}
		out[i] = plannedItem(lengths...)
	}
	return out
}

// forwardPasses splits items into runs of consecutive items whose sizes have a sum of at most size, and
// returns the number of items of each run. An item above this size is a run of its own.
func forwardPasses(items []passItem, size int) (counts []int) {
	from, tokens := 0, 0
	for i, x := range items {
		if tokens += x.size; tokens > size && i > from {
			counts = append(counts, i-from)
			from, tokens = i, x.size
		}
	}
	if from < len(items) {
		counts = append(counts, len(items)-from)
	}
	return counts
}
