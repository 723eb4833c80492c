//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/sftseq/sftseq/internal/tensor"
)

// mirrorBytes is the maximum number of bytes of a program's outputs that the run itself copies to
// the host: losses, logits and counts. Otherwise every read of an output would need a submission.
const mirrorBytes = 256 << 10

// mirror is host memory with copies of the outputs of the program that ran last in an arena.
type mirror struct {
	mu    sync.Mutex
	block *block
	valid []mirroredRange // currently valid ranges
}

// mirroredRange is a range of the arena with its copy in the mirror: the offset in the arena, the
// size, and the offset in the mirror, all in words.
type mirroredRange struct{ from, words, to int }

// mirroredOutputs returns the ranges of a program's outputs that fit into the mirror.
func mirroredOutputs(p *tensor.Program) []mirroredRange {
	var out []mirroredRange
	offset := 0
	for _, t := range p.Kept() {
		if 4*(offset+t.Words()) <= mirrorBytes {
			out = append(out, mirroredRange{t.Offset, t.Words(), offset})
			offset += t.Words()
		}
	}
	return out
}

// mirrorOf returns the mirror of the arena m, which it creates on first use.
func (m *memory) mirrorOf() (*mirror, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mirror == nil {
		b, err := m.device.heap.allocate(mirrorBytes, true)
		if err != nil {
			return nil, err
		}
		m.mirror = &mirror{block: b}
	}
	return m.mirror, nil
}

// steps returns the commands that copy the outputs from the arena.
func (m *mirror) steps(arena *memory, out []mirroredRange) []C.shim_step {
	var steps []C.shim_step
	for i, c := range out {
		s := C.shim_step{kind: C.SHIM_COPY, from: arena.block.buffer, to: m.block.buffer,
			bytes:       C.uint64_t(4 * c.words),
			from_offset: C.uint64_t(arena.offset + 4*int64(c.from)), to_offset: C.uint64_t(4 * c.to)}
		if i == 0 {
			s.barrier = 1 // wait for the outputs
		}
		steps = append(steps, s)
	}
	return steps
}

// setValid sets the valid ranges of the mirror: none when a run starts or the host writes to the arena,
// and the run's outputs when the run ends.
func (m *mirror) setValid(out []mirroredRange) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.valid = out
}

// read copies words from the given offset of the arena. It returns false if no valid
// range holds all of them.
func (m *mirror) read(offset int, words []uint32) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.valid {
		if c.from <= offset && offset+len(words) <= c.from+c.words {
			at := unsafe.Add(m.block.mapped, 4*(c.to+offset-c.from))
			copy(words, unsafe.Slice((*uint32)(at), len(words)))
			return true
		}
	}
	return false
}
