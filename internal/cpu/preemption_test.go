package cpu

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// startRun starts a run that owns a worker. The returned function ends the run.
func startRun(d *Device) (r *run, end func()) {
	r = &run{device: d, self: <-d.idle}
	return r, func() { d.release(r.self) }
}

// TestReserve checks that the number of computing workers never exceeds the number of unreserved
// threads, or 1 if all threads are reserved, and that all workers are idle after the runs.
func TestReserve(t *testing.T) {
	const threads, pieces = 4, 400
	for reserved, maxWorkers := range []int{4, 3, 2, 1, 1} {
		d := New(threads)
		d.Reserve(reserved)
		var computing, highest, done atomic.Int64
		var runs sync.WaitGroup
		for range 3 {
			runs.Go(func() {
				r, end := startRun(d)
				defer end()
				r.parallel(pieces, func(*worker, int) {
					n := computing.Add(1)
					for high := highest.Load(); n > high && !highest.CompareAndSwap(high, n); high = highest.Load() {
					}
					time.Sleep(10 * time.Microsecond)
					computing.Add(-1)
					done.Add(1)
				})
			})
		}
		runs.Wait()
		if done.Load() != 3*pieces || highest.Load() > int64(maxWorkers) {
			t.Errorf("%d reserved of %d: %d pieces by %d concurrent workers, want %d by at most %d", reserved, threads,
				done.Load(), highest.Load(), 3*pieces, maxWorkers)
		}
		if len(d.idle) != threads || len(d.preemption.waiting) != 0 {
			t.Errorf("%d workers are idle and %d wait, want all idle", len(d.idle), len(d.preemption.waiting))
		}
	}
}

// TestReserveEnds checks that paused workers resume when the urgent run ends.
func TestReserveEnds(t *testing.T) {
	d := New(2)
	d.setUrgent(true)
	var done atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, end := startRun(d)
		defer end()
		r.parallel(50, func(*worker, int) { done.Add(1) })
	}()
	time.Sleep(20 * time.Millisecond)
	if n := done.Load(); n != 0 {
		t.Errorf("another run completed %d pieces during an urgent run, want 0", n)
	}
	urgent := &run{device: d, self: <-d.preemption.worker, urgent: true}
	var pieces atomic.Int64
	urgent.parallel(50, func(*worker, int) { pieces.Add(1) }) // with the worker of the urgent run
	d.preemption.worker <- urgent.self
	d.setUrgent(false)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run does not resume")
	}
	if done.Load() != 50 || pieces.Load() != 50 {
		t.Errorf("the runs completed %d and %d pieces, want 50 each", done.Load(), pieces.Load())
	}
}

// TestReserveIsShared checks that a long run and short runs share a single available worker.
func TestReserveIsShared(t *testing.T) {
	d := New(2)
	d.Reserve(1)
	var stop atomic.Bool
	var done [2]atomic.Int64
	var runs sync.WaitGroup
	for i, pieces := range []int{100_000, 10} {
		runs.Go(func() {
			for !stop.Load() {
				r, end := startRun(d)
				r.parallel(pieces, func(*worker, int) {
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
	t.Logf("pieces completed: %d of the long run, %d of short runs", long, short)
	if long < short/10 || short < long/10 {
		t.Errorf("the long run completed %d pieces and the short runs %d, want a factor of at most 10", long, short)
	}
}

// TestWaitingRunEnds checks that a run which waits for its turn, before or within a kernel, ends when
// its context is cancelled, and releases its worker. A run that writes weights must complete.
func TestWaitingRunEnds(t *testing.T) {
	d := New(2)
	p := tensor.NewProgram()
	p.Segment("one")
	p.Launch(tensor.Zero{Y: p.Temp("y", tensor.Fixed, 1)})
	x := must.Get(d.Prepare(p.Finish()))(t)
	var mem tensor.Binding
	mem[tensor.Arena] = must.Get(d.Allocate(p.Words(tensor.Arena)))(t)
	updating, weights, sum := prepareCounter(t, d)
	withinKernel := func(ctx context.Context) (err error) {
		r, end := startRun(d)
		defer end()
		defer r.recoverCancelled(ctx, &err)
		r.done = ctx.Done()
		r.parallel(1000, func(_ *worker, i int) { d.setUrgent(true) })
		return nil
	}
	for name, c := range map[string]struct {
		run       func(context.Context) error
		completes bool
	}{
		"before a kernel": {func(ctx context.Context) error { d.setUrgent(true); return x.Run(ctx, mem, 0, 1) }, false},
		"within a kernel": {withinKernel, false},
		"writing weights": {func(ctx context.Context) error { d.setUrgent(true); return updating.Run(ctx, weights, 0, 1) },
			true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.run(ctx) }()
		waits := func() bool {
			d.preemption.mu.Lock()
			defer d.preemption.mu.Unlock()
			return len(d.preemption.waiting) == 1
		}
		for deadline := time.Now().Add(time.Minute); !waits(); time.Sleep(time.Millisecond) {
			if len(ended) > 0 || time.Now().After(deadline) {
				t.Fatalf("%s: the run does not wait", name)
			}
		}
		cancel()
		if c.completes {
			time.Sleep(20 * time.Millisecond)
			d.setUrgent(false)
		}
		select {
		case err := <-ended:
			if c.completes != (err == nil) || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got error %v, want completion: %v", name, err, c.completes)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the cancelled run still waits", name)
		}
		if len(d.idle) != 2 || len(d.preemption.waiting) != 0 {
			t.Errorf("%s: %d workers are idle and %d wait, want 2 idle", name, len(d.idle), len(d.preemption.waiting))
		}
		d.setUrgent(false)
	}
	if sum() != 1 {
		t.Errorf("weights were written %v times, want once", sum())
	}
}
