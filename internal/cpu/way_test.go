package cpu

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lead is a run that has a worker.
func lead(d *Device) (r *run, end func()) {
	r = &run{device: d, self: <-d.idle}
	return r, func() { d.free(r.self) }
}

// TestReserve: no more workers compute than the device may use, and all may when nothing
// is reserved any more.
func TestReserve(t *testing.T) {
	const threads, pieces = 4, 400
	for reserved, most := range []int{4, 3, 2, 1, 1} {
		d := New(threads)
		d.Reserve(reserved)
		var now, highest, done atomic.Int64
		var runs sync.WaitGroup
		for range 3 {
			runs.Go(func() {
				r, end := lead(d)
				defer end()
				r.each(pieces, func(*worker, int) {
					for n := now.Add(1); n > highest.Load(); {
						highest.Store(n)
					}
					time.Sleep(10 * time.Microsecond)
					now.Add(-1)
					done.Add(1)
				})
			})
		}
		runs.Wait()
		if done.Load() != 3*pieces || highest.Load() > int64(most) {
			t.Errorf("%d reserved of %d: %d pieces by %d workers at once, want %d by at most %d", reserved, threads, done.Load(), highest.Load(), 3*pieces, most)
		}
		if len(d.idle) != threads || d.way.stopped != 0 {
			t.Errorf("%d workers are idle, %d stopped", len(d.idle), d.way.stopped)
		}
	}
}

// TestReserveEnds: what has stopped goes on when less is reserved.
func TestReserveEnds(t *testing.T) {
	d := New(2)
	d.hurry(true)
	var done atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, end := lead(d)
		defer end()
		r.each(50, func(*worker, int) { done.Add(1) })
	}()
	time.Sleep(20 * time.Millisecond)
	if n := done.Load(); n != 0 {
		t.Errorf("%d pieces were done beside an urgent run", n)
	}
	urgent := &run{device: d, self: <-d.way.worker, urgent: true}
	pieces := 0
	urgent.each(50, func(*worker, int) { pieces++ }) // alone: the other leader has one worker, and takes no second
	d.way.worker <- urgent.self
	d.hurry(false)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run does not go on")
	}
	if done.Load() != 50 || pieces != 50 {
		t.Errorf("%d and %d pieces, want 50 each", done.Load(), pieces)
	}
}
