//go:build cgo

package vk

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
)

// TestMovingAverageChunks compares moving averages over long chunks with those of the CPU. It also
// checks that Z and DX are bitwise identical for a sequence alone and in a batch, and that all results
// are bitwise identical for split and unsplit dispatches.
func TestMovingAverageChunks(t *testing.T) {
	const d, states = 3, 10
	device, reference := open(t, Options{}), cpu.New(2)
	random := rand.New(rand.NewPCG(1, 2))
	normal := func(n int, mean, deviation float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(mean + deviation*random.NormFloat64())
		}
		return x
	}
	lengths := []int{100, minAverageChunk*maxAverageChunks + 1, 200}
	rows := lengths[0] + lengths[1] + lengths[2]
	x, dz := normal(rows*d, 0, 1), normal(rows*d, 0, 1)
	decay, gain, bias := normal(states*d, 4, 2), normal(states*d, 0, 1), normal(d, 0, 1)
	// run returns Z, DX, DDecay, DGain and DBias for the sequences [first, first+n).
	run := func(on tensor.Device, first, n int) (out [][]uint32) {
		begin := 0
		for _, length := range lengths[:first] {
			begin += length * d
		}
		forward, backward := newPacked(lengths[first:first+n], 1), newPacked(lengths[first:first+n], 1)
		tokens := forward.tokens
		z := forward.output(tensor.Tokens, tokens, d)
		forward.launch(tensor.MovingAverage{Z: z, X: forward.input(tensor.Tokens, x[begin:][:tokens*d], tokens, d),
			Decay: forward.input(tensor.Fixed, decay, states, d), Gain: forward.input(tensor.Fixed, gain, states, d),
			Bias: forward.input(tensor.Fixed, bias, d), Batch: forward.Batch})
		dx, ddecay := backward.output(tensor.Tokens, tokens, d), backward.output(tensor.Fixed, states, d)
		dgain, dbias := backward.output(tensor.Fixed, states, d), backward.output(tensor.Fixed, d)
		backward.launch(tensor.MovingAverageBackward{DX: dx, DDecay: ddecay, DGain: dgain, DBias: dbias,
			DZ:    backward.input(tensor.Tokens, dz[begin:][:tokens*d], tokens, d),
			X:     backward.input(tensor.Tokens, x[begin:][:tokens*d], tokens, d),
			Decay: backward.input(tensor.Fixed, decay, states, d), Gain: backward.input(tensor.Fixed, gain, states, d),
			Batch: backward.Batch})
		return append(forward.run(t, on, z), backward.run(t, on, dx, ddecay, dgain, dbias)...)
	}

	names := []string{"Z", "DX", "DDecay", "DGain", "DBias"}
	all, want := run(device, 0, 3), run(reference, 0, 3)
	for i, name := range names {
		scale, worst := 0.0, 0.0
		for j, bits := range want[i] {
			v := float64(math.Float32frombits(bits))
			scale = max(scale, math.Abs(v))
			worst = max(worst, math.Abs(v-float64(math.Float32frombits(all[i][j]))))
		}
		t.Logf("%s: relative error %.1e", name, worst/scale)
		if !(worst <= 1e-5*scale) {
			t.Errorf("%s: difference %v from the CPU with values up to %v", name, worst, scale)
		}
	}
	alone := run(device, 1, 1)
	for i, name := range names[:2] {
		if !slices.Equal(alone[i], all[i][lengths[0]*d:][:lengths[1]*d]) {
			t.Errorf("%s of sequence 1 alone differs from its values in a batch, want equal values", name)
		}
	}
	setMinimalLimits(t, device)
	blockWords = 8192 * d // the minimum would need hundreds of windows
	for i, got := range run(device, 0, 3) {
		if !slices.Equal(got, all[i]) {
			t.Errorf("%s differs between split and unsplit dispatches", names[i])
		}
	}
}
