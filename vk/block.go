//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	vulkan "github.com/vulkan-go/vulkan"
)

// block is memory allocated from the driver, with one buffer that covers the whole block.
type block struct {
	buffer, memory C.handle
	bytes          int64
	memoryType     uint32         // index into the memory types of the device
	mapped         unsafe.Pointer // address for the host; nil without access
	free           []span         // free ranges, sorted by offset
}

// heap holds the blocks that were allocated from the driver and not yet returned.
type heap struct {
	device *gpu
	mu     sync.Mutex
	blocks map[*block]bool
}

// allocate allocates a block of device memory or, if host is set, of memory that both the host and the
// device can access.
func (h *heap) allocate(bytes int64, host bool) (*block, error) {
	d := h.device
	memoryErr := &MemoryError{Device: d.physical.info.Name, Bytes: bytes}
	if limit := d.limits.maxBlock; bytes > limit {
		memoryErr.Limit = limit
		return nil, memoryErr
	}
	b := &block{bytes: bytes, free: []span{{0, bytes}}}
	err := h.create(b, host)
	if err == nil {
		h.mu.Lock()
		h.blocks[b] = true
		h.mu.Unlock()
		return b, nil
	}
	h.destroy(b)
	if errors.Is(err, errOutOfMemory) {
		memoryErr.Free = d.freeBytes(b.memoryType)
		return nil, memoryErr
	}
	return nil, err
}

// create creates the buffer of a block, allocates the memory and binds it to the buffer. If host is
// set, it also maps the memory.
func (h *heap) create(b *block, host bool) error {
	d := h.device
	var need C.uint64_t
	var types C.uint32_t
	if err := d.check("create a buffer", C.shim_buffer_create(d.shim, C.uint64_t(b.bytes), &b.buffer,
		&need, &types)); err != nil {
		return err
	}
	required, preferred := vulkan.MemoryPropertyDeviceLocalBit, vulkan.MemoryPropertyFlagBits(0)
	if host {
		required, preferred = vulkan.MemoryPropertyHostVisibleBit|vulkan.MemoryPropertyHostCoherentBit,
			vulkan.MemoryPropertyHostCachedBit
	}
	b.memoryType = d.physical.memoryType(uint32(types), required, preferred)
	if int64(need) > d.physical.heapBytes(b.memoryType) { // drivers are not required to check the size
		return errOutOfMemory
	}
	if err := d.check("allocate memory", C.shim_memory_allocate(d.shim, need, C.uint32_t(b.memoryType),
		&b.memory)); err != nil {
		return err
	}
	if err := d.check("bind memory", C.shim_buffer_bind(d.shim, b.buffer, b.memory)); err != nil || !host {
		return err
	}
	return d.check("map memory", C.shim_memory_map(d.shim, b.memory, &b.mapped))
}

// release returns a block to the driver. The block must not be in use.
func (h *heap) release(b *block) {
	h.mu.Lock()
	delete(h.blocks, b)
	h.mu.Unlock()
	h.destroy(b)
}

func (h *heap) destroy(b *block) { C.shim_memory_free(h.device.shim, b.buffer, b.memory) }

func (h *heap) close() {
	for b := range h.blocks {
		h.destroy(b)
	}
	h.blocks = nil
}

// Budget returns the number of free bytes for programs. It keeps one block in reserve, because
// programs allocate whole blocks.
func (d *gpu) Budget() int64 {
	if d.checkOpen() != nil {
		return 0
	}
	return max(0, d.freeBytes(d.dummy.block.memoryType)-blockBytes)
}

// freeBytes returns the number of free bytes of a memory type. If the driver does not report it,
// freeBytes returns the size of the heap minus the bytes of this device's blocks.
func (d *gpu) freeBytes(kind uint32) int64 {
	if n, ok := d.physical.freeBytes(d.instance, kind); ok {
		return n
	}
	n := d.physical.heapBytes(kind)
	d.heap.mu.Lock()
	defer d.heap.mu.Unlock()
	for b := range d.heap.blocks {
		if d.physical.heapOf(b.memoryType) == d.physical.heapOf(kind) {
			n -= b.bytes
		}
	}
	return max(0, n)
}
