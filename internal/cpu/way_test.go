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
					n := now.Add(1)
					for high := highest.Load(); n > high && !highest.CompareAndSwap(high, n); high = highest.Load() {
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
		if len(d.idle) != threads || len(d.way.waiting) != 0 {
			t.Errorf("%d workers are idle, %d stopped", len(d.idle), len(d.way.waiting))
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
	var pieces atomic.Int64
	urgent.each(50, func(*worker, int) { pieces.Add(1) }) // with the worker that the other run must not use
	d.way.worker <- urgent.self
	d.hurry(false)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run does not go on")
	}
	if done.Load() != 50 || pieces.Load() != 50 {
		t.Errorf("%d and %d pieces, want 50 each", done.Load(), pieces.Load())
	}
}

// TestReserveIsShared: where fewer workers may compute than there are runs, a long run
// does not keep short ones from computing, nor they the long one.
func TestReserveIsShared(t *testing.T) {
	d := New(2)
	d.Reserve(1)
	var stop atomic.Bool
	var done [2]atomic.Int64
	var runs sync.WaitGroup
	for i, pieces := range []int{100_000, 10} {
		runs.Go(func() {
			for !stop.Load() {
				r, end := lead(d)
				r.each(pieces, func(*worker, int) {
					if !stop.Load() {
						time.Sleep(100 * time.Microsecond)
						done[i].Add(1)
					}
				})
				end()
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	long, short := done[0].Load(), done[1].Load()
	stop.Store(true)
	d.Reserve(0)
	runs.Wait()
	t.Logf("%d pieces of the long run, %d of short ones", long, short)
	if long < short/10 || short < long/10 {
		t.Errorf("%d pieces of the long run were done and %d of the short ones", long, short)
	}
}
