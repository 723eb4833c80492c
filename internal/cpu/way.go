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

// giveWay waits while more workers compute than may, unless the run is urgent.
func (r *run) giveWay() {
	d := r.device
	if r.urgent || d.way.given.Load() == 0 {
		return
	}
	w := &d.way
	w.mu.Lock()
	defer w.mu.Unlock()
	for stopped := false; ; {
		given := int(w.given.Load())
		// This one computes, too, if it is not stopped.
		computing := d.threads - len(d.idle) - w.stopped
		if stopped {
			computing++
		}
		if given == 0 || computing <= d.threads-given {
			if stopped {
				w.stopped--
			}
			return
		}
		if !stopped {
			stopped = true
			w.stopped++
		}
		w.changed.Wait()
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
