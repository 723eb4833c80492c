package cpu

import (
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/tensor"
)

// StartProfile starts to measure all runs that begin after this call. Device implements
// [tensor.Profiler]. Launches are still fused; the time of a launch is the sum over its blocks.
func (d *Device) StartProfile() { d.profile.Store(new(tensor.KernelTimes)) }

// StopProfile ends the profile and returns the times by kernel, or nil without a profile. A time is the
// mean computing time of all threads, so it is less than the elapsed time if some threads wait for
// others.
func (d *Device) StopProfile() []tensor.KernelTime {
	p := d.profile.Swap(nil)
	if p == nil {
		return nil
	}
	times := p.List()
	for i := range times {
		times[i].Seconds /= float64(d.threads)
	}
	return times
}

// timed returns the elapsed time of f plus the computing time of other threads in f.
func (r *run) timed(f func()) time.Duration {
	r.helperTime.Store(0)
	began := time.Now()
	f()
	return time.Since(began) + time.Duration(r.helperTime.Load())
}

// runFusedTimed runs launches like runFused and records their times.
func (r *run) runFusedTimed(launches []launch, kernels []tensor.Kernel) {
	k, times := make([]rowwise, len(launches)), make([]atomic.Int64, len(launches))
	for i, l := range launches {
		times[i].Add(int64(r.timed(func() { k[i] = l.rowwise(r) })))
	}
	r.eachRows(k[0].n, func(w *worker, lo, hi int) {
		for i := range k {
			began := time.Now()
			k[i].block(w, lo, hi)
			times[i].Add(int64(time.Since(began)))
		}
	})
	for i := range k {
		if k[i].finish != nil {
			times[i].Add(int64(r.timed(k[i].finish)))
		}
		r.profile.Add(tensor.Name(kernels[i]), time.Duration(times[i].Load()).Seconds())
	}
}
