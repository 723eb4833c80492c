//go:build cgo

package vk

import (
	"context"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// residentBytes returns the resident memory of the process in bytes.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("needs Linux: ", err)
	}
	pages := must.Get(strconv.ParseInt(strings.Fields(string(text))[1], 10, 64))(t)
	return pages * int64(os.Getpagesize())
}

// leakPerRound runs f for the given number of rounds and returns the bytes that a round leaks. It
// measures the rounds in four parts and returns the minimum, as heaps grow only in the first
// rounds.
func leakPerRound(t *testing.T, rounds int, f func()) int64 {
	t.Helper()
	const parts = 4
	minGrowth := int64(math.MaxInt64)
	before := residentBytes(t)
	for range parts {
		for range rounds / parts {
			f()
		}
		after := residentBytes(t)
		minGrowth = min(minGrowth, max(0, after-before))
		before = after
	}
	return minGrowth / int64(rounds/parts)
}

// collectGarbage starts a goroutine that runs the garbage collector continuously until the test ends.
func collectGarbage(t *testing.T) {
	percent := debug.SetGCPercent(1)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		debug.SetGCPercent(percent)
	})
}

// openUnvalidated opens a device without the validation layer, as the layer itself leaks memory.
func openUnvalidated(t *testing.T) *gpu {
	t.Helper()
	skipInReruns(t, underRace)
	t.Setenv("SFTSEQ_VK_VALIDATE", "")
	d, err := openGPU(Options{})
	if err != nil {
		skipWithoutVulkan(t, err)
	}
	return d
}

// additions returns a program that computes y = (n+1)·x in n launches, one addition each.
func additions(n int) *tensor.Program {
	p := tensor.NewProgram()
	p.Segment("sums")
	x := p.Input("x", tensor.Fixed, 64)
	y := p.Temp("y", tensor.Fixed, 64)
	p.Keep(y)
	p.Launch(tensor.Add{Y: y, A: x, B: x})
	for range n - 1 {
		p.Launch(tensor.Add{Y: y, A: y, B: x})
	}
	return p.Finish()
}

// allocateBinding allocates memory for the arena and the inputs of a program.
func allocateBinding(t *testing.T, d *gpu, p *tensor.Program) (mem tensor.Binding) {
	t.Helper()
	for _, s := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		m := must.Get(d.Allocate(p.Words(s)))(t)
		mem[s] = m
	}
	return mem
}

// runSums prepares the program additions(n), runs it the given number of times and checks the result.
func runSums(t *testing.T, d *gpu, n, times int) {
	t.Helper()
	p := additions(n)
	x := must.Get(d.Prepare(p))(t)
	mem := allocateBinding(t, d, p)
	defer mem[tensor.Arena].Free()
	defer mem[tensor.Inputs].Free()
	in, out := make([]float32, 64), make([]float32, 64)
	for i := range in {
		in[i] = float32(i)
	}
	must.Succeed(t, mem[tensor.Inputs].Write(0, tensor.Bits(in)))
	for range times {
		must.Succeed(t, x.Run(context.Background(), mem, 0, 1))
	}
	must.Succeed(t, mem[tensor.Arena].Read(0, tensor.Bits(out)))
	for i := range in {
		in[i] *= float32(n + 1)
	}
	if !slices.Equal(out, in) {
		t.Fatalf("result %v, want %v", out, in)
	}
}

// TestEndurance creates and destroys many launches, recordings and devices while the garbage
// collector runs continuously. It checks that memory grows by less than a limit per round, and that
// the number of driver objects does not grow with launches and recordings.
func TestEndurance(t *testing.T) {
	const kilobyte = 1 << 10
	for _, c := range []struct {
		name                           string
		rounds, recordings, sums, runs int
		limit                          int64 // maximum growth in bytes per round, with a margin for the race detector
	}{
		{"launches", 12, 1, 100, 10, 200 * kilobyte},
		{"recordings", 100, 12, 2, 1, 50 * kilobyte},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := openUnvalidated(t)
			defer d.Close()
			collectGarbage(t)
			round := func() {
				for range c.recordings {
					runSums(t, d, c.sums, c.runs)
				}
			}
			round()
			before, bytes, constants := d.liveObjects(), usedBytes(d), len(d.constants)
			if n := leakPerRound(t, c.rounds, round); n > c.limit {
				t.Errorf("a round leaks %d bytes, want at most %d", n, c.limit)
			}
			if after := d.liveObjects(); !maps.Equal(after, before) || len(d.recordings) != 0 ||
				len(d.constants) != constants {
				t.Errorf("driver objects %v, %d recordings and %d constants remain, want %v, none and %d", after,
					len(d.recordings), len(d.constants), before, constants)
			}
			if n := usedBytes(d); n != bytes {
				t.Errorf("%d bytes are in use, want %d as before", n, bytes)
			}
			if n := d.liveObjects()["blocks of memory"]; n != len(d.heap.blocks) {
				t.Errorf("the driver has %d blocks of memory, but the heap has %d", n, len(d.heap.blocks))
			}
		})
	}
	t.Run("devices", func(t *testing.T) {
		must.Succeed(t, openUnvalidated(t).Close()) // skips the test without Vulkan
		collectGarbage(t)
		// The loader and the driver leak memory for each instance and device.
		driverLeak := leakPerRound(t, 52, func() {
			d := &gpu{}
			d.instance = must.Get(openInstance())(t)
			list := must.Get(d.instance.physicals())(t)
			if d.physical = list[0]; d.create() != nil {
				t.Fatal("creating the device failed")
			}
			must.Succeed(t, d.Close())
		})
		// Repeat the measurement, because the memory that the driver's threads keep after freeing
		// varies; a leak recurs in each measurement.
		deviceLeak := driverLeak + 101*kilobyte
		for range 3 {
			if deviceLeak > driverLeak+100*kilobyte {
				deviceLeak = leakPerRound(t, 52, func() {
					d := openUnvalidated(t)
					runSums(t, d, 2, 1)
					must.Succeed(t, d.Close())
				})
			}
		}
		if deviceLeak > driverLeak+100*kilobyte {
			t.Errorf("a device of this package leaks %d bytes, a bare Vulkan device %d, want at most %d more",
				deviceLeak, driverLeak, 100*kilobyte)
		}
		t.Logf("a device of this package leaks %d bytes, a bare Vulkan device %d", deviceLeak, driverLeak)
	})
}
