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
	// blockBytes is what is asked of the driver at once: allocations are few
	// and slow there, and their number is limited.
	blockBytes = 64 << 20
	// grain is the unit of addresses within a block: the largest alignment that
	// Vulkan lets a device ask of an operand.
	grain = 256
)

// span is a range of bytes in a block.
type span struct{ offset, bytes int64 }

// allocator cuts blocks into memories.
type allocator struct {
	get    func(bytes int64) (*block, error)
	drop   func(*block) // is called with all of the block free
	mu     sync.Mutex
	blocks []*block
}

// take finds room at the lowest place, in a new block if need be; what is large
// gets a block of its own, and so does what a whole block would be too much for.
func (a *allocator) take(bytes int64) (*block, int64, error) {
	bytes = (bytes + grain - 1) / grain * grain
	a.mu.Lock()
	defer a.mu.Unlock()
	size := bytes
	if bytes <= blockBytes/2 {
		for _, b := range a.blocks {
			if at, ok := b.take(bytes); ok {
				return b, at, nil
			}
		}
		size = blockBytes
	}
	b, err := a.get(size)
	if full := (*MemoryError)(nil); size > bytes && errors.As(err, &full) {
		b, err = a.get(bytes)
	}
	if err != nil {
		return nil, 0, err
	}
	a.blocks = append(a.blocks, b)
	at, _ := b.take(bytes)
	return b, at, nil
}

func (b *block) take(bytes int64) (int64, bool) {
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

// give returns a range. A block that is all free goes back to the driver, which
// others need not wait for.
func (a *allocator) give(b *block, offset, bytes int64) {
	if a.join(b, offset, (bytes+grain-1)/grain*grain) {
		a.drop(b)
	}
}

// join makes a range free again. If that is all of the block, no one has it any more.
func (a *allocator) join(b *block, offset, bytes int64) (whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, _ := slices.BinarySearchFunc(b.free, offset, func(s span, at int64) int { return cmp.Compare(s.offset, at) })
	b.free = slices.Insert(b.free, i, span{offset, bytes})
	for _, at := range []int{i, i - 1} { // join with the next, then with the one before
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
	offset int64 // bytes
	words  int

	queue int // of the programs that run in this arena; 0: of none yet

	mu      sync.Mutex
	scratch *memory // of the programs that run in this arena
	mirror  *mirror // of their outputs, or nil
}

// Allocate returns zeroed memory of the device.
func (d *gpu) Allocate(words int) (tensor.Memory, error) {
	if words < 0 || words > math.MaxInt/8 { // of which there is no number of bytes
		return nil, fmt.Errorf("vk: %d words of memory asked for", words)
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

// allocate is Allocate with undefined contents.
func (d *gpu) allocate(words int) (*memory, error) {
	if err := d.gone(); err != nil {
		return nil, err
	}
	b, at, err := d.memory.take(4 * int64(words))
	if err != nil {
		return nil, err
	}
	return &memory{device: d, block: b, offset: at, words: words}, nil
}

func (m *memory) Words() int { return m.words }

// Write copies words to the device. They are there for every program that runs
// from now on.
func (m *memory) Write(offset int, words []uint32) error {
	if err := m.within(offset, len(words)); err != nil {
		return err
	}
	m.mirror.holds(nil)
	return m.device.transfers.upload(m, offset, words)
}

// Read copies words from the device, after every program that ran.
func (m *memory) Read(offset int, words []uint32) error {
	if err := m.within(offset, len(words)); err != nil {
		return err
	}
	if m.mirror.read(offset, words) {
		return nil
	}
	return m.device.transfers.download(m, offset, words)
}

func (m *memory) within(offset, n int) error {
	if err := m.device.gone(); err != nil {
		return err
	}
	if m.block == nil {
		return errors.New("vk: memory that was freed")
	}
	if offset < 0 || offset+n > m.words {
		return fmt.Errorf("vk: words %d … %d of a memory of %d", offset, offset+n, m.words)
	}
	return nil
}

// Free returns the memory. Programs recorded for it are forgotten.
func (m *memory) Free() {
	if m.block == nil || m.device.shim == nil || m.device.silent() {
		return
	}
	m.device.forget(m)
	if m.scratch != nil {
		m.scratch.Free()
	}
	if m.mirror != nil {
		m.device.heap.drop(m.mirror.block)
	}
	m.device.memory.give(m.block, m.offset, 4*int64(max(m.words, 1)))
	m.block = nil
}

// scratchOf returns the scratch memory that goes with m, of at least that many
// words.
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

// scratch allocates memory for what is written before it is read: NaN until then,
// where the device is watched.
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
