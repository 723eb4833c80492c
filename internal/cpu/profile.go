package cpu

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sftseq/internal/tensor"
)

// profile adds up times by kernel.
type profile struct {
	mu    sync.Mutex
	times map[string]*tensor.KernelTime
}

// StartProfile has every program timed: the device is a [tensor.Profiler]. Launches that
// run together go on doing so: what each takes of every block is added up.
func (d *Device) StartProfile() { d.profile.Store(&profile{times: map[string]*tensor.KernelTime{}}) }

// StopProfile returns the times by kernel. Several threads count together as what each took
// in the mean: kernels whose threads wait for one of them take less than the run.
func (d *Device) StopProfile() []tensor.KernelTime {
	p := d.profile.Swap(nil)
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []tensor.KernelTime
	for _, t := range p.times {
		t.Seconds /= float64(d.threads)
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b tensor.KernelTime) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// add notes what a launch has taken of all threads.
func (p *profile) add(k tensor.Kernel, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.times[k.Name()]
	if t == nil {
		t = &tensor.KernelTime{Name: k.Name()}
		p.times[k.Name()] = t
	}
	t.Launches++
	t.Seconds += took.Seconds()
}

// timed is what f takes of all threads.
func (r *run) timed(f func()) time.Duration {
	r.helped.Store(0)
	began := time.Now()
	f()
	return time.Since(began) + time.Duration(r.helped.Load())
}

// togetherTimed is together for a profile.
func (r *run) togetherTimed(launches []launch, kernels []tensor.Kernel) {
	k, took := make([]rowwise, len(launches)), make([]atomic.Int64, len(launches))
	for i, l := range launches {
		took[i].Add(int64(r.timed(func() { k[i] = l.rowwise(r) })))
	}
	r.eachRows(k[0].n, func(w *worker, lo, hi int) {
		for i := range k {
			began := time.Now()
			k[i].block(w, lo, hi)
			took[i].Add(int64(time.Since(began)))
		}
	})
	for i := range k {
		if k[i].finish != nil {
			took[i].Add(int64(r.timed(k[i].finish)))
		}
		r.profile.add(kernels[i], time.Duration(took[i].Load()))
	}
}
