//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"sync"
	"unsafe"
)

const (
	// stagingBytes is the number of bytes in a staging buffer.
	stagingBytes = 8 << 20
	// stagingSteps is the maximum number of pending copies and fills. It is bounded because a new copy may
	// be compared with all of them.
	stagingSteps = 1024
)

// transfers copies data between the host and the device. It gathers uploads in one of two staging
// buffers and submits them when the buffer is full, and before the next program or download. A batch that
// fits into the buffer therefore needs one submission, and is uploaded while the previous batch is
// computed.
type transfers struct {
	device           *gpu
	mu               sync.Mutex
	stages           [2]stage
	current          int    // index of the stage that gathers uploads
	uploaded         uint64 // timeline value at which all submitted uploads are complete
	downloadBlock    *block
	downloadCommands *commands
}

// stage is a staging buffer and its pending copies.
type stage struct {
	block     *block
	used      int64
	steps     []C.shim_step
	commands  *commands
	submitted bool // true if the stage must wait for its fence before reuse
}

func (t *transfers) open(d *gpu) error {
	t.device = d
	var err error
	for i := range t.stages {
		if t.stages[i].block, err = d.heap.allocate(stagingBytes, true); err != nil {
			return err
		}
		if t.stages[i].commands, err = d.newCommands(); err != nil {
			return err
		}
	}
	if t.downloadBlock, err = d.heap.allocate(stagingBytes, true); err != nil {
		return err
	}
	t.downloadCommands, err = d.newCommands()
	return err
}

func (t *transfers) close() {
	for _, s := range t.stages {
		s.commands.free()
	}
	t.downloadCommands.free()
}

// upload copies words to the staging buffer and queues a copy from this buffer to m.
func (t *transfers) upload(m *memory, offset int, words []uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(words) > 0 {
		s, err := t.availableStage()
		if err != nil {
			return err
		}
		n := min(len(words), int((stagingBytes-s.used)/4))
		copy(unsafe.Slice((*uint32)(unsafe.Add(s.block.mapped, s.used)), n), words)
		s.steps = append(s.steps, C.shim_step{kind: C.SHIM_COPY, barrier: t.overlaps(s, m, offset, n),
			from: s.block.buffer, to: m.block.buffer,
			from_offset: C.uint64_t(s.used), to_offset: C.uint64_t(m.offset + 4*int64(offset)),
			bytes: C.uint64_t(4 * n)})
		s.used += 4 * int64(n)
		words, offset = words[n:], offset+n
	}
	return nil
}

// overlaps returns 1 if a pending copy or fill since the last barrier writes to the given range,
// otherwise 0.
func (t *transfers) overlaps(s *stage, m *memory, offset, n int) C.uint32_t {
	lo := C.uint64_t(m.offset + 4*int64(offset))
	hi := lo + C.uint64_t(4*n)
	for i := len(s.steps) - 1; i >= 0; i-- {
		o := &s.steps[i]
		if o.to == m.block.buffer && o.to_offset < hi && lo < o.to_offset+o.bytes {
			return 1
		}
		if o.barrier != 0 {
			break
		}
	}
	return 0
}

// fill adds a pending command that fills a memory with a word.
func (t *transfers) fill(m *memory, word uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.availableStage()
	if err != nil {
		return err
	}
	words := max(m.words, 1)
	s.steps = append(s.steps, C.shim_step{kind: C.SHIM_FILL, barrier: t.overlaps(s, m, 0, words), to: m.block.buffer,
		to_offset: C.uint64_t(m.offset), bytes: C.uint64_t(4 * words), word: C.uint32_t(word)})
	return nil
}

// availableStage returns the stage that gathers uploads. If the stage is full, availableStage submits
// it and returns the other stage. It waits until earlier copies of the returned stage are complete.
func (t *transfers) availableStage() (*stage, error) {
	s := &t.stages[t.current]
	if stagingBytes-s.used < 4 || len(s.steps) == stagingSteps {
		if err := t.submit(); err != nil {
			return nil, err
		}
		s = &t.stages[t.current]
	}
	if s.submitted {
		s.submitted = false
		if err := s.commands.wait(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// submit submits the gathered uploads and switches to the other stage.
func (t *transfers) submit() error {
	s := &t.stages[t.current]
	if len(s.steps) == 0 {
		return nil
	}
	if err := s.commands.record(s.steps, 0); err != nil {
		return err
	}
	if err := s.commands.submit(0, 0, t.uploaded+1); err != nil {
		return err
	}
	t.uploaded++
	s.steps, s.used, s.submitted = s.steps[:0], 0, true
	t.current = 1 - t.current
	return nil
}

// flush submits the gathered uploads. It returns the value that the timeline must reach before a
// program may depend on the uploads.
func (t *transfers) flush() (uploaded uint64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.submit()
	return t.uploaded, err
}

// download submits the gathered uploads and copies words to the host. The caller must have waited
// for the programs that write the words.
func (t *transfers) download(m *memory, offset int, words []uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.submit(); err != nil {
		return err
	}
	for len(words) > 0 {
		n := min(len(words), stagingBytes/4)
		step := C.shim_step{kind: C.SHIM_COPY, from: m.block.buffer, to: t.downloadBlock.buffer,
			from_offset: C.uint64_t(m.offset + 4*int64(offset)), bytes: C.uint64_t(4 * n)}
		if err := t.downloadCommands.run([]C.shim_step{step}); err != nil {
			return err
		}
		copy(words[:n], unsafe.Slice((*uint32)(t.downloadBlock.mapped), n))
		words, offset = words[n:], offset+n
	}
	return nil
}
