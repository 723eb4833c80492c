package cpu

import "github.com/sftseq/sftseq/internal/tensor"

// rowwise is a launch whose results, row by row, need only the same row of its operands (and
// weights), or rows that exist before it begins. Consecutive rowwise launches run together: all of
// them on one block of rows, then on the next. A block stays in the second-level cache from the
// first launch to the last.
type rowwise struct {
	n      int                         // rows in use
	block  func(w *worker, lo, hi int) // computes rows lo … hi−1
	finish func()                      // runs after all rows; nil for nothing
}

// rowBlock is the number of rows that a worker processes at a time: a multiple of 6 and 14, the
// heights of the tiles of products.
const rowBlock = 84

// blocks returns the number of blocks for n rows.
func blocks(n int) int { return (n + rowBlock - 1) / rowBlock }

// eachRows splits n rows into blocks.
func (r *run) eachRows(n int, f func(w *worker, lo, hi int)) {
	r.each(blocks(n), func(w *worker, i int) { f(w, i*rowBlock, min(n, (i+1)*rowBlock)) })
}

// together runs rowwise launches block by block.
func (r *run) together(launches []launch) {
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

// parts returns n floats with undefined content that live as long as the launch, or those that run
// together. They hold the sums of blocks, for example, which are added when all blocks are done.
func (r *run) parts(n int) []float32 {
	s := &r.self.parts
	if len(*s)+n > cap(*s) { // earlier parts must not move
		*s = make([]float32, 0, len(*s)+n)
	}
	*s = (*s)[:len(*s)+n]
	return (*s)[len(*s)-n:]
}

// longest returns how many of the launches, from the first on, may run together: 1 if the first is
// not rowwise.
func longest(launches []tensor.Kernel) int {
	axis := rowAxis(launches[0])
	if axis == tensor.Fixed { // numbers of rows may differ
		return 1
	}
	for n := 1; n < len(launches); n++ {
		if rowAxis(launches[n]) != axis || !mayJoin(launches[:n], launches[n], axis) {
			return n
		}
	}
	return len(launches)
}

// rowAxis returns the axis of the rows of a rowwise launch, Fixed for others.
func rowAxis(k tensor.Kernel) tensor.Axis {
	if implementationOf(k).byRows == nil {
		return tensor.Fixed
	}
	return tensor.RowAxis(k)
}

// mayJoin reports whether a launch may run with the rowwise launches before it, all over rows of
// one axis. When it runs on a block, those before it have run on this block and perhaps on no
// other. So if one of them writes memory that the other accesses, it must be the same rows of the
// same memory.
func mayJoin(before []tensor.Kernel, next tensor.Kernel, axis tensor.Axis) bool {
	nextReads, nextWrites := tensor.Reads(next), tensor.Writes(next)
	for _, k := range before {
		reads := tensor.Reads(k)
		for _, w := range tensor.Writes(k) {
			if conflict(w, nextReads, axis) || conflict(w, nextWrites, axis) ||
				conflict(w, around(next), tensor.Fixed) {
				return false
			}
		}
		all := around(k)
		if _, ok := k.(tensor.LinearBackward); ok {
			all = reads // its second part reads all rows again
		}
		for _, w := range nextWrites {
			if conflict(w, reads, axis) || conflict(w, all, tensor.Fixed) {
				return false
			}
		}
	}
	return true
}

// around lists the operands of which a launch also reads rows outside of its block.
func around(k tensor.Kernel) []*tensor.Tensor {
	switch k := k.(type) {
	case tensor.Convolution:
		return []*tensor.Tensor{k.X}
	case tensor.ConvolutionBackward:
		return []*tensor.Tensor{k.DZ}
	}
	return nil
}

// conflict reports whether w shares memory with one of ts, except for tensors whose rows are the
// same memory.
func conflict(w *tensor.Tensor, ts []*tensor.Tensor, axis tensor.Axis) bool {
	for _, t := range ts {
		apart := t.Region != w.Region || t.Offset+t.Words() <= w.Offset || w.Offset+w.Words() <= t.Offset
		sameRows := t.Offset == w.Offset && t.Width() == w.Width() && t.Rows == axis && w.Rows == axis
		if !apart && !sameRows {
			return true
		}
	}
	return false
}
