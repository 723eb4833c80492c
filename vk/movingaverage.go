//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(movingAverage), kernel(movingAverageBackward)) }

// Constants equal to those in movingaverage.glsl.
const (
	averageSet       = 4    // averages per invocation
	averageLanes     = 64   // channels per workgroup
	minAverageChunk  = 64   // minimum number of rows per chunk of a sequence
	maxAverageChunks = 1024 // maximum number of chunks per sequence
)

// averages is a range of sets of averages and of channels that dispatches process together. One
// binding can hold their states in all chunks.
type averages struct {
	batch                  *tensor.Batch
	x, decay               *tensor.Tensor
	parts                  int // maximum number of chunks
	firstSet, sets         int // range of the sets of averages of each direction
	firstChannel, channels int // range of the channels
}

// eachAverageRange splits the averages of a launch into ranges and calls f for each. No range is
// larger than the first range. x has the rows of the batch.
func eachAverageRange(batch *tensor.Batch, x, decay *tensor.Tensor, f func(a averages)) {
	d, sets := x.Width(), blocks(decay.Shape[0]/2, averageSet)
	a := averages{batch: batch, x: x, decay: decay}
	// This number is enough for the layout of firstPart in pooling.glsl.
	a.parts = x.Shape[0]/minAverageChunk + a.sequences() + 1
	words := 2 * averageSet * a.parts // words of one channel's states in one set of each direction
	maxSets := max(1, min(sets, blockWords/(words*min(d, averageLanes))))
	maxChannels := max(1, blockWords/(words*maxSets)/averageLanes) * averageLanes
	eachBlock(sets, maxSets, func(firstSet, n int) {
		eachBlock(d, maxChannels, func(firstChannel, m int) {
			a.firstSet, a.sets, a.firstChannel, a.channels = firstSet, n, firstChannel, m
			f(a)
		})
	})
}

func (a averages) sequences() int { return a.batch.Offset.Shape[0] - 1 }

// states returns the number of vectors of states per chunk.
func (a averages) states() int { return 2 * a.sets * a.channels }

// scratch returns memory for the states of all chunks.
func (a averages) scratch(r *recorder) *tensor.Tensor {
	return r.scratch(a.parts * a.states() * averageSet)
}

// dispatch returns a dispatch of a shader that includes movingaverage.glsl.
func (a averages) dispatch(shader string, groups int, w window, operands ...operand) dispatch {
	return dispatch{shader: shader, groups: groups, operands: operands,
		push: []uint32{uint32(tensor.Sequences), uint32(a.sequences()), uint32(a.x.Width()),
			uint32(a.decay.Shape[0] / 2), uint32(a.parts), uint32(a.firstSet), uint32(a.sets),
			uint32(a.firstChannel), uint32(a.channels), uint32(w.first), w.shaderSpan()}}
}

// eachWindow splits the rows into windows of chunks and calls f for each. The argument groups is the
// number of workgroups that process all chunks.
func (a averages) eachWindow(f func(w window, groups int)) {
	rows, operations := a.x.Shape[0], 16*float64(a.states()*averageSet)
	chunk := blocks(rows, minAverageChunk*maxAverageChunks) * minAverageChunk
	eachWindow(rows, chunk, blockRows(a.x.Width(), operations), func(w window) {
		f(w, a.parts*blocks(a.channels, averageLanes))
	})
}

// carry records the dispatches that compute the states with which the chunks begin. In the backward
// pass, x is the gradient of the output, and slopes are the derivatives of the states with respect
// to the sigmoid of decay. In the forward pass slopes is nil.
func (a averages) carry(r *recorder, states, slopes, x *tensor.Tensor) {
	constants := []uint32{boolWord(slopes != nil)}
	a.eachWindow(func(w window, groups int) {
		d := a.dispatch("movingaverage_states", 2*a.sets*groups, w, write(states), write(slopes), read(w.slice(x)),
			read(a.decay), read(a.batch.Offset))
		d.constants = constants
		r.dispatch(d)
	})
	d := a.eachState("movingaverage_carry", a.sequences(), update(states), update(slopes), read(a.decay),
		read(a.batch.Offset))
	d.constants = constants
	r.dispatch(d)
}

// eachState returns a dispatch with one invocation per vector of states in each of n sequences.
func (a averages) eachState(shader string, n int, operands ...operand) dispatch {
	return a.dispatch(shader, blocks(n*a.states(), averageLanes), window{}, operands...)
}

func movingAverage(r *recorder, k tensor.MovingAverage) {
	var states *tensor.Tensor
	eachAverageRange(k.Batch, k.X, k.Decay, func(a averages) {
		if states == nil {
			states = a.scratch(r)
		}
		a.carry(r, states, nil, k.X)
		a.eachWindow(func(w window, groups int) {
			r.dispatch(a.dispatch("movingaverage", groups, w, update(w.slice(k.Z)), read(states), read(w.slice(k.X)),
				read(k.Decay), read(k.Gain), read(k.Bias), read(k.Batch.Offset)))
		})
	})
}

func movingAverageBackward(r *recorder, k tensor.MovingAverageBackward) {
	var states, slopes *tensor.Tensor
	eachAverageRange(k.Batch, k.X, k.Decay, func(a averages) {
		if states == nil {
			states, slopes = a.scratch(r), a.scratch(r)
		}
		a.carry(r, states, slopes, k.DZ)
		a.eachWindow(func(w window, groups int) {
			r.dispatch(a.dispatch("movingaverage_backward", groups, w, update(w.slice(k.DX)), update(states),
				update(slopes), read(w.slice(k.DZ)), read(w.slice(k.X)), read(k.Decay), read(k.Gain),
				read(k.Batch.Offset)))
		})
		r.dispatch(a.eachState("movingaverage_backward_sum", a.sequences(), update(states), update(slopes),
			read(k.Batch.Offset)))
		d := a.eachState("movingaverage_backward_parameters", 1, write(k.DDecay), write(k.DGain), read(states),
			read(slopes), read(k.Decay), read(k.Gain), read(k.Batch.Offset))
		d.deferred = true
		r.dispatch(d)
	})
	parts := chunks(k.DZ.Shape[0])
	r.sumInParts(k.DBias, parts, func(db *tensor.Tensor) { r.columnSums(db, k.DZ, parts) })
}
