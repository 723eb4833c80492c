package cpu

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// way is what runs give way to: the one urgent run that there may be at a time, what the
// program has the device leave processors to, and each other where fewer workers may
// compute than there are runs. A worker looks before each piece of its work, and waits
// while more compute than may. So a long pass does not make a short one wait, and takes no
// processor from it.
type way struct {
	worker chan *worker // of the urgent run

	given   atomic.Int64 // processors that others have now
	mu      sync.Mutex
	urgent  bool
	reserve int
	waiting []chan struct{} // of the workers that wait, each closed when it may go on
}

// yieldEvery is how long a patient run keeps its processor.
const yieldEvery = 500 * time.Microsecond

// slice is how long a run computes while others wait for its place.
const slice = 5 * time.Millisecond

func (w *way) init() {
	w.worker = make(chan *worker, 1)
	w.worker <- new(worker)
}

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

// give sets what is given. The caller holds the mutex, as for the others below.
func (d *Device) give() {
	given := min(d.way.reserve, d.threads-1)
	if d.way.urgent {
		given = d.threads
	}
	d.way.given.Store(int64(given))
	d.admit()
}

// computing is how many workers compute, those of an urgent run among them.
func (d *Device) computing() int { return d.threads - len(d.idle) - len(d.way.waiting) }

// allowed is how many may.
func (d *Device) allowed() int { return d.threads - int(d.way.given.Load()) }

// admit has workers that wait go on, the first one first, where there are places.
func (d *Device) admit() {
	for len(d.way.waiting) > 0 && d.computing() < d.allowed() {
		close(d.way.waiting[0])
		d.way.waiting = d.way.waiting[1:]
	}
}

// mustLeave reports whether a worker that helps a run must leave: more compute than may,
// or a run waits for a place of its own.
func (r *run) mustLeave() bool {
	w := &r.device.way
	if r.urgent || w.given.Load() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0 || r.device.computing() > r.device.allowed()
}

// giveWay has the worker that leads a run wait while more compute than may, and when it
// has computed for a while in whose place another waits. A run whose context ends meanwhile
// goes no further, and leaves the kernel by a panic: see [run.left].
func (r *run) giveWay() {
	if r.patient && time.Since(r.yielded) > yieldEvery {
		yieldThread()
		r.yielded = time.Now()
	}
	w := &r.device.way
	if r.urgent || w.given.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for r.device.computing() > r.device.allowed() || len(w.waiting) > 0 && time.Since(r.since) > slice {
		begun := make(chan struct{})
		w.waiting = append(w.waiting, begun)
		r.device.admit()
		w.mu.Unlock()
		select {
		case <-begun:
		case <-r.ends:
		}
		w.mu.Lock()
		if at := slices.Index(w.waiting, begun); at >= 0 {
			w.waiting = slices.Delete(w.waiting, at, at+1)
			r.over = true
			panic("the run has ended")
		}
		r.since = time.Now()
	}
}

// left is deferred where a run may end as it gives way.
func (r *run) left(ctx context.Context, err *error) {
	if r.over {
		recover()
		*err = ctx.Err()
	}
}

// free puts a worker back, whose place one that waits may take.
func (d *Device) free(w *worker) {
	d.idle <- w
	if d.way.given.Load() > 0 {
		d.way.mu.Lock()
		defer d.way.mu.Unlock()
		d.admit()
	}
}
