//go:build cgo

package vk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// openFaulty opens a device whose driver calls return the results of the function fault.
func openFaulty(t *testing.T, fault func(call string, result int32) int32) (*gpu, error) {
	i, err := openInstance()
	if err != nil {
		skipWithoutVulkan(t, err)
	}
	d := &gpu{instance: i, constants: map[string]*memory{}, fault: fault}
	return d, d.open(Options{})
}

// TestEveryFailure makes the driver calls fail one at a time, from opening the device to inspecting a
// program. It makes no submission fail, and waits fail only with a lost device. The test checks that the
// error is a LostError or a MemoryError or names the failed call, and that every created object is
// destroyed; the validation layer reports objects that remain.
func TestEveryFailure(t *testing.T) {
	usedBefore := usedBytes(open(t, Options{}, underRace))
	work := func(d *gpu) error {
		p := tensor.NewProgram() // with scratch memory
		in := p.Input("x", tensor.Fixed, 1<<13)
		out := p.Temp("y", tensor.Fixed, 1)
		p.Keep(out)
		p.Segment("sum")
		p.Launch(tensor.SumSquares{Y: out, X: in})
		x, err := d.Prepare(p.Finish())
		if err != nil {
			return err
		}
		var mem tensor.Binding
		for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
			if mem[s], err = d.Allocate(p.Words(s)); err != nil {
				return err
			}
			defer mem[s].Free()
		}
		words := make([]uint32, 64)
		return errors.Join(
			mem[tensor.Inputs].Write(0, words),
			x.Run(context.Background(), mem, 0, 1),
			mem[tensor.Inputs].Read(0, words),
			x.Inspect(context.Background(), mem, 0, 1, func(tensor.Kernel) error { return nil }))
	}
	blockCalls := []string{"create a buffer", "allocate memory", "bind memory", "map memory"}
	for _, result := range []int32{outOfDeviceMemory, deviceLost, -3} {
		for n := 0; ; n++ {
			calls, failed := 0, ""
			d, err := openFaulty(t, func(call string, r int32) int32 {
				calls++
				// A successful submission must not be reported as failed, and freeing memory
				// returns no error.
				if calls > n && failed == "" && call != "submit" && call != "finish" &&
					(call != "wait" || result == deviceLost) {
					failed, r = call, result
				}
				return r
			})
			if err == nil {
				if err = work(d); usedBytes(d) != usedBefore {
					t.Errorf("%s failed (call %d): %d bytes are in use, want %d", failed, n, usedBytes(d), usedBefore)
				}
			}
			must.Check(t, d.Close())
			for _, m := range d.Messages() {
				t.Errorf("%s failed (call %d): the validation layer reports %s", failed, n, m)
			}
			if failed == "" {
				if err != nil {
					t.Errorf("error %v without a failed call", err)
				}
				t.Logf("result %d: tested %d calls", result, n)
				break
			}
			var memoryErr *MemoryError
			var lost *LostError
			switch {
			case err == nil:
				// A smaller block may fit where a large one does not.
				if result != outOfDeviceMemory || !slices.Contains(blockCalls, failed) {
					t.Errorf("%s failed (call %d), but there is no error", failed, n)
				}
			case result == deviceLost && !errors.As(err, &lost), result != deviceLost && errors.As(err, &lost):
				t.Errorf("%s failed (call %d, result %d): error %v, want a LostError only for result %d", failed, n,
					result,
					err, deviceLost)
			case result == outOfDeviceMemory && slices.Contains(blockCalls, failed) &&
				(!errors.As(err, &memoryErr) || memoryErr.Free <= 0):
				t.Errorf("%s failed (call %d): error %v, want a MemoryError with free bytes", failed, n, err)
			case lost == nil && !errors.As(err, &memoryErr) && !strings.Contains(err.Error(), failed):
				t.Errorf("error %v does not name the failed call %s", err, failed)
			}
		}
	}
}

// usedBytes returns the number of bytes that the device's allocator has handed out.
func usedBytes(d *gpu) int64 {
	n := int64(0)
	for _, b := range d.memory.blocks {
		n += b.bytes
		for _, s := range b.free {
			n -= s.bytes
		}
	}
	return n
}

// TestSilent checks that after a submission timed out, a further run returns the same error, and that
// Close succeeds without freeing the objects, because the device may still use them.
func TestSilent(t *testing.T) {
	d := openUnvalidated(t)
	p := additions(1)
	x := must.Get(d.Prepare(p))(t)
	mem := allocateBinding(t, d, p)
	i, shim := d.instance, d.shim
	d.fault = func(call string, r int32) int32 {
		if call == "wait" {
			return timedOut
		}
		return r
	}
	for range 2 {
		var lost *LostError
		if err := x.Run(context.Background(), mem, 0, 1); !errors.As(err, &lost) || !lost.Silent ||
			!strings.Contains(err.Error(), "10m0s") {
			t.Fatalf("Run returned %v, want a LostError of a silent device with the timeout 10m0s", err)
		}
	}
	mem[tensor.Arena].Free()
	must.Succeed(t, d.Close())
	// Pretend that the device works again, so that Close frees the objects that remain.
	d.lost.Store(nil)
	d.closed.Store(false)
	d.instance, d.shim = i, shim
	must.Succeed(t, d.Close())
}

// TestFreeOfASilentDevice checks that Free waits for the device without blocking other goroutines.
// If the wait times out, all memory stays allocated.
func TestFreeOfASilentDevice(t *testing.T) {
	d := openUnvalidated(t)
	m, err := d.Allocate(blockBytes / 4) // one block
	must.Succeed(t, err)
	before := len(d.heap.blocks)
	waiting, proceed := make(chan struct{}), make(chan struct{})
	d.fault = func(call string, r int32) int32 {
		if call == "finish" {
			close(waiting)
			<-proceed
			return timedOut
		}
		return r
	}
	freed := make(chan struct{})
	go func() {
		defer close(freed)
		m.Free()
	}()
	select {
	case <-waiting:
	case <-freed:
		t.Fatal("Free returned without waiting for the device")
	}
	runSums(t, d, 3, 2)
	close(proceed)
	<-freed
	var lost *LostError
	if _, err := d.Allocate(1); !errors.As(err, &lost) || !lost.Silent || len(d.heap.blocks) != before {
		t.Errorf("%d blocks, want %d as before; Allocate returned %v, want a LostError of a silent device",
			len(d.heap.blocks), before, err)
	}
	d.fault = nil
	d.lost.Store(nil)
	must.Check(t, d.Close())
}
