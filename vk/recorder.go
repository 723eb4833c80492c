//go:build cgo

package vk

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Memory regions of a recording, in addition to the program's memory regions.
const (
	scratchRegion  = tensor.Regions + iota // scratch memory of the launches, shared by all programs in an arena
	constantRegion                         // constants of the program
	dummyRegion                            // memory bound for operands that are nil
	regions
)

// step is one command of a program: a dispatch, or the zeroing of an operand.
type step struct {
	dispatch
	pipeline *pipeline
	barrier  bool // true if the step waits for all earlier steps
	launch   int  // index of the launch in the program
}

// dispatch is one Vulkan dispatch of a shader. Binding 0 holds the counts of the batch, and the operands
// have the bindings from 1 on.
type dispatch struct {
	shader    string   // base name of the source file; "" zeroes the operand
	constants []uint32 // specialisation constants
	push      []uint32 // push constants
	groups    int      // number of workgroups; the shader's group() may exceed it slightly
	subgroup  uint32   // required subgroup size; 0 leaves the choice to the driver
	deferred  bool     // true if no other step of the launch waits for this step
	operands  []operand
}

// operand is a tensor with the kinds of access to it.
type operand struct {
	*tensor.Tensor
	reads, writes bool
}

// Operands that are nil are bound to these tensors, which shaders do not access, with one exception: if
// the program has no counts, nothingRead serves as counts of zero.
var (
	nothingRead    = tensor.At(dummyRegion, 0, "nothing", grain/4)
	nothingWritten = tensor.At(dummyRegion, grain/4, "nothing", grain/4)
)

// read returns an operand that is read; the tensor may be nil.
func read(t *tensor.Tensor) operand {
	if t == nil {
		t = nothingRead
	}
	return operand{t, true, false}
}

// write returns an operand that is written; the tensor may be nil.
func write(t *tensor.Tensor) operand {
	if t == nil {
		t = nothingWritten
	}
	return operand{t, false, true}
}

// update returns an operand that is read and written; the tensor may be nil.
func update(t *tensor.Tensor) operand {
	o := write(t)
	o.reads = true
	return o
}

// recorder compiles the launches of a program to steps.
type recorder struct {
	device      *gpu
	program     *tensor.Program
	steps       []step
	launch      int // index of the current launch
	scratchRing ring
	constants   []uint32
	accessed    []operand // operands of the steps since the last barrier
	deferred    []step
	noDefer     bool // true if no step is deferred
	planning    bool // true if no pipelines are compiled
	err         error
}

// record compiles the launches of the program to steps.
func (r *recorder) record() error {
	for _, s := range r.program.Segments {
		for r.launch = s.From; r.launch < s.To; r.launch++ {
			r.scratchRing.launch()
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
		r.accessed = r.accessed[:0] // each segment is submitted separately and begins with a barrier
	}
	return r.checkMemory()
}

// checkMemory returns an error if one of the program's memories exceeds the maximum size of an
// allocation.
func (r *recorder) checkMemory() error {
	limit := r.device.limits.maxBlock
	for _, m := range []struct {
		name  string
		words int
	}{{"activations", r.program.Words(tensor.Arena)}, {"inputs", r.program.Words(tensor.Inputs)},
		{"intermediate sums", r.scratchRing.size}} {
		if bytes := 4 * int64(m.words); bytes > limit {
			return fmt.Errorf("%s for %s: an allocation of the device %s is limited to %s",
				mebibytes(bytes), m.name, r.device.physical.info.Name, mebibytes(limit))
		}
	}
	return nil
}

// dispatch appends a step that dispatches a shader.
func (r *recorder) dispatch(d dispatch) {
	if d.groups == 0 || r.err != nil {
		return
	}
	if len(d.push) > pushWords {
		panic(fmt.Sprintf("vk: %s: %d words of push constants", d.shader, len(d.push)))
	}
	d.operands = append([]operand{read(r.program.Counts)}, d.operands...)
	if r.err = r.device.checkLimits(d); r.err != nil {
		return
	}
	var p *pipeline
	if !r.planning {
		if p, r.err = r.device.pipelines.get(d.shader, d.constants, d.subgroup, len(d.operands)); r.err != nil {
			return
		}
	}
	if d.deferred {
		r.deferStep(step{dispatch: d, pipeline: p})
	} else {
		r.append(step{dispatch: d, pipeline: p})
	}
}

// checkLimits returns an error if a dispatch exceeds the device's limits.
func (d *gpu) checkLimits(s dispatch) error {
	for _, o := range s.operands {
		if bytes := 4 * int64(o.Words()); bytes > d.limits.maxRange {
			return fmt.Errorf("%s: %v has %s, but an operand on the device %s is limited to %s",
				s.shader, o.Tensor, mebibytes(bytes), d.physical.info.Name, mebibytes(d.limits.maxRange))
		}
	}
	if _, y := d.grid(s.groups); y > d.limits.maxGroups[1] {
		return fmt.Errorf("%s needs %d workgroups, more than the device %s allows in a dispatch", s.shader,
			s.groups, d.physical.info.Name)
	}
	return nil
}

// grid returns the size of a grid of y rows of x workgroups that has at least the given number of
// groups and as few rows as possible.
func (d *gpu) grid(groups int) (x, y int) {
	y = blocks(groups, d.limits.maxGroups[0])
	return blocks(groups, y), y
}

// zero appends a step that clears a tensor.
func (r *recorder) zero(t *tensor.Tensor) {
	if r.err == nil && t.Words() > 0 {
		r.append(step{dispatch: dispatch{operands: []operand{write(t)}}})
	}
}

// append adds a step. The step begins with a barrier if its operands conflict with an access since
// the last barrier. In this case, the deferred steps are added after the barrier and before the step. If the
// step depends on a deferred step, all deferred steps are added before the barrier.
func (r *recorder) append(s step) {
	if slices.ContainsFunc(r.deferred, s.follows) {
		r.flush()
	}
	if s.barrier = s.conflicts(r.accessed); s.barrier {
		r.accessed = r.accessed[:0]
		for _, d := range r.deferred {
			d.barrier, s.barrier = s.barrier, false
			r.emit(d)
		}
		r.deferred = r.deferred[:0]
	}
	r.emit(s)
}

// emit adds a step after all other steps, as a step of the current launch.
func (r *recorder) emit(s step) {
	s.launch = r.launch
	r.accessed = append(r.accessed, s.operands...)
	r.steps = append(r.steps, s)
}

// deferStep defers a step, such as the last stage of a sum, until the next barrier that other steps
// need. This saves a barrier.
func (r *recorder) deferStep(s step) {
	if r.noDefer {
		r.append(s)
		return
	}
	if slices.ContainsFunc(r.deferred, s.follows) {
		r.flush()
	}
	r.deferred = append(r.deferred, s)
}

// flush appends the deferred steps.
func (r *recorder) flush() {
	for i, d := range r.deferred {
		if d.barrier = i == 0 && len(r.accessed) > 0; d.barrier {
			r.accessed = r.accessed[:0]
		}
		r.emit(d)
	}
	r.deferred = r.deferred[:0]
}

// follows reports whether s must wait for p, because they access the same memory.
func (s step) follows(p step) bool { return s.conflicts(p.operands) }

func (s step) conflicts(others []operand) bool {
	return slices.ContainsFunc(s.operands, func(o operand) bool { return slices.ContainsFunc(others, o.conflicts) })
}

// conflicts reports whether o and p overlap and at least one of them is written.
func (o operand) conflicts(p operand) bool {
	return (o.writes || p.writes) && o.Region == p.Region && o.Offset < p.Offset+p.Words() &&
		p.Offset < o.Offset+o.Words()
}

// scratch returns a tensor of scratch memory with undefined content, for the dispatches of the
// current launch.
func (r *recorder) scratch(shape ...int) *tensor.Tensor {
	t := tensor.At(scratchRegion, 0, "scratch", shape...)
	t.Offset = r.scratchRing.allocate(align(t.Words()))
	return t
}

// constant returns a tensor that holds the words for the lifetime of the program.
func (r *recorder) constant(words []uint32) *tensor.Tensor {
	t := tensor.At(constantRegion, len(r.constants), "constant", len(words))
	r.constants = append(r.constants, words...)
	r.constants = append(r.constants, make([]uint32, align(len(words))-len(words))...)
	return t
}

// align returns a number of words, rounded up to a multiple of the operand alignment.
func align(words int) int { return blocks(words, grain/4) * grain / 4 }

// Values of the argument start of sumParts, equal to those in sumparts.comp.
const (
	assign = iota // y is the sum of the parts
	addTo         // the sum of the parts is added to y
	resume        // the parts are added to y one after the other, which continues an earlier sum
)

// sumParts sums count parts of n words each, in their order. The argument start (assign, addTo or
// resume) determines how y[0 … n−1] is updated.
func (r *recorder) sumParts(y, parts *tensor.Tensor, n, count, start int) {
	target := update(y)
	if start == assign {
		target = write(y)
	}
	r.dispatch(dispatch{shader: "sumparts", push: []uint32{uint32(n), uint32(count),
		uint32(start)}, groups: blocks(n, 64),
		operands: []operand{target, read(parts)}, deferred: true})
}

// axis returns the number of the tensor's axis for the function used() of shaders.
func axis(t *tensor.Tensor) uint32 { return uint32(t.Rows) }

// blocks returns n/size, rounded up.
func blocks(n, size int) int { return (n + size - 1) / size }
