package cpu

import "github.com/sftseq/sftseq/internal/tensor"

// rowwise is a launch that computes each row of its results from the same row of its operands, from
// weights, and from rows that exist before the launch begins. Consecutive rowwise launches can be
// fused: all of them run on one block of rows, then all on the next block. A block stays in the
// second-level cache from the first launch to the last.
type rowwise struct {
	n      int                         // rows in use
	block  func(w *worker, lo, hi int) // computes rows lo … hi−1
	finish func()                      // runs after all rows; may be nil
}

// rowBlock is the number of rows in a block: a multiple of 6 and 14, the tile heights of the matrix
// products.
const rowBlock = 84

// blocks returns the number of blocks for n rows.
func blocks(n int) int { return (n + rowBlock - 1) / rowBlock }

// eachRows splits n rows into blocks and calls f for each block on the workers.
func (r *run) eachRows(n int, f func(w *worker, lo, hi int)) {
	r.parallel(blocks(n), func(w *worker, i int) { f(w, i*rowBlock, min(n, (i+1)*rowBlock)) })
}

// runFused runs rowwise launches block by block.
func (r *run) runFused(launches []launch) {
	k := make([]rowwise, len(launches))
	for i, l := range launches {
		k[i] = l.rowwise(r)
	}
	r.eachRows(k[0].n, func(w *worker, lo, hi int) {
		for i := range k {
			k[i].block(w, lo, hi)
		}
	})
	for i := range k {
		if k[i].finish != nil {
			k[i].finish()
		}
	}
}

// parts returns n floats with undefined content that are valid until the launch or the group of
// fused launches ends. For example, they hold the partial sums of blocks, which are added after the
// last block.
func (r *run) parts(n int) []float32 {
	s := &r.self.parts
	if len(*s)+n > cap(*s) { // earlier parts must not move
		*s = make([]float32, 0, len(*s)+n)
	}
	*s = (*s)[:len(*s)+n]
	return (*s)[len(*s)-n:]
}

// fusedLength returns the number of leading launches that can be fused. It returns 1 if the first
// launch is not rowwise.
func fusedLength(launches []tensor.Kernel) int {
	axis := rowAxis(launches[0])
	if axis == tensor.Fixed { // the numbers of rows may differ
		return 1
	}
	for n := 1; n < len(launches); n++ {
		if rowAxis(launches[n]) != axis || !canFuse(launches[:n], launches[n], axis) {
			return n
		}
	}
	return len(launches)
}

// rowAxis returns the row axis of a rowwise launch, and Fixed for other launches.
func rowAxis(k tensor.Kernel) tensor.Axis {
	if implementationOf(k).byRows == nil {
		return tensor.Fixed
	}
	return tensor.RowAxis(k)
}

// canFuse reports whether a launch can be fused with the rowwise launches before it, over rows of the
// same axis. When the launch processes a block, the launches before it have processed this block and
// perhaps no other block. Memory that one launch writes and another accesses must therefore hold
// the same rows in both launches.
func canFuse(before []tensor.Kernel, next tensor.Kernel, axis tensor.Axis) bool {
	nextReads, nextWrites := tensor.Reads(next), tensor.Writes(next)
	for _, k := range before {
		reads := tensor.Reads(k)
		for _, w := range tensor.Writes(k) {
			if conflict(w, nextReads, axis) || conflict(w, nextWrites, axis) ||
				conflict(w, readsOutsideBlock(next), tensor.Fixed) {
				return false
			}
		}
		outside := readsOutsideBlock(k)
		if _, ok := k.(tensor.LinearBackward); ok {
			outside = reads // finish reads all rows again
		}
		for _, w := range nextWrites {
			if conflict(w, reads, axis) || conflict(w, outside, tensor.Fixed) {
				return false
			}
		}
	}
	return true
}

// readsOutsideBlock returns the operands that a launch also reads outside its block.
func readsOutsideBlock(k tensor.Kernel) []*tensor.Tensor {
	switch k := k.(type) {
	case tensor.Convolution:
		return []*tensor.Tensor{k.X}
	case tensor.ConvolutionBackward:
		return []*tensor.Tensor{k.DZ}
	}
	return nil
}

// conflict reports whether w overlaps the memory of a tensor in ts, unless both tensors have the
// same rows at the same addresses.
func conflict(w *tensor.Tensor, ts []*tensor.Tensor, axis tensor.Axis) bool {
	for _, t := range ts {
		disjoint := t.Region != w.Region || t.Offset+t.Words() <= w.Offset || w.Offset+w.Words() <= t.Offset
		sameRows := t.Offset == w.Offset && t.Width() == w.Width() && t.Rows == axis && w.Rows == axis
		if !disjoint && !sameRows {
			return true
		}
	}
	return false
}
