package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// fixture holds the state of one measured kernel: a program with a segment that prepares operands
// and a measured segment.
type fixture struct {
	*tensor.Program
	random  *rand.Rand
	batch   *tensor.Batch
	counts  tensor.Counts
	offset  []int32
	sampled []int32
	inputs  []input
	states  [tensor.Regions][]float32 // content of the persistent regions
	setup   []tensor.Kernel
}

// input is a tensor that is filled before the first run.
type input struct {
	*tensor.Tensor
	words []uint32
}

// newFixture returns a fixture for a batch of sequences of the given lengths, with up to k sampled
// tokens each.
func newFixture(k int, lengths ...int) *fixture {
	r := &fixture{Program: tensor.NewProgram(), random: rand.New(rand.NewPCG(seed, 1)),
		offset: []int32{0}, sampled: []int32{0}}
	var position, sequence []int32
	for b, n := range lengths {
		for i := range n {
			position, sequence = append(position, int32(i)), append(sequence, int32(b))
		}
		r.offset = append(r.offset, r.offset[b]+int32(n))
		r.sampled = append(r.sampled, r.sampled[b]+int32(min(n, k)))
	}
	n := len(lengths)
	r.counts = tensor.Counts{Tokens: r.offset[n], Sequences: int32(n), Sampled: r.sampled[n], Examples: int32(n),
		Longest: int32(slices.Max(lengths))}
	r.batch = tensor.NewBatch(r.Program, int(r.offset[n]), n)
	r.fill(r.Counts, r.counts.Words())
	r.fill(r.batch.Position, position)
	r.fill(r.batch.Sequence, sequence)
	r.fill(r.batch.Offset, r.offset)
	r.fill(r.batch.SampleOffset, r.sampled)
	example := make([]int32, n)
	for i := range example {
		example[i] = int32(i)
	}
	r.fill(r.batch.Example, example)
	return r
}

func (r *fixture) fill(t *tensor.Tensor, words []int32) *tensor.Tensor {
	r.inputs = append(r.inputs, input{t, tensor.Bits(words)})
	return t
}

// rows returns the number of rows of an axis.
func (r *fixture) rows(axis tensor.Axis) int { return int(r.counts.Words()[axis]) }

// normal declares an input with a row per element of the axis, filled with normally distributed
// numbers of the given standard deviation.
func (r *fixture) normal(axis tensor.Axis, width int, deviation float64) *tensor.Tensor {
	return r.floats(r.Input("input", axis, r.rows(axis), width),
		func() float64 { return deviation * r.random.NormFloat64() })
}

// fixed declares an input of fixed size, filled with numbers as in [fixture.normal].
func (r *fixture) fixed(deviation float64, shape ...int) *tensor.Tensor {
	return r.floats(r.Input("input", tensor.Fixed, shape...),
		func() float64 { return deviation * r.random.NormFloat64() })
}

func (r *fixture) floats(t *tensor.Tensor, draw func() float64) *tensor.Tensor {
	x := make([]float32, t.Words())
	for i := range x {
		x[i] = float32(draw())
	}
	r.inputs = append(r.inputs, input{t, tensor.Bits(x)})
	return t
}

// ids fills an input with integers below n, one per row.
func (r *fixture) ids(t *tensor.Tensor, n int) *tensor.Tensor {
	x := make([]int32, t.Words())
	for i := range x {
		x[i] = int32(r.random.IntN(n))
	}
	return r.fill(t, x)
}

// out declares an output with a row per element of the axis.
func (r *fixture) out(axis tensor.Axis, width int) *tensor.Tensor {
	return r.output(axis, r.rows(axis), width)
}

// outFixed declares an output of fixed size.
func (r *fixture) outFixed(shape ...int) *tensor.Tensor { return r.output(tensor.Fixed, shape...) }

func (r *fixture) output(axis tensor.Axis, shape ...int) *tensor.Tensor {
	t := r.Temp("output", axis, shape...)
	r.Keep(t)
	return t
}

// parameter declares a weight. Devices may cache values that they derive from weights.
func (r *fixture) parameter(deviation float64, shape ...int) *tensor.Tensor {
	return r.state(tensor.Weights, func() float64 { return deviation * r.random.NormFloat64() }, shape...)
}

// state declares a tensor of a persistent region.
func (r *fixture) state(s tensor.Region, draw func() float64, shape ...int) *tensor.Tensor {
	const alignment = 64
	t := tensor.At(s, (len(r.states[s])+alignment-1)/alignment*alignment, "state", shape...)
	x := make([]float32, t.Offset+t.Words())
	copy(x, r.states[s])
	for i := t.Offset; i < len(x); i++ {
		x[i] = float32(draw())
	}
	r.states[s] = x
	return t
}

// launchBefore adds a kernel that computes operands before the measurement.
func (r *fixture) launchBefore(k tensor.Kernel) { r.setup = append(r.setup, k) }

// prepare prepares the kernel k and runs the setup. Each call of run launches the kernel once; free
// releases the device memory.
func (r *fixture) prepare(ctx context.Context, device tensor.Device, k tensor.Kernel) (run Run,
	free func(), err error) {
	r.Segment("setup")
	for _, s := range r.setup {
		r.Launch(s)
	}
	r.Segment("kernel")
	r.Launch(k)
	x, err := device.Prepare(r.Finish())
	if err != nil {
		return nil, nil, err
	}
	mem := tensor.Binding{}
	release := func() {
		for _, m := range mem {
			if m != nil {
				m.Free()
			}
		}
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	allocate := func(s tensor.Region, words int) error {
		var err error
		if mem[s], err = device.Allocate(words); err != nil {
			return fmt.Errorf("%s: %w", tensor.Name(k), err)
		}
		return nil
	}
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		if err := allocate(s, r.Words(s)); err != nil {
			return nil, nil, err
		}
	}
	for s, x := range r.states {
		if x == nil {
			continue
		}
		if err := allocate(tensor.Region(s), len(x)); err != nil {
			return nil, nil, err
		}
		if err := mem[s].Write(0, tensor.Bits(x)); err != nil {
			return nil, nil, err
		}
	}
	for _, in := range r.inputs {
		if err := mem[tensor.Inputs].Write(in.Offset, in.words); err != nil {
			return nil, nil, err
		}
	}
	if err := x.Run(ctx, mem, 0, 1); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error { return x.Run(ctx, mem, 1, 2) }, release, nil
}

const wordBytes = 4

// traffic holds the number of bytes that a kernel reads and writes, and the size of its operands in
// bytes. An operand that is updated counts as read and as written, but once in resident.
type traffic struct{ read, written, resident int }

// traffic sums the bytes of a kernel's operands. It ignores the description of the batch, which is
// small and is mostly not read.
func (r *fixture) traffic(k tensor.Kernel) traffic {
	var out traffic
	var seen []*tensor.Tensor
	add := func(ts []*tensor.Tensor, to *int) {
		for _, t := range ts {
			if r.describesBatch(t) {
				continue
			}
			rows := t.Shape[0]
			if t.Rows != tensor.Fixed {
				rows = r.rows(t.Rows)
			}
			n := wordBytes * rows * t.Width()
			*to += n
			if !slices.Contains(seen, t) {
				seen = append(seen, t)
				out.resident += n
			}
		}
	}
	add(tensor.Reads(k), &out.read)
	add(tensor.Writes(k), &out.written)
	return out
}

func (r *fixture) describesBatch(t *tensor.Tensor) bool {
	b := r.batch
	return slices.Contains([]*tensor.Tensor{r.Counts, b.Tokens, b.Position, b.Sequence, b.Offset, b.SampleOffset,
		b.Example, b.Tower, b.Random}, t)
}

// sigmoid returns 1/(1 + exp(−x)).
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
