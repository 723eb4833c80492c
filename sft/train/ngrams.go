package train

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// ngramSums holds sums of a batch's n-gram gradients, by node of the tree of sums.
type ngramSums map[distributed.Node]sparse.Gradient

// add replaces pairs of siblings by their sums until no siblings are left, in the order of [tree].
func (s ngramSums) add(leaves int) {
	for level := 0; distributed.Width(leaves, level) > 1; level++ {
		nodes := distributed.Width(leaves, level)
		for i := 0; i < nodes; i += 2 {
			left, right := distributed.Node{Level: level, Index: i}, distributed.Node{Level: level, Index: i + 1}
			a, ok := s[left]
			b, both := s[right]
			if !ok || !both && i+1 < nodes {
				continue
			}
			delete(s, left)
			delete(s, right)
			s[distributed.Node{Level: level + 1, Index: i / 2}] = sparse.Add(a, b)
		}
	}
}

// encode returns the bytes of the sums in the order of nodes, for other ranks.
func (s ngramSums) encode(nodes []distributed.Node) []byte {
	var out []byte
	for _, n := range nodes {
		g := s[n]
		out = binary.LittleEndian.AppendUint64(out, uint64(len(g.Rows)))
		for _, words := range [][]uint32{g.Rows, tensor.Bits(g.Values)} {
			for _, w := range words {
				out = binary.LittleEndian.AppendUint32(out, w)
			}
		}
	}
	return out
}

// decode stores the sums that a rank encoded for nodes.
func (s ngramSums) decode(nodes []distributed.Node, width int, text []byte) error {
	words := func(n int) []uint32 {
		out := make([]uint32, n)
		for i := range out {
			out[i] = binary.LittleEndian.Uint32(text[4*i:])
		}
		text = text[4*n:]
		return out
	}
	for _, node := range nodes {
		if len(text) < 8 {
			return fmt.Errorf("sums of n-grams: expected at least 8 bytes for a node, found %d", len(text))
		}
		n := binary.LittleEndian.Uint64(text)
		if text = text[8:]; n > uint64(len(text)/(4*(1+width))) {
			return fmt.Errorf("sums of n-grams: %d rows exceed the remaining %d bytes", n, len(text))
		}
		rows := words(int(n))
		s[node] = sparse.Gradient{Rows: rows, Values: tensor.As[float32](words(int(n) * width))}
	}
	return nil
}

// sumsOf returns the largest sums that the results of the micro-batches [from, to) form.
func sumsOf(results []*model.Result, from, to int) ngramSums {
	sums := ngramSums{}
	for i := from; i < to; i++ {
		sums[distributed.Node{Index: i}] = results[i].NGrams
	}
	sums.add(len(results))
	return sums
}

// sumNGrams returns the n-gram gradient of a batch, summed over all ranks. leaves is the number of
// micro-batches in the batch.
func (a *accumulator) sumNGrams(sums ngramSums, leaves int) (root sparse.Gradient, err error) {
	if a.ranks != nil && sums != nil {
		if err := a.ranks.gatherNGrams(sums, leaves, a.engine.NGrams.Width); err != nil {
			return sparse.Gradient{}, err
		}
	}
	for _, root = range sums { // sums has at most one element
	}
	return root, nil
}

// gatherNGrams adds the sums of all other ranks to sums. Every rank receives the sums of all ranks.
func (x *exchange) gatherNGrams(sums ngramSums, leaves, width int) error {
	began := time.Now()
	defer func() { x.spent += time.Since(began) }()
	nodes := func(r int) []distributed.Node { return distributed.Frontier(leaves, x.cuts[r], x.cuts[r+1]) }
	all, err := distributed.Gather(x, sums.encode(nodes(x.Rank())), nil)
	if err != nil {
		return err
	}
	for r, text := range all {
		if err := sums.decode(nodes(r), width, text); err != nil {
			return err
		}
	}
	sums.add(leaves)
	return nil
}

// ngramRate is the learning rate of the embeddings of n-grams, before the factors of warm-up and schedule.
const ngramRate = 0.03
