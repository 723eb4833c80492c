//go:build cgo

package vk

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
)

const (
	// blockBytes is the usual size of an allocation from the driver. Allocations are slow and their
	// number is limited, so a block holds several memories.
	blockBytes = 64 << 20
	// grain is the unit of addresses within a block: the largest operand alignment that Vulkan
	// allows a device to require.
	grain = 256
)

// span is a range of bytes in a block.
type span struct{ offset, bytes int64 }

// allocator divides blocks into memories.
type allocator struct {
	allocateBlock func(bytes int64) (*block, error)
	releaseBlock  func(*block) // called when the whole block is free
	mu            sync.Mutex
	blocks        []*block
}

// allocate returns a free range of at least the given number of bytes: the first that is large enough,
// or a range of a new block. A large range gets a block of its own, as does any range for which no
// block of the usual size can be allocated.
func (a *allocator) allocate(bytes int64) (*block, int64, error) {
	bytes = (bytes + grain - 1) / grain * grain
	a.mu.Lock()
	defer a.mu.Unlock()
	size := bytes
	if bytes <= blockBytes/2 {
		for _, b := range a.blocks {
			if at, ok := b.allocate(bytes); ok {
				return b, at, nil
			}
		}
		size = blockBytes
	}
	b, err := a.allocateBlock(size)
	if memoryErr := (*MemoryError)(nil); size > bytes && errors.As(err, &memoryErr) {
		b, err = a.allocateBlock(bytes)
	}
	if err != nil {
		return nil, 0, err
	}
	a.blocks = append(a.blocks, b)
	at, _ := b.allocate(bytes)
	return b, at, nil
}

// allocate takes the given number of bytes from the first free range that is large enough, and
// returns their offset. It returns false if there is none.
func (b *block) allocate(bytes int64) (int64, bool) {
	for i, s := range b.free {
		if s.bytes < bytes {
			continue
		}
		if b.free[i] = (span{s.offset + bytes, s.bytes - bytes}); s.bytes == bytes {
			b.free = slices.Delete(b.free, i, i+1)
		}
		return s.offset, true
	}
	return 0, false
}

// free frees a range. If no other range of the block is in use, it returns the block to the driver
// without holding the lock.
func (a *allocator) free(b *block, offset, bytes int64) {
	if a.markFree(b, offset, (bytes+grain-1)/grain*grain) {
		a.releaseBlock(b)
	}
}

// markFree marks a range as free and joins it with adjacent free ranges. If no other
// range of the block is in use, markFree removes the block from the allocator and returns true.
func (a *allocator) markFree(b *block, offset, bytes int64) (whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(b.free, offset, func(s span, at int64) int { return cmp.Compare(s.offset, at) })
	b.free = slices.Insert(b.free, i, span{offset, bytes})
	for _, at := range []int{i, i - 1} { // join the range with the next range, then with the previous range
		if at >= 0 && at+1 < len(b.free) && b.free[at].offset+b.free[at].bytes == b.free[at+1].offset {
			b.free[at].bytes += b.free[at+1].bytes
			b.free = slices.Delete(b.free, at+1, at+2)
		}
	}
	if whole = len(b.free) == 1 && b.free[0].bytes == b.bytes; whole {
		a.blocks = slices.DeleteFunc(a.blocks, func(o *block) bool { return o == b })
	}
	return whole
}

// memory is a range of a block.
type memory struct {
	device *gpu
	block  *block
	offset int64 // offset in the block, in bytes
	words  int

	queue int // queue of the programs that run in this arena; 0 before the first program

	mu      sync.Mutex
	scratch *memory // scratch memory of the programs that run in this arena
	mirror  *mirror // mirror of the programs' outputs, or nil
}

// Allocate returns zeroed memory of the device.
func (d *gpu) Allocate(words int) (tensor.Memory, error) {
	if words < 0 || words > math.MaxInt/8 { // the size in bytes must not overflow
		return nil, fmt.Errorf("vk: allocating %d words of memory: expected 0 to %d", words, math.MaxInt/8)
	}
	m, err := d.allocate(max(words, 1))
	if err != nil {
		return nil, err
	}
	m.words = words
	if err := d.transfers.fill(m, 0); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// allocate returns memory with undefined content.
func (d *gpu) allocate(words int) (*memory, error) {
	if err := d.checkOpen(); err != nil {
		return nil, err
	}
	b, at, err := d.memory.allocate(4 * int64(words))
	if err != nil {
		return nil, err
	}
	return &memory{device: d, block: b, offset: at, words: words}, nil
}

func (m *memory) Words() int { return m.words }

// Write copies words to the device. Programs that run afterwards read them.
func (m *memory) Write(offset int, words []uint32) error {
	if err := m.checkRange(offset, len(words)); err != nil {
		return err
	}
	m.mirror.setValid(nil)
	return m.device.transfers.upload(m, offset, words)
}

// Read copies words from the device, after all earlier writes. The caller must have waited for the
// programs that write these words.
func (m *memory) Read(offset int, words []uint32) error {
	if err := m.checkRange(offset, len(words)); err != nil {
		return err
	}
	if m.mirror.read(offset, words) {
		return nil
	}
	return m.device.transfers.download(m, offset, words)
}

// checkRange returns an error if n words from the offset exceed the memory, or if the memory was
// freed or its device is not usable.
func (m *memory) checkRange(offset, n int) error {
	if err := m.device.checkOpen(); err != nil {
		return err
	}
	if m.block == nil {
		return errors.New("vk: the memory was freed")
	}
	if offset < 0 || offset+n > m.words {
		return fmt.Errorf("vk: %d words at offset %d: expected a range within %d words", n, offset, m.words)
	}
	return nil
}

// Free frees the memory and drops the recordings that use it.
func (m *memory) Free() {
	if m.block == nil || m.device.shim == nil || m.device.silent() {
		return
	}
	m.device.dropRecordingsOf(m)
	if m.scratch != nil {
		m.scratch.Free()
	}
	if m.mirror != nil {
		m.device.heap.release(m.mirror.block)
	}
	m.device.memory.free(m.block, m.offset, 4*int64(max(m.words, 1)))
	m.block = nil
}

// scratchOf returns the scratch memory of the arena m, with at least the given number of words.
func (m *memory) scratchOf(words int) (*memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.scratch != nil && m.scratch.words >= words {
		return m.scratch, nil
	}
	if m.scratch != nil {
		m.scratch.Free()
		m.scratch = nil
	}
	var err error
	m.scratch, err = m.device.scratch(words)
	return m.scratch, err
}

// scratch allocates memory that programs write before they read it. If the validation layer is
// active, scratch fills the memory with NaN to reveal reads of undefined content.
func (d *gpu) scratch(words int) (*memory, error) {
	m, err := d.allocate(words)
	if err != nil || d.instance.debug == nil {
		return m, err
	}
	if err := d.transfers.fill(m, math.Float32bits(float32(math.NaN()))); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}
