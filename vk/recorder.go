//go:build cgo

package vk

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Regions of a recording beside those that a program is handed.
const (
	scratchRegion = tensor.Regions + iota // memory of one launch, shared by all that run in an arena
	constantSpace                         // what a program brings itself
	dummySpace                            // stands in for operands that are nil
	regions
)

// step is one command of a program: a dispatch, or the zeroing of an operand.
type step struct {
	dispatch
	pipeline *pipeline
	barrier  bool // what came before is finished first
	launch   int  // of the program
}

// dispatch is one launch of a shader. Binding 0 holds the batch's counts; the
// operands follow.
type dispatch struct {
	shader    string   // base name of its source; "" zeroes the operand
	constants []uint32 // specialisation constants
	push      []uint32 // push constants
	groups    int      // workgroups; the shader's group() may run a little beyond
	subgroup  uint32   // required size of a subgroup; 0: the driver's choice
	deferred  bool     // nothing in the launch waits for it
	operands  []operand
}

// operand is a tensor and what is done to it.
type operand struct {
	*tensor.Tensor
	reads, writes bool
}

// Operands that are nil are bound to these, and the shader does not touch them.
// The batch's counts, too, may be missing: all zero then.
var (
	nothingRead    = tensor.At(dummySpace, 0, "nothing", grain/4)
	nothingWritten = tensor.At(dummySpace, grain/4, "nothing", grain/4)
)

// read is an operand that is read; the tensor may be nil.
func read(t *tensor.Tensor) operand {
	if t == nil {
		t = nothingRead
	}
	return operand{t, true, false}
}

// write is an operand that is written; the tensor may be nil.
func write(t *tensor.Tensor) operand {
	if t == nil {
		t = nothingWritten
	}
	return operand{t, false, true}
}

// update is an operand that is read and written; the tensor may be nil.
func update(t *tensor.Tensor) operand {
	o := write(t)
	o.reads = true
	return o
}

// recorder turns the launches of a program into steps.
type recorder struct {
	device    *gpu
	program   *tensor.Program
	steps     []step
	launch    int // that is being recorded
	memory    ring
	constants []uint32
	open      []operand // accesses since the last barrier
	deferred  []step
	prompt    bool // nothing is deferred
	planning  bool // no pipelines are built
	err       error
}

// record records the launches of the program.
func (r *recorder) record() error {
	for _, s := range r.program.Segments {
		for r.launch = s.From; r.launch < s.To; r.launch++ {
			r.memory.launch()
			k := r.program.Launches[r.launch]
			if !record(r, k) {
				return fmt.Errorf("vk: no kernel %q", tensor.Name(k))
			}
			if r.err != nil {
				return r.err
			}
		}
		r.launch = s.To - 1
		r.flush()
		r.open = r.open[:0] // a segment begins with a barrier
	}
	return r.fits()
}

// fits tells if the program's own memories can be had in one piece each.
func (r *recorder) fits() error {
	limit := r.device.limits.maxBlock
	for _, m := range []struct {
		what  string
		words int
	}{{"activations", r.program.Words(tensor.Arena)}, {"inputs", r.program.Words(tensor.Inputs)},
		{"intermediate sums", r.memory.size}} {
		if bytes := 4 * int64(m.words); bytes > limit {
			return fmt.Errorf("%s for %s, of which the device %s gives at most %s in one piece",
				mebibytes(bytes), m.what, r.device.physical.info.Name, mebibytes(limit))
		}
	}
	return nil
}

// dispatch appends a launch of a shader.
func (r *recorder) dispatch(d dispatch) {
	if d.groups == 0 || r.err != nil {
		return
	}
	if len(d.push) > pushWords {
		panic(fmt.Sprintf("vk: %s: %d words of push constants", d.shader, len(d.push)))
	}
	d.operands = append([]operand{read(r.program.Counts)}, d.operands...)
	if r.err = r.device.takes(d); r.err != nil {
		return
	}
	var p *pipeline
	if !r.planning {
		if p, r.err = r.device.pipelines.get(d.shader, d.constants, d.subgroup, len(d.operands)); r.err != nil {
			return
		}
	}
	if d.deferred {
		r.later(step{dispatch: d, pipeline: p})
	} else {
		r.append(step{dispatch: d, pipeline: p})
	}
}

// takes tells if a dispatch is within the device's limits.
func (d *gpu) takes(s dispatch) error {
	for _, o := range s.operands {
		if bytes := 4 * int64(o.Words()); bytes > d.limits.maxRange {
			return fmt.Errorf("%s: %v has %s, an operand on the device %s has at most %s",
				s.shader, o.Tensor, mebibytes(bytes), d.physical.info.Name, mebibytes(d.limits.maxRange))
		}
	}
	if _, y := d.grid(s.groups); y > d.limits.maxGroups[1] {
		return fmt.Errorf("%s needs %d workgroups, more than the device %s launches at once", s.shader,
			s.groups, d.physical.info.Name)
	}
	return nil
}

// grid folds workgroups into as few lines as will do, all of one length.
func (d *gpu) grid(groups int) (x, y int) {
	y = blocks(groups, d.limits.maxGroups[0])
	return blocks(groups, y), y
}

// zero clears a tensor.
func (r *recorder) zero(t *tensor.Tensor) {
	if r.err == nil && t.Words() > 0 {
		r.append(step{dispatch: dispatch{operands: []operand{write(t)}}})
	}
}

// append places a barrier where an operand overlaps an access that is not
// finished, one of the two a write. What was deferred goes behind the barrier,
// or first where the step depends on it.
func (r *recorder) append(s step) {
	if slices.ContainsFunc(r.deferred, s.follows) {
		r.flush()
	}
	if s.barrier = s.conflicts(r.open); s.barrier {
		r.open = r.open[:0]
		for _, d := range r.deferred {
			d.barrier, s.barrier = s.barrier, false
			r.place(d)
		}
		r.deferred = r.deferred[:0]
	}
	r.place(s)
}

func (r *recorder) place(s step) {
	s.launch = r.launch
	r.open = append(r.open, s.operands...)
	r.steps = append(r.steps, s)
}

// later is append for a step that nothing waits for: the last stage of a sum. It
// waits for the next barrier that is needed anyway.
func (r *recorder) later(s step) {
	if r.prompt {
		r.append(s)
		return
	}
	if slices.ContainsFunc(r.deferred, s.follows) {
		r.flush()
	}
	r.deferred = append(r.deferred, s)
}

// flush places what was deferred: at the end of a segment at the latest.
func (r *recorder) flush() {
	for i, d := range r.deferred {
		if d.barrier = i == 0 && len(r.open) > 0; d.barrier {
			r.open = r.open[:0]
		}
		r.place(d)
	}
	r.deferred = r.deferred[:0]
}

// follows tells if s must wait for p.
func (s step) follows(p step) bool { return s.conflicts(p.operands) }

func (s step) conflicts(with []operand) bool {
	return slices.ContainsFunc(s.operands, func(o operand) bool { return slices.ContainsFunc(with, o.conflicts) })
}

func (o operand) conflicts(p operand) bool {
	return (o.writes || p.writes) && o.Region == p.Region && o.Offset < p.Offset+p.Words() &&
		p.Offset < o.Offset+o.Words()
}

// scratch is memory for the dispatches of the launch that is being recorded,
// its contents undefined.
func (r *recorder) scratch(shape ...int) *tensor.Tensor {
	t := tensor.At(scratchRegion, 0, "scratch", shape...)
	t.Offset = r.memory.take(align(t.Words()))
	return t
}

// constant is memory that holds the words for as long as the program lives.
func (r *recorder) constant(words []uint32) *tensor.Tensor {
	t := tensor.At(constantSpace, len(r.constants), "constant", len(words))
	r.constants = append(r.constants, words...)
	r.constants = append(r.constants, make([]uint32, align(len(words))-len(words))...)
	return t
}

// align rounds up to what an operand's offset is a multiple of.
func align(words int) int { return blocks(words, grain/4) * grain / 4 }

// How sumParts treats what it finds: see sumparts.comp.
const (
	assign = iota
	addTo  // y, what the parts add up to
	goOn   // where the sum of the parts before ended
)

// sumParts sets y[0 … n−1] to the sum of count parts of n words each, in their order.
func (r *recorder) sumParts(y, parts *tensor.Tensor, n, count, start int) {
	target := update(y)
	if start == assign {
		target = write(y)
	}
	r.dispatch(dispatch{shader: "sumparts", push: []uint32{uint32(n), uint32(count),
		uint32(start)}, groups: blocks(n, 64),
		operands: []operand{target, read(parts)}, deferred: true})
}

// axis is what a shader's used() takes first.
func axis(t *tensor.Tensor) uint32 { return uint32(t.Rows) }

// blocks is n/size, rounded up.
func blocks(n, size int) int { return (n + size - 1) / size }
