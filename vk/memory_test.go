//go:build cgo

package vk

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// TestAllocator allocates and frees at random without a device. It checks that allocations never
// overlap, that adjacent free ranges are joined and that every block is released in the end.
func TestAllocator(t *testing.T) {
	outstanding := map[*block]bool{}
	freeBytes := int64(1) << 40
	a := &allocator{
		allocateBlock: func(bytes int64) (*block, error) {
			if bytes > freeBytes {
				return nil, &MemoryError{Bytes: bytes, Free: freeBytes}
			}
			freeBytes -= bytes
			b := &block{bytes: bytes, free: []span{{0, bytes}}}
			outstanding[b] = true
			return b, nil
		},
		releaseBlock: func(b *block) {
			if !outstanding[b] {
				t.Error("an unknown block is released")
			}
			freeBytes += b.bytes
			delete(outstanding, b)
		},
	}
	type allocation struct {
		block         *block
		offset, bytes int64
	}
	var live []allocation
	check := func() {
		t.Helper()
		spans := map[*block][]span{}
		for _, m := range live {
			spans[m.block] = append(spans[m.block], span{m.offset, (m.bytes + grain - 1) / grain * grain})
		}
		if len(spans) != len(outstanding) || len(a.blocks) != len(outstanding) {
			t.Fatalf("%d blocks are in use, the allocator lists %d, %d are allocated; want equal numbers", len(spans),
				len(a.blocks), len(outstanding))
		}
		for b, used := range spans {
			for i, s := range b.free {
				if i > 0 && b.free[i-1].offset+b.free[i-1].bytes >= s.offset {
					t.Fatalf("free ranges are not joined or not sorted: %v", b.free)
				}
			}
			used = append(used, b.free...)
			slices.SortFunc(used, func(x, y span) int { return int(x.offset - y.offset) })
			at := int64(0)
			for _, s := range used {
				if s.offset != at || s.bytes <= 0 {
					t.Fatalf("a range begins at %d, want %d, the end of the previous range", s.offset, at)
				}
				at += s.bytes
			}
			if at != b.bytes {
				t.Fatalf("the ranges have %d bytes in total, but the block has %d", at, b.bytes)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		if random.IntN(100) < 52 {
			bytes := 1 + random.Int64N(1<<random.IntN(28))
			b, at := must.Get2(a.allocate(bytes))(t)
			if at%grain != 0 || bytes > blockBytes/2 && (at != 0 || b.bytes >= bytes+grain) {
				t.Fatalf("allocate(%d) returned offset %d of a block of %d bytes; want a multiple of %d, and for more "+
					"than %d bytes the offset 0 of a block of less than %d bytes", bytes, at, b.bytes, grain,
					blockBytes/2, bytes+grain)
			}
			live = append(live, allocation{b, at, bytes})
		} else if n := len(live); n > 0 {
			i := random.IntN(n)
			m := live[i]
			live[i] = live[n-1]
			live = live[:n-1]
			a.free(m.block, m.offset, m.bytes)
		}
		check()
	}
	for _, m := range live {
		a.free(m.block, m.offset, m.bytes)
	}
	if live = nil; len(outstanding) != 0 || freeBytes != 1<<40 {
		t.Errorf("%d blocks remain with %d bytes, want none", len(outstanding), 1<<40-freeBytes)
	}

	// If a block of the usual size is too large, allocate requests a block of the size that it needs.
	freeBytes = 1 << 20
	b, _, err := a.allocate(1000)
	if err != nil || b.bytes != 1024 {
		t.Fatalf("got the block %+v, error %v; want a block of 1024 bytes", b, err)
	}
	var memoryErr *MemoryError
	if _, _, err := a.allocate(1 << 20); !errors.As(err, &memoryErr) || memoryErr.Bytes != 1<<20 ||
		memoryErr.Free != 1<<20-1024 {
		t.Errorf("error %v, want a MemoryError for %d bytes with %d free bytes", err, 1<<20, 1<<20-1024)
	}
	if a.free(b, 0, 1000); len(outstanding) != 0 {
		t.Error("a block remains, want none")
	}
}

// TestRing checks that allocations within a launch never overlap and lie within the ring's size.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var r ring
		maxWords := 1 + random.IntN(2*ringWords/3)
		for range 30 {
			r.launch()
			var used []span
			for range random.IntN(12) {
				words := 64 * (1 + random.IntN(maxWords/64+1))
				at := r.allocate(words)
				for _, s := range used {
					if int64(at) < s.offset+s.bytes && s.offset < int64(at+words) {
						t.Fatalf("%d words at %d overlap the %d at %d, want no overlap", words, at, s.bytes, s.offset)
					}
				}
				if at+words > r.size {
					t.Fatalf("%d words at %d exceed the size %d", words, at, r.size)
				}
				used = append(used, span{int64(at), int64(words)})
			}
		}
	}
}

// TestOutOfMemory checks that the error of Allocate contains the requested size or the permitted range,
// and that a MemoryError contains the free bytes or the limit.
func TestOutOfMemory(t *testing.T) {
	d := open(t, Options{})
	heap := d.physical.heapBytes(d.dummy.block.memoryType)
	before := usedBytes(d)
	for _, c := range []struct {
		words int64
		want  []string
	}{
		{-1, []string{"-1 words"}},
		{1 << 62, []string{"words of memory: expected 0 to"}},
		{heap/4 + 1, []string{"cannot allocate " + mebibytes(heap+256)}},
		{1 << 40, []string{"cannot allocate 4194304.0 MiB"}},
	} {
		m, err := d.Allocate(int(c.words))
		if err == nil {
			t.Errorf("allocating %d words succeeded, want an error", m.Words())
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d words: error %v, want %q", c.words, err, want)
			}
		}
		memoryErr := (*MemoryError)(nil)
		if errors.As(err, &memoryErr) && memoryErr.Free <= 0 && memoryErr.Limit <= 0 {
			t.Errorf("%d words: error %v, free bytes %d, limit %d; want one of them above 0", c.words, err,
				memoryErr.Free, memoryErr.Limit)
		}
		t.Log(err)
	}
	// Simulate a nearly full device.
	d.fault = func(call string, r int32) int32 {
		if call == "allocate memory" {
			return outOfDeviceMemory
		}
		return r
	}
	var memoryErr *MemoryError
	if _, err := d.Allocate(20 << 20); !errors.As(err, &memoryErr) || memoryErr.Bytes != 80<<20 ||
		memoryErr.Free <= 0 || memoryErr.Free > heap {
		t.Errorf("error %v, want a MemoryError for 80 MiB with free bytes", err)
	}
	d.fault = nil
	if usedBytes(d) != before {
		t.Errorf("%d bytes are in use, want %d as before", usedBytes(d), before)
	}
	m := must.Get(d.Allocate(20 << 20))(t)
	m.Free()
}

// TestFreed checks that memory may be freed twice and after its device is closed. Running a program
// with freed memory is an error.
func TestFreed(t *testing.T) {
	d := open(t, Options{})
	p := additions(1)
	x := must.Get(d.Prepare(p))(t)
	mem := allocateBinding(t, d, p)
	must.Succeed(t, x.Run(t.Context(), mem, 0, 1))
	mem[tensor.Arena].Free()
	mem[tensor.Arena].Free()
	if len(d.recordings) != 0 {
		t.Errorf("%d recordings remain, want none", len(d.recordings))
	}
	must.Fail(t, "freed")(x.Run(t.Context(), mem, 0, 1))
	must.Succeed(t, d.Close())
	mem[tensor.Inputs].Free()
}

// TestClosed checks that calls on a closed device return errClosed, and that Budget, StopProfile and
// Close return zero values.
func TestClosed(t *testing.T) {
	d := open(t, Options{})
	p := additions(1)
	x := must.Get(d.Prepare(p))(t)
	mem := allocateBinding(t, d, p)
	must.Succeed(t, x.Run(t.Context(), mem, 0, 1))
	must.Succeed(t, d.Close())
	for name, f := range map[string]func() error{
		"read":    func() error { return mem[tensor.Arena].Read(0, make([]uint32, 1)) },
		"write":   func() error { return mem[tensor.Inputs].Write(0, make([]uint32, 1)) },
		"run":     func() error { return x.Run(t.Context(), mem, 0, 1) },
		"inspect": func() error { return x.Inspect(t.Context(), mem, 0, 1, func(tensor.Kernel) error { return nil }) },
		"prepare": func() error { _, err := d.Prepare(p); return err },
		"alloc":   func() error { _, err := d.Allocate(1); return err },
		"copy":    func() error { _, err := d.MeasureCopy(); return err },
		"peak":    func() error { _, err := d.MeasureProducts(); return err },
	} {
		must.FailWith(t, errClosed, name)(f())
	}
	mem[tensor.Arena].Free()
	if d.Budget() != 0 || len(d.StopProfile()) != 0 || d.Close() != nil {
		t.Error("Budget, StopProfile or Close of a closed device does not return zero")
	}
}
