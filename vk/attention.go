//go:build cgo

package vk

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(attention)) }

const (
	attentionRows   = 64  // rows per workgroup, equal to the value in attention.glsl
	attentionSlices = 4   // invocations per row
	maxChannels     = 512 // maximum channels per head, so that at least four rows fit into shared memory
	// maxFeatures is the maximum number of features per edge, including the number of merged edges. It is
	// bounded because one invocation sums the gradients of all features.
	maxFeatures = 64
)

// Values of the constant RELATION in attention.glsl; 0 means that attention has no relation.
const (
	sinusoidRelation = 1
	distanceRelation = 2
	edgeRelation     = 3
)

// attentionShape holds the parameters of a launch that the forward and the backward pass share.
type attentionShape struct {
	tensor.Attention
	relation              uint32
	tables                []operand // operands that relative_bias.glsl reads
	d, channels           int       // values per token, and per head
	table                 int       // TABLE of relative_bias.glsl
	features              int       // features per pair, for distances or edges
	tokens, rows, batches int       // capacities of the batch
	maxKeys               int       // maximum number of keys that a query attends to
	tile                  int       // rows per tile in shared memory
	block, staged         int       // channels per pass and number of staged operands, see saving; 0 if unused
}

func newAttentionShape(r *recorder, k tensor.Attention) attentionShape {
	a := attentionShape{Attention: k, d: k.Q.Width(), channels: k.Q.Width() / k.Heads, features: 1,
		tokens: k.Q.Shape[0], rows: k.K.Shape[0], batches: k.Batch.Example.Shape[0]}
	switch b := k.RelativeBias.(type) {
	case nil:
		a.tables = []operand{read(nil), read(nil), read(nil), read(nil), read(nil), read(nil)}
	case tensor.SinusoidBias:
		a.relation, a.table = sinusoidRelation, b.F.Width()
		a.tables = []operand{read(b.F), read(b.G), read(b.E), read(b.P), read(b.Top), read(b.Partner)}
	case tensor.DistanceBias:
		a.relation, a.table, a.features = distanceRelation, b.Points.Width(), b.PairFeatures()
		a.tables = []operand{read(b.Points), read(b.W), read(nil), read(b.P), read(b.Top), read(b.Partner)}
	case tensor.EdgeBias:
		a.relation, a.table, a.features = edgeRelation, a.tokens+1, b.PairFeatures()
		a.tables = []operand{read(b.Features), read(b.W), read(b.Index), read(b.P), read(b.Top), read(b.Partner)}
		if a.features > maxFeatures {
			r.err = fmt.Errorf("edges of %d features: expected at most %d on a Vulkan device",
				a.features-1, maxFeatures-1)
		}
	default:
		panic("vk: unknown relative position bias")
	}
	if a.maxKeys = a.rows; k.MaxKeys > 0 {
		a.maxKeys = min(a.maxKeys, k.MaxKeys)
	}
	if a.channels > maxChannels {
		r.err = fmt.Errorf("heads of %d channels: expected at most %d on a Vulkan device", a.channels, maxChannels)
	}
	a.tile = a.tileRows(tileVectors)
	return a
}

// constants returns the specialisation constants of attention.glsl, then the argument more.
func (a *attentionShape) constants(more ...uint32) []uint32 {
	return append([]uint32{uint32(a.channels), uint32(a.Score), uint32(a.Probability), a.relation, uint32(a.tile),
		uint32(a.features)}, more...)
}

func (a *attentionShape) scale() uint32 {
	return math.Float32bits(float32(1 / math.Sqrt(float64(a.channels))))
}

// slicedConstants returns the specialisation constants of kernels in which several invocations
// (slices) share the work of a row, then the argument more.
func (a *attentionShape) slicedConstants(slices uint32, more ...uint32) []uint32 {
	return append(a.constants(slices, attentionRows*slices, uint32(a.block), uint32(a.staged)), more...)
}

// push returns the push constants of an attention kernel: the common ones, then the argument more.
func (a *attentionShape) push(more ...uint32) []uint32 {
	return append([]uint32{uint32(a.Heads), uint32(a.d), uint32(a.table), a.scale()}, more...)
}

// tiles returns an upper bound on the number of tiles that cover the rows. A tile never spans two
// sequences: see tiles.glsl.
func (a *attentionShape) tiles(rows int) int { return rows/attentionRows + a.batches }

// eachTiles splits the queries into windows and calls f for each. The argument tiles of f is an upper
// bound on the number of tiles that begin in the window. The argument operations is the number of
// operations per query, key and head. It limits the size of a window.
func (a *attentionShape) eachTiles(heads int, operations float64, f func(w window, tiles int)) {
	size := blockRows(a.d, operations*float64(heads*a.maxKeys))
	eachWindow(a.tokens, attentionRows, size, func(w window) {
		n := w.n
		if w.span > 0 {
			n = w.span
		}
		f(w, a.tiles(n))
	})
}

// push returns the push constants of a window: its first tile, its first row and its span.
func (w window) push() []uint32 {
	return []uint32{uint32(w.first / attentionRows), uint32(w.first), w.shaderSpan()}
}

// operations returns the number of operations per query, key and head. The argument channel is the
// number per channel, and relative the additional number if there is a relative position bias.
func (a *attentionShape) operations(channel, relative int) float64 {
	n := channel * a.channels
	if a.RelativeBias != nil {
		n += relative
	}
	return float64(n)
}

func attention(r *recorder, k tensor.Attention) {
	a := newAttentionShape(r, k)
	long := a.maxKeys > 1024
	a = a.savingRegisters(r.device.limits, forwardSaving(long))
	if k.DeadRows != nil {
		r.zero(k.DeadRows)
	}
	a.eachTiles(k.Heads, a.operations(4, 80), func(w window, tiles int) {
		r.dispatch(dispatch{shader: "attention", constants: a.slicedConstants(attentionSlices, boolWord(long)),
			push: append(a.push(boolWord(k.DeadRows != nil)), w.push()...), groups: tiles * k.Heads * a.passes(),
			operands: append([]operand{write(w.slice(k.O)), write(w.slice(k.Norm)), update(k.DeadRows),
				read(w.slice(k.Q)),
				read(k.K), read(k.V), read(k.Leak),
				read(k.Count), read(k.Batch.Offset), read(k.Batch.SampleOffset)}, a.tables...)})
	})
}
