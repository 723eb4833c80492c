package conformance

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

const (
	garbage    = 0x7fc0beef // NaN as a float, invalid index as an integer
	unusedRows = 7          // number of rows beyond the rows in use
	guardWords = 256        // number of words after the last tensor
)

// operand is a tensor of a case with its data. The data are in float64, which represents every
// float32, int32 and uint32.
type operand struct {
	*tensor.Tensor
	rows, columns int // size in use
	ints          bool
	written       bool
	unchecked     bool      // results are not compared with want
	x             []float64 // data before the launch
	got           []float64 // data after the launch
	words         []uint32  // bits of got
	want          []float64
	tolerance     float64
	scale         float64 // reference size for the rounding error; 0 means the root mean square of want
}

// derivative declares that some gradients are gradients of loss.
type derivative struct {
	loss  func() float64
	pairs []pair
}

// pair is a variable and its gradient by the reference.
type pair struct{ x, gradient []float64 }

// fixture holds the state of one case.
type fixture struct {
	shape       shape
	random      *rand.Rand
	program     *tensor.Program
	batch       *tensor.Batch
	counts      tensor.Counts
	example     []uint32
	tower       []uint32
	seed        uint64
	step        uint32
	offset      []int // first token row of each sequence, then the number of rows
	sampled     []int // first sampled row of each sequence, then the number of rows
	operands    []*operand
	gradients   int // number of words in the region Gradients
	checks      []func() error
	derivatives []derivative
	worst       float64 // largest error as a fraction of the tolerance
}

func newFixture(c Case) *fixture {
	h := fnv.New64()
	h.Write([]byte(c.name))
	r := &fixture{shape: c.shape, random: rand.New(rand.NewPCG(h.Sum64(), 1)), program: tensor.NewProgram()}
	r.offset, r.sampled = []int{0}, []int{0}
	var position, sequence []int
	for b, n := range c.shape.lengths {
		for i := range n {
			position, sequence = append(position, i), append(sequence, b)
		}
		r.offset = append(r.offset, r.offset[b]+n)
		r.sampled = append(r.sampled, r.sampled[b]+min(n, c.shape.k))
		r.example = append(r.example, r.random.Uint32())
		r.tower = append(r.tower, r.random.Uint32()&1)
	}
	n := len(c.shape.lengths)
	r.seed, r.step = r.random.Uint64(), r.random.Uint32()
	// Fewer examples than sequences if there are several sequences, so that a kernel which confuses the two
	// axes fails.
	r.counts = tensor.Counts{Tokens: int32(r.offset[n]), Sequences: int32(n), Sampled: int32(r.sampled[n]),
		Examples: int32(max(1, n/2)), Targets: int32(max(1, r.offset[n]/3)), Pooled: int32(max(1, r.offset[n]/5)),
		Longest: int32(slices.Max(c.shape.lengths))}
	r.batch = tensor.NewBatch(r.program, r.offset[n]+unusedRows, n+unusedRows)
	integers(r, r.program.Counts, r.counts.Words())
	integers(r, r.batch.Position, position)
	integers(r, r.batch.Sequence, sequence)
	integers(r, r.batch.Offset, r.offset)
	integers(r, r.batch.SampleOffset, r.sampled)
	integers(r, r.batch.Example, r.example)
	integers(r, r.batch.Tower, r.tower)
	integers(r, r.batch.Random, []uint32{uint32(r.seed), uint32(r.seed >> 32), r.step})
	return r
}

// targets sets the number of rows in use on the axis Targets.
func (r *fixture) targets(n int) {
	r.counts.Targets = int32(n)
	for _, o := range r.operands {
		if o.Tensor == r.program.Counts {
			o.x[tensor.Targets] = float64(n)
		}
	}
}

func integers[T int | int32 | uint32](r *fixture, t *tensor.Tensor, x []T) *operand {
	o := &operand{Tensor: t, rows: len(x), columns: 1, ints: true}
	for _, v := range x {
		o.x = append(o.x, float64(v))
	}
	r.operands = append(r.operands, o)
	return o
}

// used returns the number of rows in use of an axis.
func (r *fixture) used(axis tensor.Axis) int { return int(r.counts.Words()[axis]) }

// in declares an input on the axis. The rows in use hold random numbers, the unused rows garbage.
func (r *fixture) in(axis tensor.Axis, width int) *operand {
	return r.operand(r.program.Input("input", axis, r.used(axis)+unusedRows, width), r.used(axis), width)
}

// fixed declares an input of fixed size, such as a parameter.
func (r *fixture) fixed(shape ...int) *operand {
	t := r.program.Input("parameter", tensor.Fixed, shape...)
	return r.operand(t, shape[0], t.Width())
}

// list declares an input of integers, one per row.
func (r *fixture) list(axis tensor.Axis, x []int) *operand {
	return integers(r, r.program.Input("integers", axis, r.used(axis)+unusedRows, 1), x)
}

// columns declares a table of the given width that the kernel reads. Only columns 0 to used−1 hold data.
func (r *fixture) columns(rows, width, used int) *operand {
	return r.operand(r.program.Input("table", tensor.Fixed, rows, width), rows, used)
}

// out declares an output.
func (r *fixture) out(axis tensor.Axis, width int) *operand {
	return r.output(r.program.Temp("output", axis, r.used(axis)+unusedRows, width), r.used(axis), width)
}

// outFixed declares an output of fixed size.
func (r *fixture) outFixed(shape ...int) *operand {
	t := r.program.Temp("output", tensor.Fixed, shape...)
	return r.output(t, shape[0], t.Width())
}

// outColumns declares a table of the given width that the kernel writes. Only columns 0 to used−1 are
// compared.
func (r *fixture) outColumns(rows, width, used int) *operand {
	return r.output(r.program.Temp("table", tensor.Fixed, rows, width), rows, used)
}

func (r *fixture) output(t *tensor.Tensor, rows, columns int) *operand {
	r.program.Keep(t)
	o := &operand{Tensor: t, rows: rows, columns: columns, written: true}
	r.operands = append(r.operands, o)
	return o
}

// inOut declares an output that the kernel also reads. It is outside the arena, because a tensor in
// the arena must be written before it is read.
func (r *fixture) inOut(axis tensor.Axis, width int) *operand {
	n := r.used(axis)
	return r.persistent(axis, n, n+unusedRows, width)
}

func (r *fixture) inOutFixed(shape ...int) *operand {
	return r.persistent(tensor.Fixed, shape[0], shape...)
}

func (r *fixture) persistent(axis tensor.Axis, used int, shape ...int) *operand {
	t := tensor.At(tensor.Gradients, r.gradients, "both", shape...)
	t.Rows = axis
	r.gradients += (t.Words() + 2*guardWords) / guardWords * guardWords
	o := r.operand(t, used, t.Width())
	o.written = true
	return o
}

func (r *fixture) operand(t *tensor.Tensor, rows, columns int) *operand {
	o := &operand{Tensor: t, rows: rows, columns: columns}
	o.x = make([]float64, rows*columns)
	o.set(func(int) float64 { return r.random.NormFloat64() })
	r.operands = append(r.operands, o)
	return o
}

// set replaces the data with f, rounded to float32.
func (o *operand) set(f func(i int) float64) {
	for i := range o.x {
		o.x[i] = float64(float32(f(i)))
	}
}

// row returns row i of the data.
func (o *operand) row(i int) []float64 { return o.x[i*o.columns : (i+1)*o.columns] }

// launch completes the program with a launch of k. It panics if the kernel's declarations of its outputs
// differ from the case's. Programs rely on these declarations when they reuse memory.
func (r *fixture) launch(k tensor.Kernel) {
	reads, writes := tensor.Reads(k), tensor.Writes(k)
	for _, o := range r.operands {
		switch {
		case o.written != slices.Contains(writes, o.Tensor):
			panic(fmt.Sprintf("conformance: %s: %v is written: %v, but the kernel declares %v", tensor.Name(k),
				o.Tensor, o.written, !o.written))
		case o.written && o.Region == tensor.Gradients && !slices.Contains(reads, o.Tensor):
			panic(fmt.Sprintf("conformance: %s: %v is read and written, but the kernel does not declare it as read",
				tensor.Name(k), o.Tensor))
		}
	}
	r.program.Segment("case")
	r.program.Launch(k)
	r.program.Finish()
}

// fill returns the content of a region before the launch.
func (r *fixture) fill(s tensor.Region) []uint32 {
	n := r.program.Words(s)
	if s == tensor.Gradients {
		n = r.gradients
	}
	mem := make([]uint32, n+guardWords)
	for i := range mem {
		mem[i] = garbage
	}
	for _, o := range r.operands {
		if o.Region != s {
			continue
		}
		for i, v := range o.x {
			w := math.Float32bits(float32(v))
			if o.ints {
				w = uint32(int64(v))
			}
			mem[o.wordOffset(i)] = w
		}
	}
	return mem
}

// wordOffset returns the word offset of element i of the data.
func (o *operand) wordOffset(i int) int { return o.Offset + i/o.columns*o.Width() + i%o.columns }

// collect reads the outputs from a region.
func (r *fixture) collect(s tensor.Region, mem []uint32) {
	for _, o := range r.operands {
		if o.Region != s || !o.written {
			continue
		}
		o.got, o.words = nil, nil
		for i := range o.rows * o.columns {
			w := mem[o.wordOffset(i)]
			v := float64(math.Float32frombits(w))
			if o.ints {
				v = float64(int32(w))
			}
			o.got, o.words = append(o.got, v), append(o.words, w)
		}
	}
}

func (r *fixture) mayWrite(s tensor.Region, word int) bool {
	return slices.ContainsFunc(r.operands, func(o *operand) bool {
		return o.Region == s && o.written && word >= o.Offset && word < o.Offset+o.Words()
	})
}

// bits returns the results as bits.
func (r *fixture) bits() []uint32 {
	var all []uint32
	for _, o := range r.operands {
		all = append(all, o.words...)
	}
	return all
}
