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
	kind           uint32         // index into the device's memory types
	mapped         unsafe.Pointer // nil unless the host can access it
	free           []span         // free ranges, sorted by offset
}

// heap holds the blocks that were allocated from the driver and not yet returned.
type heap struct {
	device *gpu
	mu     sync.Mutex
	given  map[*block]bool
}

// get allocates a block of device memory or, with host, of memory that host and device can access.
func (h *heap) get(bytes int64, host bool) (*block, error) {
	d := h.device
	full := &MemoryError{Device: d.physical.info.Name, Bytes: bytes}
	if limit := d.limits.maxBlock; bytes > limit {
		full.Limit = limit
		return nil, full
	}
	b := &block{bytes: bytes, free: []span{{0, bytes}}}
	err := h.fill(b, host)
	if err == nil {
		h.mu.Lock()
		h.given[b] = true
		h.mu.Unlock()
		return b, nil
	}
	h.destroy(b)
	if errors.Is(err, errFull) {
		full.Free = d.free(b.kind)
		return nil, full
	}
	return nil, err
}

func (h *heap) fill(b *block, host bool) error {
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
	b.kind = d.physical.memoryType(uint32(types), required, preferred)
	if int64(need) > d.physical.heapBytes(b.kind) { // drivers are not required to check the size
		return errFull
	}
	if err := d.check("allocate memory", C.shim_memory_allocate(d.shim, need, C.uint32_t(b.kind),
		&b.memory)); err != nil {
		return err
	}
	if err := d.check("bind memory", C.shim_buffer_bind(d.shim, b.buffer, b.memory)); err != nil || !host {
		return err
	}
	return d.check("map memory", C.shim_memory_map(d.shim, b.memory, &b.mapped))
}

// drop returns a block to the driver. The block must not be in use.
func (h *heap) drop(b *block) {
	h.mu.Lock()
	delete(h.given, b)
	h.mu.Unlock()
	h.destroy(b)
}

func (h *heap) destroy(b *block) { C.shim_memory_free(h.device.shim, b.buffer, b.memory) }

func (h *heap) close() {
	for b := range h.given {
		h.destroy(b)
	}
	h.given = nil
}

// Budget returns the number of free bytes for programs. It excludes one block, which rounding may
// lose.
func (d *gpu) Budget() int64 {
	if d.gone() != nil {
		return 0
	}
	return max(0, d.free(d.dummy.block.kind)-blockBytes)
}

// free returns the number of free bytes of a memory type. If the driver does not report it, free
// returns the size of the heap minus the bytes that this process has allocated.
func (d *gpu) free(kind uint32) int64 {
	if n, ok := d.physical.free(d.instance, kind); ok {
		return n
	}
	n := d.physical.heapBytes(kind)
	d.heap.mu.Lock()
	defer d.heap.mu.Unlock()
	for b := range d.heap.given {
		if d.physical.heapOf(b.kind) == d.physical.heapOf(kind) {
			n -= b.bytes
		}
	}
	return max(0, n)
}
