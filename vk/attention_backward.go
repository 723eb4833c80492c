//go:build cgo

package vk

import (
	"math/bits"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(attentionBackward)) }

const (
	queryChunks = 32  // maximum chunks of the queries per sequence, as in chunks.glsl
	queryChunk  = 128 // minimum queries per chunk, as in chunks.glsl

	// Invocations per row, like attentionSlices. These kernels need many registers, and small
	// workgroups leave fewer registers unused.
	querySlices = 2
	keySlices   = 2

	// Sizes of the window in tally.glsl.
	keyGroup      = 8                      // keys per group; a window covers whole groups
	entryBytes    = 4 * 4                  // bytes per entry: one cell in each of four rows
	queriesShared = 64*12 + 128*12 + 2*4*8 // bytes of shared memory in addition to rows
	// maximum bytes of shared memory; with more, fewer workgroups run concurrently
	windowShared = 32 << 10
	maxFixedBits = 17 // with more bits, more values overflow the window's cells
)

func attentionBackward(r *recorder, k tensor.AttentionBackward) {
	a := newAttentionShape(r, k.Forward)
	f, heads := k.Forward, k.Forward.Heads

	// delta holds the dot product of output and gradient for each row and head, bounds the bounds of the
	// fixed-point sums, and largest the largest norms of keys and values.
	delta := r.scratch(a.tokens, heads)
	bounds, largest := r.scratch(2*heads), r.scratch(2*heads)
	r.zero(bounds)
	r.zero(largest)
	r.dispatch(dispatch{shader: "attention_backward_keys_bound", constants: a.constants(), push: a.push(),
		groups:   a.tiles(a.rows) * heads,
		operands: []operand{update(largest), read(f.K), read(f.V), read(f.Count), read(f.Batch.SampleOffset)}})
	eachBlock(a.tokens, blockRows(a.d, 0), func(first, n int) {
		slice := window{first: first, n: n}.slice
		r.dispatch(dispatch{shader: "attention_backward_bounds", constants: a.constants(),
			push: a.push(uint32(a.tokens), uint32(first), uint32(n)), groups: blocks(n*heads, 256),
			operands: []operand{write(slice(delta)), update(bounds), read(slice(k.DO)), read(slice(f.O)),
				read(slice(f.Norm)),
				read(slice(f.Q)), read(largest)}})
	})
	if k.DLeak != nil {
		r.dispatch(dispatch{shader: "attention_backward_leak", push: []uint32{uint32(heads)}, groups: a.batches * heads,
			operands: []operand{write(k.DLeak), read(delta), read(f.Norm), read(f.Batch.Offset)}})
	}
	queries := a.savingRegisters(r.device.limits, queriesSaving)
	queries.queriesBackward(r, k, delta, bounds)
	keys := a.savingRegisters(r.device.limits, keysSaving(a.Score))
	keys.keysBackward(r, k, delta)
}

// queriesBackward computes the gradients of the queries and, with a sinusoid bias, of the tables. With
// this bias it splits dispatches also by heads, as the histogram of a head grows with the input length.
func (a *attentionShape) queriesBackward(r *recorder, k tensor.AttentionBackward, delta, bounds *tensor.Tensor) {
	f, fixed := k.Forward, uint32(a.fixedBits())
	const sums = 2 * 2 * 2 // sums per head: for mul and add, high and low parts of f and g
	size := k.Forward.Heads
	if a.relation == sinusoidRelation {
		size = max(1, min(size, blockWords/(sums*a.table)))
	}
	eachBlock(k.Forward.Heads, size, func(first, heads int) {
		var histogram *tensor.Tensor
		if a.relation == sinusoidRelation {
			histogram = r.scratch(heads, sums*a.table)
			r.zero(histogram)
		}
		a.eachTiles(heads, a.operations(8, 400), func(w window, tiles int) {
			r.dispatch(dispatch{shader: "attention_backward_queries",
				constants: a.slicedConstants(querySlices, uint32(a.windowEntries(r.device.limits.sharedBytes))),
				push:      append(a.push(fixed, uint32(first), uint32(heads)), w.push()...), groups: tiles * heads,
				operands: append([]operand{write(w.slice(k.DQ)), update(histogram), read(w.slice(k.DO)),
					read(w.slice(f.Norm)), read(w.slice(delta)),
					read(bounds), read(w.slice(f.Q))}, a.keysAndTables()...)})
		})
		if a.relation == sinusoidRelation {
			g := k.Gradient.(tensor.SinusoidGradient)
			r.dispatch(dispatch{shader: "attention_backward_tables",
				push:     []uint32{uint32(f.Heads), uint32(a.table), fixed, uint32(first), uint32(heads)},
				groups:   2 * heads * blocks(a.table, 256),
				operands: []operand{write(g.DF), write(g.DG), read(histogram), read(bounds)}})
		}
	})
}

// keysBackward computes the gradients of the keys and values as sums over chunks of the queries. A
// dispatch binds a window of the queries and processes the chunks that begin in the window.
func (a *attentionShape) keysBackward(r *recorder, k tensor.AttentionBackward, delta *tensor.Tensor) {
	f, heads := k.Forward, k.Forward.Heads
	var pairs *tensor.Tensor // gradients of the duplet weights and, with pair features, of the relation
	switch g := k.Gradient.(type) {
	case tensor.SinusoidGradient:
		pairs = g.DP
	case tensor.PairGradient:
		pairs = g.D
	}
	width := a.d
	if pairs != nil {
		width = max(width, pairs.Width())
	}
	chunk := max(queryChunk, blocks(blocks(a.tokens, queryChunks), 64)*64)
	size := blockRows(a.d, a.operations(10, 100)*float64(heads*a.maxKeys))
	eachBlock(min(queryChunks, blocks(a.tokens, queryChunk)), max(1, blockWords/(a.rows*width)), func(first, n int) {
		dk, dv := r.scratch(n, a.rows, a.d), r.scratch(n, a.rows, a.d)
		var dp *tensor.Tensor
		if pairs != nil {
			dp = r.scratch(n, a.rows, pairs.Width())
		}
		eachWindow(a.tokens, chunk, size, func(w window) {
			r.dispatch(dispatch{shader: "attention_backward_keys", constants: a.slicedConstants(keySlices),
				push:   a.push(uint32(a.rows), uint32(first), uint32(n), uint32(w.first), w.shaderSpan()),
				groups: a.tiles(a.rows) * heads * n * a.passes(),
				operands: append([]operand{write(dk), write(dv), write(dp), read(w.slice(k.DO)),
					read(w.slice(f.Norm)), read(w.slice(delta)),
					read(w.slice(f.Q))}, a.keysAndTables()...)})
		})
		sum := func(y, parts *tensor.Tensor, width int) {
			sums := write(y)
			if first > 0 {
				sums = update(y)
			}
			r.dispatch(dispatch{shader: "attention_backward_sum", push: []uint32{uint32(width), uint32(a.rows),
				uint32(first), uint32(n)}, groups: a.rows,
				operands: []operand{sums, read(parts), read(f.Count), read(f.Batch.Offset),
					read(f.Batch.SampleOffset)}})
		}
		sum(k.DK, dk, a.d)
		sum(k.DV, dv, a.d)
		if pairs != nil {
			sum(pairs, dp, pairs.Width())
		}
	})
}

// keysAndTables returns the operands of the keys and the tables, which dispatches do not split.
func (a *attentionShape) keysAndTables() []operand {
	return append([]operand{read(a.K), read(a.V), read(a.Count), read(a.Batch.Offset), read(a.Batch.SampleOffset)},
		a.tables...)
}

// fixedBits returns the number of bits in each part of a fixed-point sum. It leaves room for
// carries, as an entry of a table receives at most two values from each sampled key.
func (a *attentionShape) fixedBits() int { return min(maxFixedBits, 30-bits.Len(uint(2*a.rows))) }

// windowEntries returns the number of entries per table and head in the window whose gradients the queries
// kernel sums in shared memory. The argument shared is the number of bytes of shared memory per workgroup.
// windowEntries returns 0 without a sinusoid bias, or if the window would be too small for most groups of
// keys. The gradients are bitwise identical for every window.
func (a *attentionShape) windowEntries(shared int) int {
	if a.relation != sinusoidRelation {
		return 0
	}
	length := blocks(a.table, 2) // the longest sequence
	// Sampled keys and their partners are in ascending order, at irregular distances.
	span := func(keys int) int { return attentionRows + min(length, 3*keys*length/(2*a.maxKeys)) }
	available := (min(shared, windowShared+a.ownBytes()) - queriesShared - a.rowBytes()) / entryBytes / 64 * 64
	// Powers of two keep the number of pipelines small, as each size needs its own.
	window := min(available, 1<<bits.Len(uint(span(a.tile)-1)))
	if window < span(min(keyGroup, a.tile)) {
		return 0
	}
	return window
}
