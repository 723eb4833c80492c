//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"unsafe"

	"github.com/sftseq/sftseq/internal/tensor"
)

// StartProfile begins to time every program. It implements [tensor.Profiler].
func (d *gpu) StartProfile() {
	d.mu.Lock()
	d.profile = new(tensor.KernelTimes)
	d.mu.Unlock()
	d.dropRecordings(func(*recording) bool { return true }) // existing recordings have no timestamps
}

// StopProfile ends timing and returns the time of each shader. The entry "zero" is the time for
// clearing memory.
func (d *gpu) StopProfile() []tensor.KernelTime {
	d.mu.Lock()
	p := d.profile
	d.profile = nil
	d.mu.Unlock()
	if p == nil {
		return nil
	}
	d.dropRecordings(func(*recording) bool { return true })
	return p.List()
}

// stopwatch holds the timestamps of a segment's steps.
type stopwatch struct {
	device  *gpu
	queries C.handle
	shaders []string // shader of each step
}

func (d *gpu) newStopwatch(steps []step) (*stopwatch, error) {
	if d.limits.timestampBits == 0 {
		return nil, fmt.Errorf("the device %s has no timestamps, so it cannot be profiled", d.physical.info.Name)
	}
	w := &stopwatch{device: d}
	for _, s := range steps {
		w.shaders = append(w.shaders, cmp.Or(s.shader, "zero"))
	}
	return w, d.check("create timestamps", C.shim_queries_create(d.shim, C.uint32_t(len(steps)+1), &w.queries))
}

func (w *stopwatch) free() {
	if w != nil && w.queries != 0 {
		C.shim_queries_destroy(w.device.shim, w.queries)
	}
}

// seconds returns the time of each step in the last run, in seconds.
func (w *stopwatch) seconds() ([]float64, error) {
	ticks := make([]uint64, len(w.shaders)+1)
	r := C.shim_queries_read(w.device.shim, w.queries, C.uint32_t(len(ticks)), (*C.uint64_t)(unsafe.Pointer(&ticks[0])))
	if err := w.device.check("read timestamps", r); err != nil {
		return nil, err
	}
	out := make([]float64, len(w.shaders))
	valid := uint64(1)<<w.device.limits.timestampBits - 1
	for i := range out {
		out[i] = float64((ticks[i+1]-ticks[i])&valid) * w.device.limits.timestamp * 1e-9
	}
	return out, nil
}

// addTimes adds the times of the segments' steps to p. The run of the segments must have ended.
func addTimes(p *tensor.KernelTimes, segments []segment) error {
	for _, s := range segments {
		if s.watch == nil {
			continue
		}
		seconds, err := s.watch.seconds()
		if err != nil {
			return err
		}
		for i, name := range s.watch.shaders {
			p.Add(name, seconds[i])
		}
	}
	return nil
}
