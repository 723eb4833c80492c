package cpu

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// preemption decides how many workers may compute. An urgent run preempts all other runs; at most
// one run is urgent at a time. [Device.Reserve] reserves threads for other work. If the reservation
// leaves fewer threads than runs, the runs take turns. A worker checks before each piece of its work,
// and waits or stops if too many workers compute, so that a long pass does not delay a short pass.
type preemption struct {
	worker chan *worker // worker of the urgent run

	reserved  atomic.Int64 // threads that workers must not use now
	mu        sync.Mutex
	urgent    bool
	requested int             // threads to reserve, see Device.Reserve
	waiting   []chan struct{} // one channel per waiting worker, closed when the worker may continue
}

// yieldEvery is the time after which a patient run yields its CPU to other threads.
const yieldEvery = 500 * time.Microsecond

// timeSlice is the time for which a run computes while other runs wait for a thread.
const timeSlice = 5 * time.Millisecond

func (p *preemption) init() {
	p.worker = make(chan *worker, 1)
	p.worker <- new(worker)
}

// Reserve reserves n threads, at most all but one, for work outside the device. It replaces the
// previous reservation.
func (d *Device) Reserve(n int) {
	d.preemption.mu.Lock()
	defer d.preemption.mu.Unlock()
	d.preemption.requested = n
	d.updateReserved()
}

// setUrgent starts or ends the preemption of other runs by an urgent run.
func (d *Device) setUrgent(urgent bool) {
	d.preemption.mu.Lock()
	defer d.preemption.mu.Unlock()
	d.preemption.urgent = urgent
	d.updateReserved()
}

// updateReserved recomputes the number of reserved threads. Callers of updateReserved, computing,
// maxComputing and resume must hold the mutex.
func (d *Device) updateReserved() {
	reserved := min(d.preemption.requested, d.threads-1)
	if d.preemption.urgent {
		reserved = d.threads
	}
	d.preemption.reserved.Store(int64(reserved))
	d.resume()
}

// computing returns the number of computing workers, including the helpers of an urgent run but not the
// worker that leads it.
func (d *Device) computing() int { return d.threads - len(d.idle) - len(d.preemption.waiting) }

// maxComputing returns the maximum number of computing workers.
func (d *Device) maxComputing() int { return d.threads - int(d.preemption.reserved.Load()) }

// resume lets waiting workers continue, in order, until the allowed number of workers compute.
func (d *Device) resume() {
	for len(d.preemption.waiting) > 0 && d.computing() < d.maxComputing() {
		close(d.preemption.waiting[0])
		d.preemption.waiting = d.preemption.waiting[1:]
	}
}

// mustStop reports whether a worker that helps a run must stop, because too many workers compute
// or a run waits for its turn.
func (r *run) mustStop() bool {
	p := &r.device.preemption
	if r.urgent || p.reserved.Load() == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) > 0 || r.device.computing() > r.device.maxComputing()
}

// yield makes the worker that leads a run wait while too many workers compute, and after a time
// slice if other runs wait. In a patient run it also yields the CPU after yieldEvery. If r.done
// is closed while the worker waits, yield panics to leave the kernel, see [run.recoverCancelled].
func (r *run) yield() {
	if r.patient && time.Since(r.yielded) > yieldEvery {
		yieldThread()
		r.yielded = time.Now()
	}
	p := &r.device.preemption
	if r.urgent || p.reserved.Load() == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for r.device.computing() > r.device.maxComputing() || len(p.waiting) > 0 &&
		time.Since(r.computingSince) > timeSlice {
		resumed := make(chan struct{})
		p.waiting = append(p.waiting, resumed)
		r.device.resume()
		p.mu.Unlock()
		select {
		case <-resumed:
		case <-r.done:
		}
		p.mu.Lock()
		if index := slices.Index(p.waiting, resumed); index >= 0 {
			p.waiting = slices.Delete(p.waiting, index, index+1)
			r.cancelled = true
			panic("the run has ended")
		}
		r.computingSince = time.Now()
	}
}

// recoverCancelled is deferred around kernels. It recovers the panic of yield and sets err to the
// context's error.
func (r *run) recoverCancelled(ctx context.Context, err *error) {
	if r.cancelled {
		recover()
		*err = ctx.Err()
	}
}

// release returns a worker to the idle workers and lets a waiting worker continue.
func (d *Device) release(w *worker) {
	d.idle <- w
	if d.preemption.reserved.Load() > 0 {
		d.preemption.mu.Lock()
		defer d.preemption.mu.Unlock()
		d.resume()
	}
}
