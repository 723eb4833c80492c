package model

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// Runner runs forward passes of one model on a device, one per slot. It is safe for concurrent use.
type Runner struct {
	engine *Engine
	shares int64 // the runner has 1/shares of the device's memory; 0 means 1
	slots  chan *Slot
	cache  *exportCache // nil without a cache
	urgent chan *Slot   // slots for urgent passes; nil if the device is not preemptive
}

// OpenRunner copies weights to a device. The runner uses 1/shares of the device's memory.
func OpenRunner(c *config.Config, weights []float32, ngrams *config.NGramTable, device any,
	shares int) (*Runner, error) {
	e, err := OpenEngine(c, weights, ngrams, device)
	if err != nil {
		return nil, err
	}
	r := NewRunner(e, e.Device.Slots())
	r.shares = int64(shares)
	if _, ok := tensor.Capability[tensor.Preemptive](e.Device); ok {
		r.urgent = make(chan *Slot, 1)
		r.urgent <- e.Slot()
	}
	return r, nil
}

// NewRunner returns a runner with the given number of slots for the passes of an engine.
func NewRunner(e *Engine, slots int) *Runner {
	r := &Runner{engine: e, slots: make(chan *Slot, slots)}
	for range slots {
		r.slots <- e.Slot()
	}
	return r
}

// Close frees the engine's device memory. No pass may be running.
func (r *Runner) Close() { r.engine.Close() }

// Config returns the configuration of the model.
func (r *Runner) Config() *config.Config { return r.engine.Config }

// Kernels returns the name of the device's kernels.
func (r *Runner) Kernels() string { return r.engine.Device.Kernels() }

// Preemptive reports whether the device preempts other passes for urgent ones.
func (r *Runner) Preemptive() bool { return r.urgent != nil }

// Reserve makes the device leave n CPU threads to the rest of the program. It does nothing if the device
// is not [tensor.Preemptive].
func (r *Runner) Reserve(n int) {
	if p, ok := tensor.Capability[tensor.Preemptive](r.engine.Device); ok {
		p.Reserve(n)
	}
}

// SlotCount returns the maximum number of concurrent passes, not counting urgent passes.
func (r *Runner) SlotCount() int { return cap(r.slots) }

// Results computes examples in passes of a mode. It calls f with the results of n consecutive examples, the
// first of which has the index at: the examples of one pass, or a single example if a chunked model predicts
// tokens. Calls of f may be concurrent.
func (r *Runner) Results(ctx context.Context, examples []seq.Example, mode PassMode,
	f func(at, n int, x *Result)) error {
	err := TryInParallel(r.threads(ctx, 1), len(examples), func(i int) error {
		if err := r.engine.Config.CheckExample(examples[i]); err != nil {
			return fmt.Errorf("example %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c := r.engine.Config
	d := Drawing{Mode: mode, Seed: c.SamplerSeed}
	if hasContexts(c) {
		return r.tokenResults(ctx, examples, d, f)
	}
	return r.forEachBatch(ctx, examples, c.Sequences(), d, func(ctx context.Context, l *Slot, at, n int) error {
		x, err := l.run(ctx, d)
		if err == nil {
			f(at, n, x)
		}
		return err
	})
}

// Measured returns the logits of each example in an evaluation, or its loss if [EvaluationMode] returns
// LossMode.
func (r *Runner) Measured(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	out := make([][]float32, len(examples))
	mode := EvaluationMode(r.engine.Config)
	err := r.Results(ctx, examples, mode, func(at, n int, result *Result) {
		x := result.Logits
		if mode == LossMode {
			x = result.Loss
		}
		for i := at; i < at+n; i++ {
			numbers := measuredNumbers(r.engine.Config, examples[i])
			out[i], x = x[:numbers:numbers], x[numbers:]
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// measuredNumbers returns how many numbers [Runner.Measured] returns for an example.
func measuredNumbers(c *config.Config, e seq.Example) int {
	if EvaluationMode(c) == LossMode {
		return 1
	}
	return c.LogitCount(e)
}

// SharedMeasured is Measured with the examples distributed over the ranks of c; nil means a single
// process.
func (r *Runner) SharedMeasured(ctx context.Context, c distributed.Communicator,
	examples []seq.Example) ([][]float32, error) {
	if c == nil {
		return r.Measured(ctx, examples)
	}
	sizes := make([]int, len(examples))
	for i, e := range examples {
		sizes[i] = measuredNumbers(r.engine.Config, e)
	}
	return Shared(ctx, c, sizes, func(from, to int) ([][]float32, error) {
		return r.Measured(ctx, examples[from:to])
	})
}

// forEachPass splits items into passes and calls f for each with its own slot, the index of its
// first item and the number of its items. Several calls run concurrently. The first error stops the
// others.
func (r *Runner) forEachPass(ctx context.Context, s stage, mode PassMode, items []passItem,
	f func(ctx context.Context, l *Slot, at, n int) error) error {
	kind := PassKind{s, mode}
	plan := r.limits(kind)
	if err := r.admit(plan, kind, items); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := r.slots
	if r.urgent != nil && tensor.IsUrgent(ctx) {
		slots = r.urgent
	}
	var wg sync.WaitGroup
	first := 0
	passes := forwardPasses(items, plan.Size)
	for _, n := range passes {
		var l *Slot
		select {
		case l = <-slots:
		case <-ctx.Done():
		}
		if l == nil {
			break
		}
		at := first
		first += n
		l.Packers = r.threads(ctx, len(passes))
		wg.Go(func() {
			defer func() { slots <- l }()
			if err := f(ctx, l, at, n); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// threads returns the number of threads that prepare each of several passes of a call. Urgent and
// patient calls use no more than the minimum.
func (r *Runner) threads(ctx context.Context, passes int) int {
	if tensor.IsUrgent(ctx) || tensor.IsPatient(ctx) {
		return r.engine.packers
	}
	return r.engine.Threads(passes)
}

// InParallel calls f once for each i in [0, n), on at most the given number of threads, and returns after the
// last call. The first argument of f is the index of its thread.
func InParallel(threads, n int, f func(thread, i int)) {
	threads = min(threads, n)
	if threads <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for thread := range threads {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(thread, i)
			}
		})
	}
	wg.Wait()
}

// TryInParallel is [InParallel] for functions that may fail. It returns the error of the smallest
// failing i.
func TryInParallel(threads, n int, f func(i int) error) error {
	errs := make([]error, n)
	InParallel(threads, n, func(_, i int) { errs[i] = f(i) })
	return cmp.Or(errs...)
}
