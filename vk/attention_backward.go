//go:build cgo

package vk

import (
	"math/bits"

	"sftseq/internal/tensor"
)

const (
	queryChunks = 32  // of a sequence's queries, as in chunks.glsl
	queryChunk  = 128 // queries
)

func attentionBackward(r *recorder, k tensor.AttentionBackward) {
	a := newAttentionShape(r, k.Forward)
	f, heads := k.Forward, k.Forward.Heads
	relative := f.Relation != nil

	// What whole rows need, and the bounds of the fixed point.
	share := r.scratch(a.tokens * heads)
	bounds, largest := r.scratch(2*heads), r.scratch(2*heads)
	r.zero(bounds)
	r.zero(largest)
	var histogram *tensor.Tensor
	if relative {
		histogram = r.scratch(2 * heads * 4 * a.table)
		r.zero(histogram)
	}
	r.dispatch(dispatch{shader: "attention_backward_keys_bound", constants: a.constants(), push: a.push(), groups: a.tiles(a.rows) * heads,
		operands: []operand{update(largest), read(f.K), read(f.V), read(f.Count), read(f.Batch.SampleOffset)}})
	r.dispatch(dispatch{shader: "attention_backward_bounds", constants: a.constants(), push: a.push(uint32(a.tokens)), groups: blocks(a.tokens*heads, 256),
		operands: []operand{write(share), update(bounds), read(k.DO), read(f.O), read(f.Norm), read(f.Q), read(largest)}})
	if k.DLeak != nil {
		r.dispatch(dispatch{shader: "attention_backward_leak", push: []uint32{uint32(heads)}, groups: a.batches * heads,
			operands: []operand{write(k.DLeak), read(share), read(f.Norm), read(f.Batch.Offset)}})
	}

	fixed := uint32(a.fixedBits())
	rest := append([]operand{read(f.Q), read(f.K), read(f.V), read(f.Count), read(f.Batch.Offset), read(f.Batch.SampleOffset)}, a.tables()...)
	r.dispatch(dispatch{shader: "attention_backward_queries", constants: a.constants(), push: a.push(fixed), groups: a.tiles(a.tokens) * heads,
		operands: append([]operand{write(k.DQ), update(histogram), read(k.DO), read(f.Norm), read(share), read(bounds)}, rest...)})

	chunks := min(queryChunks, blocks(a.tokens, queryChunk))
	dk, dv := r.scratch(chunks*a.rows*a.d), r.scratch(chunks*a.rows*a.d)
	var dp *tensor.Tensor
	if relative {
		dp = r.scratch(chunks * a.rows * heads)
	}
	r.dispatch(dispatch{shader: "attention_backward_keys", constants: a.constants(), push: a.push(uint32(a.rows), uint32(chunks)),
		groups:   a.tiles(a.rows) * heads * chunks,
		operands: append([]operand{write(dk), write(dv), write(dp), read(k.DO), read(f.Norm), read(share)}, rest...)})
	sum := func(y, parts *tensor.Tensor, width int) {
		r.dispatch(dispatch{shader: "attention_backward_sum", push: []uint32{uint32(width), uint32(a.rows)}, groups: a.rows,
			operands: []operand{write(y), read(parts), read(f.Count), read(f.Batch.Offset), read(f.Batch.SampleOffset)}})
	}
	sum(k.DK, dk, a.d)
	sum(k.DV, dv, a.d)
	if relative {
		g := k.Gradient.(tensor.SinusoidGradient)
		sum(g.DP, dp, heads)
		r.dispatch(dispatch{shader: "attention_backward_tables", push: []uint32{uint32(2 * heads), uint32(a.table), fixed},
			groups:   2 * heads * blocks(a.table, 256),
			operands: []operand{write(g.DF), write(g.DG), read(histogram), read(bounds)}})
	}
}

// fixedBits is the size of a part of a fixed-point sum: an entry of a table
// receives at most two values from each sampled key.
func (a *attentionShape) fixedBits() int { return 30 - bits.Len(uint(2*a.rows)) }
