//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// executable is a program compiled to steps. The steps are recorded into command buffers for each set
// of memories.
type executable struct {
	device       *gpu
	program      *tensor.Program
	steps        []step
	scratchWords int // scratch memory in words
	constants    *memory
}

// maxRecordings is the maximum number of recordings kept for a device, unless more of them are running.
const maxRecordings = 256

// Prepare compiles a program to steps, and the shaders that the steps need.
func (d *gpu) Prepare(p *tensor.Program) (tensor.Executable, error) {
	return d.prepare(p, false)
}

// Scratch returns the number of words of scratch memory that a program needs. Programs in the same
// arena share the scratch memory. Scratch fails if an operand or a memory is too large for the device.
func (d *gpu) Scratch(p *tensor.Program) (words int, err error) {
	r := &recorder{device: d, program: p, planning: true}
	err = r.record()
	return r.scratchRing.size, err
}

// prepare implements Prepare. If noDefer is set, every step of a launch is recorded before the next
// launch.
func (d *gpu) prepare(p *tensor.Program, noDefer bool) (*executable, error) {
	if err := d.checkOpen(); err != nil {
		return nil, err
	}
	r := &recorder{device: d, program: p, noDefer: noDefer}
	if err := r.record(); err != nil {
		return nil, err
	}
	x := &executable{device: d, program: p, steps: r.steps, scratchWords: r.scratchRing.size}
	if len(r.constants) > 0 {
		var err error
		if x.constants, err = d.constantMemory(r.constants); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Run runs the segments [from, to). It queues the next segment while the current segment computes,
// and checks ctx between segments.
func (x *executable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.RunConcurrently(ctx, []tensor.Binding{mem}, from, to)
}

// RunConcurrently runs the segments [from, to) in several sets of memories. A command buffer contains each
// step for all sets before the next step, so that small dispatches fill the device together.
func (x *executable) RunConcurrently(ctx context.Context, mems []tensor.Binding, from, to int) error {
	r, err := x.recording(mems)
	if err != nil {
		return err
	}
	defer x.device.release(r)
	uploaded, err := x.device.transfers.flush()
	if err != nil {
		return err
	}
	for _, b := range r.bound {
		b.mirror().setValid(nil)
	}
	// After an error, submitted work must still be waited for.
	var running *commands
	for i := from; i < to && err == nil; i++ {
		if err = ctx.Err(); err != nil {
			break
		}
		next := r.segments[i].commands
		if next == nil {
			continue
		}
		if err = next.submit(r.queue, uploaded, 0); err == nil {
			running, next = next, running
			err = next.wait()
		}
	}
	if e := running.wait(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if from < to && to == len(r.segments) && len(r.outputs) > 0 {
		for _, b := range r.bound {
			b.mirror().setValid(r.outputs)
		}
	}
	if r.profile != nil {
		return addTimes(r.profile, r.segments[from:to])
	}
	return nil
}

// Inspect runs the segments [from, to) launch by launch, and calls visit after each launch.
func (x *executable) Inspect(ctx context.Context, mem tensor.Binding, from, to int,
	visit func(tensor.Kernel) error) error {
	x, err := x.device.prepare(x.program, true)
	if err != nil {
		return err
	}
	b, err := x.bind(mem)
	if err != nil {
		return err
	}
	defer b.free()
	c, err := x.device.newCommands()
	if err != nil {
		return err
	}
	defer c.free()
	b.mirror().setValid(nil)
	if _, err := x.device.transfers.flush(); err != nil { // the uploads go to the same queue as the launches
		return err
	}
	for _, s := range x.program.Segments[from:to] {
		for i := s.From; i < s.To; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			lo, hi := x.stepsOf(i, i+1)
			if err := c.run(b.steps[lo:hi]); err != nil {
				return err
			}
			if err := visit(x.program.Launches[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// stepsOf returns the range [lo, hi) of the steps that belong to the launches [from, to).
func (x *executable) stepsOf(from, to int) (lo, hi int) {
	firstStep := func(launch int) int {
		i, _ := slices.BinarySearchFunc(x.steps, launch, func(s step, launch int) int { return s.launch - launch })
		return i
	}
	return firstStep(from), firstStep(to)
}

// recording is a program recorded for the sets of memories of one call of RunConcurrently.
type recording struct {
	executable *executable
	bindings   []tensor.Binding
	bound      []*boundProgram
	queue      int // index of the queue
	segments   []segment
	profile    *tensor.KernelTimes // nil if the segments are not timed
	outputs    []mirroredRange     // outputs that the last segment copies to the arenas' mirrors
	runs       int                 // number of active runs
	dropped    bool                // true if the recording is to be freed when the runs end
}

// segment holds the commands of a program's segment.
type segment struct {
	commands *commands // nil if the segment has no steps
	watch    *stopwatch
}

func (r *recording) free() {
	for _, s := range r.segments {
		s.commands.free()
		s.watch.free()
	}
	for _, b := range r.bound {
		b.free()
	}
}

// uses reports whether the recording accesses the memory m.
func (r *recording) uses(m *memory) bool {
	return slices.ContainsFunc(r.bound, func(b *boundProgram) bool { return b.uses(m) })
}

// recording returns an idle recording of the program for the given memories, and creates one if there
// is none.
func (x *executable) recording(mems []tensor.Binding) (*recording, error) {
	d := x.device
	if err := d.checkOpen(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	for i := len(d.recordings) - 1; i >= 0; i-- {
		if r := d.recordings[i]; r.executable == x && slices.Equal(r.bindings, mems) && r.runs == 0 {
			d.recordings = append(slices.Delete(d.recordings, i, i+1), r)
			r.runs++
			d.mu.Unlock()
			return r, nil
		}
	}
	profile := d.profile
	d.mu.Unlock()
	r := &recording{executable: x, bindings: slices.Clone(mems), profile: profile, runs: 1}
	for _, mem := range mems {
		b, err := x.bind(mem)
		if err != nil {
			r.free()
			return nil, err
		}
		r.bound = append(r.bound, b)
	}
	if profile == nil { // kernels that are timed must not run concurrently
		r.queue = d.queueOf(r.bound[0].memory[tensor.Arena])
	}
	for i := range x.program.Segments {
		if err := r.recordSegment(i); err != nil {
			r.free()
			return nil, err
		}
	}
	d.mu.Lock()
	excess := len(d.recordings) + 1 - maxRecordings
	d.mu.Unlock()
	d.dropRecordings(func(old *recording) bool {
		drop := excess > 0 && old.runs == 0
		if drop {
			excess--
		}
		return drop
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recordings = append(d.recordings, r)
	return r, nil
}

// recordSegment records segment i, and for the last segment also the copies of the outputs to host
// memory.
func (r *recording) recordSegment(i int) (err error) {
	r.segments = append(r.segments, segment{})
	x, s := r.executable, &r.segments[i]
	lo, hi := x.stepsOf(x.program.Segments[i].From, x.program.Segments[i].To)
	if lo == hi {
		return nil
	}
	d, steps := x.device, make([]C.shim_step, 0, (hi-lo)*len(r.bound))
	for step := lo; step < hi; step++ {
		for n, b := range r.bound {
			s := b.steps[step]
			s.joins = C.uint32_t(boolWord(n > 0))
			steps = append(steps, s)
		}
	}
	if i == len(x.program.Segments)-1 && r.profile == nil {
		r.outputs = mirroredOutputs(x.program)
		for _, b := range r.bound {
			arena := b.memory[tensor.Arena]
			if arena == nil || len(r.outputs) == 0 {
				continue
			}
			m, err := arena.mirrorOf()
			if err != nil {
				return err
			}
			steps = append(steps, m.steps(arena, r.outputs)...)
		}
	}
	if s.commands, err = d.newCommands(); err != nil {
		return err
	}
	var queries C.handle
	if r.profile != nil {
		if s.watch, err = d.newStopwatch(x.steps[lo:hi]); err != nil {
			return err
		}
		queries = s.watch.queries
	}
	return s.commands.record(steps, queries)
}

// release decrements the number of active runs, and frees a dropped recording after its last run.
func (d *gpu) release(r *recording) {
	d.mu.Lock()
	r.runs--
	done := r.runs == 0 && r.dropped
	d.mu.Unlock()
	if done {
		r.free()
	}
}

// constantMemory returns memory that holds the words. Programs with the same words share the
// memory.
func (d *gpu) constantMemory(words []uint32) (*memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := fmt.Sprint(words)
	if m := d.constants[key]; m != nil {
		return m, nil
	}
	m, err := d.allocate(len(words))
	if err != nil {
		return nil, err
	}
	if err := m.Write(0, words); err != nil {
		d.memory.free(m.block, m.offset, 4*int64(m.words)) // no submission uses the memory
		return nil, err
	}
	d.constants[key] = m
	return m, nil
}

// dropRecordingsOf drops all recordings that use a memory.
func (d *gpu) dropRecordingsOf(m *memory) {
	d.dropRecordings(func(r *recording) bool { return r.uses(m) })
}

// dropRecordings removes the recordings for which match returns true. It frees the unused ones
// without holding the device's lock; release frees the others after their last run.
func (d *gpu) dropRecordings(match func(*recording) bool) {
	var unused []*recording
	d.mu.Lock()
	d.recordings = slices.DeleteFunc(d.recordings, func(r *recording) bool {
		if !match(r) {
			return false
		}
		if r.dropped = true; r.runs == 0 {
			unused = append(unused, r)
		}
		return true
	})
	d.mu.Unlock()
	for _, r := range unused {
		r.free()
	}
}
