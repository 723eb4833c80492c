package sft

import "sftseq/seq"

// groupTokens is where a gradient group ends: consecutive examples of a batch
// until that many tokens are reached. Within a group every sum has one order;
// the groups are added by a fixed binary tree. So memory, threads and devices
// decide how many groups run at once, and never what they add up to.
const groupTokens = 4096

// groups cuts a batch into gradient groups.
func groups(examples []seq.Example) [][]seq.Example {
	var out [][]seq.Example
	from, tokens := 0, 0
	for i, e := range examples {
		tokens += len(e.A) + len(e.B)
		if tokens >= groupTokens {
			out = append(out, examples[from:i+1])
			from, tokens = i+1, 0
		}
	}
	if from < len(examples) {
		out = append(out, examples[from:])
	}
	return out
}
