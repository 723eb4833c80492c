package cpu

import (
	"sync"
	"sync/atomic"
)

// urgent is the place of the one urgent run that there may be at a time. Others stop
// while it computes, each at its next piece of work: a long pass does not make a short
// one wait, and takes no processor from it.
type urgent struct {
	worker  chan *worker
	running atomic.Bool
	mu      sync.Mutex
	over    sync.Cond
}

func (u *urgent) init() {
	u.worker = make(chan *worker, 1)
	u.worker <- new(worker)
	u.over.L = &u.mu
}

func (u *urgent) begin() { u.running.Store(true) }

func (u *urgent) end() {
	u.mu.Lock()
	u.running.Store(false)
	u.mu.Unlock()
	u.over.Broadcast()
}

// giveWay waits while an urgent run computes, unless this is it.
func (r *run) giveWay() {
	u := &r.device.urgent
	if r.urgent || !u.running.Load() {
		return
	}
	u.mu.Lock()
	for u.running.Load() {
		u.over.Wait()
	}
	u.mu.Unlock()
}
