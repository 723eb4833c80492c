//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// boundProgram holds the steps of a program in the form of the shim, with the memories that the
// steps access.
type boundProgram struct {
	device     *gpu
	memory     [regions]*memory
	ownScratch *memory // scratch memory of a program without an arena
	sets       C.handle
	steps      []C.shim_step
}

// bind returns the program's steps with the address of each operand in the given memories.
func (x *executable) bind(mem tensor.Binding) (*boundProgram, error) {
	b := &boundProgram{device: x.device}
	for region, m := range mem {
		if m == nil {
			continue
		}
		v, ok := m.(*memory)
		if !ok || v.device != x.device {
			return nil, fmt.Errorf("vk: the memory of region %d belongs to another device", region)
		}
		if v.block == nil {
			return nil, fmt.Errorf("vk: the memory of region %d was freed", region)
		}
		b.memory[region] = v
		if need := x.program.Words(tensor.Region(region)); v.words < need {
			return nil, fmt.Errorf("vk: the memory of region %d: expected at least %d words, found %d", region, need,
				v.words)
		}
	}
	b.memory[constantRegion], b.memory[dummyRegion] = x.constants, x.device.dummy
	if x.scratchWords > 0 {
		var err error
		if a := b.memory[tensor.Arena]; a != nil {
			b.memory[scratchRegion], err = a.scratchOf(x.scratchWords)
		} else {
			b.ownScratch, err = x.device.scratch(x.scratchWords)
			b.memory[scratchRegion] = b.ownScratch
		}
		if err != nil {
			return nil, err
		}
	}
	if err := b.resolve(x.steps); err != nil {
		b.free()
		return nil, err
	}
	return b, nil
}

func (b *boundProgram) resolve(steps []step) error {
	d := b.device
	sets, buffers := 0, 0
	for _, s := range steps {
		if s.pipeline != nil {
			sets++
			buffers += len(s.operands)
		}
	}
	if sets > 0 {
		if err := d.check("create descriptors", C.shim_sets_create(d.shim, C.uint32_t(sets),
			C.uint32_t(buffers), &b.sets)); err != nil {
			return err
		}
	}
	var ranges []C.shim_range
	for _, s := range steps {
		ranges = ranges[:0]
		for _, o := range s.operands {
			r, err := b.locate(s.shader, o.Tensor)
			if err != nil {
				return err
			}
			ranges = append(ranges, r)
		}
		c := C.shim_step{}
		if s.barrier {
			c.barrier = 1
		}
		if s.pipeline == nil {
			c.kind, c.to, c.to_offset, c.bytes = C.SHIM_FILL, ranges[0].buffer, ranges[0].offset, ranges[0]._range
			b.steps = append(b.steps, c)
			continue
		}
		c.kind, c.pipeline, c.layout = C.SHIM_DISPATCH, s.pipeline.handle, s.pipeline.layout.pipeline
		if err := d.check("allocate descriptors", C.shim_set_allocate(d.shim, b.sets, s.pipeline.layout.set, &ranges[0],
			C.uint32_t(len(ranges)), &c.set)); err != nil {
			return err
		}
		x, y := d.grid(s.groups)
		c.x, c.y = C.uint32_t(x), C.uint32_t(y)
		c.push_words = C.uint32_t(len(s.push))
		for i, v := range s.push {
			c.push[i] = C.uint32_t(v)
		}
		b.steps = append(b.steps, c)
	}
	return nil
}

// locate returns the range of bytes that a tensor occupies.
func (b *boundProgram) locate(shader string, t *tensor.Tensor) (C.shim_range, error) {
	d := b.device
	m := b.memory[t.Region]
	if m == nil || t.Offset+t.Words() > m.words {
		return C.shim_range{}, fmt.Errorf("vk: %s: no memory for %v in region %d", shader, t, t.Region)
	}
	bytes, offset := 4*int64(t.Words()), m.offset+4*int64(t.Offset)
	if offset%int64(max(d.limits.alignment, 4)) != 0 {
		panic(fmt.Sprintf("vk: %s: %v begins at byte %d", shader, t, offset))
	}
	return C.shim_range{buffer: m.block.buffer, offset: C.uint64_t(offset), _range: C.uint64_t(bytes)}, nil
}

// mirror returns the mirror of the arena's outputs, or nil if the arena has none.
func (b *boundProgram) mirror() *mirror {
	if a := b.memory[tensor.Arena]; a != nil {
		return a.mirror
	}
	return nil
}

func (b *boundProgram) uses(m *memory) bool { return slices.Contains(b.memory[:], m) }

func (b *boundProgram) free() {
	if b.device.silent() {
		return
	}
	if b.sets != 0 {
		C.shim_sets_destroy(b.device.shim, b.sets)
	}
	if b.ownScratch != nil {
		b.device.memory.free(b.ownScratch.block, b.ownScratch.offset, 4*int64(b.ownScratch.words))
	}
}
