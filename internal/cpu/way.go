package cpu

import (
	"sync"
	"sync/atomic"
)

// way is what runs give way to: the one urgent run that there may be at a time, and what
// the program has the device leave processors to. A worker looks before each piece of its
// work, and waits while more compute than may. So a long pass does not make a short one
// wait, and takes no processor from it.
type way struct {
	worker chan *worker // of the urgent run

	given   atomic.Int64 // processors that others have now
	mu      sync.Mutex
	changed sync.Cond // given is less, or fewer workers compute
	urgent  bool
	reserve int
	stopped int // workers that wait
}

func (w *way) init() {
	w.worker = make(chan *worker, 1)
	w.worker <- new(worker)
	w.changed.L = &w.mu
}

// Preemptive reports that urgent runs do not wait for others.
func (d *Device) Preemptive() bool { return true }

// Reserve leaves n processors to others.
func (d *Device) Reserve(n int) {
	d.way.mu.Lock()
	defer d.way.mu.Unlock()
	d.way.reserve = n
	d.give()
}

// hurry begins or ends an urgent run.
func (d *Device) hurry(yes bool) {
	d.way.mu.Lock()
	defer d.way.mu.Unlock()
	d.way.urgent = yes
	d.give()
}

// give sets what is given. The caller holds the mutex.
func (d *Device) give() {
	given := min(d.way.reserve, d.threads-1)
	if d.way.urgent {
		given = d.threads
	}
	if before := d.way.given.Swap(int64(given)); int64(given) < before {
		d.way.changed.Broadcast()
	}
}

// mustGiveWay reports whether more workers compute than may, those of this run among
// them; never of an urgent one.
func (r *run) mustGiveWay() bool {
	w := &r.device.way
	if r.urgent || w.given.Load() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.device.crowded()
}

// crowded is the same where the caller holds the mutex.
func (d *Device) crowded() bool {
	return d.threads-len(d.idle)-d.way.stopped > d.threads-int(d.way.given.Load())
}

// giveWay has the worker that leads a run wait while it must give way.
func (r *run) giveWay() {
	if r.patient {
		yieldThread()
	}
	if !r.mustGiveWay() {
		return
	}
	w := &r.device.way
	w.mu.Lock()
	defer w.mu.Unlock()
	for r.device.crowded() {
		w.stopped++
		w.changed.Wait()
		w.stopped--
	}
}

// free puts a worker back, whose place one that waits may take.
func (d *Device) free(w *worker) {
	d.idle <- w
	if d.way.given.Load() > 0 {
		d.way.mu.Lock()
		defer d.way.mu.Unlock()
		if d.way.stopped > 0 {
			d.way.changed.Broadcast()
		}
	}
}
