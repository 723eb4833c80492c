package distributed

import "math/bits"

// MicroBatchTokens is the number of tokens at which a micro-batch ends. A micro-batch has
// consecutive examples of a batch.
const MicroBatchTokens = 4096

// MicroBatches splits examples of the given lengths, in tokens, into consecutive runs. A run ends
// with the example that brings its number of tokens to at least the given size. The result has the
// exclusive end index of each run.
func MicroBatches(lengths []int, size int) (ends []int) {
	tokens := 0
	for i, n := range lengths {
		if tokens += n; tokens >= size || i == len(lengths)-1 {
			ends, tokens = append(ends, i+1), 0
		}
	}
	return ends
}

// MaxSums returns the maximum number of sums per rank, for batches of up to the given number of
// micro-batches, each with up to the given number of tokens. Let M be the size of the largest
// micro-batch and m = [MicroBatchTokens] the minimum size of all micro-batches but the last. Then a rank gets
// k ≤ 9·M/m + 2 adjacent nodes of the level at which [Deal] cuts: at most 8·M/m for an equal share of
// the tokens, M/m because cuts are inexact by up to half a node, and 2 for rounding and the last
// node, which may be smaller. The frontier of k nodes has at most ⌊2·log₂((k+2)/2)⌋ nodes: one at
// either end of each level above.
func MaxSums(microBatches, tokens int) int {
	k := min(microBatches, 9*tokens/MicroBatchTokens+2)
	return bits.Len(uint((k+2)*(k+2)/4)) - 1
}

// Deal splits micro-batches, given by their numbers of tokens, into one run per rank with similar
// numbers of tokens: rank r computes micro-batches cuts[r] to cuts[r+1]−1. It cuts at the edges of
// large tree nodes, so that a rank has few sums, see [MaxSums].
func Deal(tokens []int, ranks int) (cuts []int) {
	leaves := len(tokens)
	prefix := make([]int, leaves+1)
	for i, n := range tokens {
		prefix[i+1] = prefix[i] + n
	}
	unit := 1 << max(0, bits.Len(uint(leaves/ranks))-3)
	cuts = append(cuts, 0)
	for r := 1; r < ranks; r++ {
		target := prefix[leaves] * r / ranks
		best, cut := -1, cuts[r-1]
		for i := cut; i <= leaves; i++ {
			if i%unit != 0 && i != leaves {
				continue
			}
			distance := max(prefix[i]-target, target-prefix[i])
			if best >= 0 && distance > best {
				break // later cuts are even further away
			}
			best, cut = distance, i
		}
		cuts = append(cuts, cut)
	}
	return append(cuts, leaves)
}

// Cut returns the first word of a rank's share of the sum, for a model of the given number of
// words. The rank adds up this share for all ranks.
func Cut(words, ranks, rank int) int { return words * rank / ranks }

// Node is a node in the tree of sums: index i of level v adds indices 2i and 2i+1 of level v−1. The
// last index of a level may have no sibling. Leaf i is index i of level 0.
type Node struct{ Level, Index int }

// Width returns the number of nodes of a level.
func Width(leaves, level int) int { return (leaves + 1<<level - 1) >> level }

// Frontier returns the largest nodes whose leaves are all from lo to hi−1, from left to right.
// These are the sums that a rank can compute from these leaves alone.
func Frontier(leaves, lo, hi int) (out []Node) {
	for lo < hi {
		n := Node{0, lo}
		for Width(leaves, n.Level) > 1 && n.Index%2 == 0 && min((n.Index/2+1)<<(n.Level+1), leaves) <= hi {
			n = Node{n.Level + 1, n.Index / 2}
		}
		out = append(out, n)
		lo = min((n.Index+1)<<n.Level, leaves)
	}
	return out
}
