package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sftseq/seq"
	"sftseq/sft"
)

// batcher fills the passes of a model with the jobs of all sessions. A batch
// begins as soon as there is a place for it; while others run, one that is not
// full waits a little for company. No bit of a result depends on the company.
type batcher struct {
	budget  int           // tokens of a batch, 0 for what a pass takes
	maxWait time.Duration // for company
	metrics *metrics
	before  func(context.Context) // a test may hold a batch here

	mu       sync.Mutex
	queue    queue
	running  int // batches
	long     int // of these, with a sequence beyond the budget
	perToken time.Duration
	timer    *time.Timer
	batches  sync.WaitGroup
}

// batch is what runs at once.
type batch struct {
	jobs   []*job
	wanted int // jobs that somebody waits for; guarded by the batcher's mutex
	cancel context.CancelFunc
}

func newBatcher(budget int, maxWait time.Duration, m *metrics) *batcher {
	return &batcher{budget: budget, maxWait: maxWait, metrics: m, perToken: time.Microsecond}
}

// submit queues a job. When ctx ends its place is free, and its error is the
// context's cause.
func (b *batcher) submit(ctx context.Context, m *served, w work, e seq.Example) *job {
	j := &job{model: m, work: w, example: e, ctx: ctx, arrived: time.Now(), done: make(chan struct{})}
	if ctx.Err() != nil {
		b.metrics.cancelled.Add(1)
		j.settle(sft.Output{}, context.Cause(ctx))
		return j
	}
	if !m.use() {
		j.settle(sft.Output{}, errStopped)
		return j
	}
	b.mu.Lock()
	b.queue.add(j)
	j.stop = context.AfterFunc(ctx, func() { b.drop(j) })
	b.start()
	b.mu.Unlock()
	return j
}

// drop ends a job that nobody wants, and its batch if it was the last one there.
func (b *batcher) drop(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !j.settle(sft.Output{}, context.Cause(j.ctx)) {
		return
	}
	b.metrics.cancelled.Add(1)
	if b.queue.remove(j) {
		j.model.done()
		return
	}
	if j.batch != nil {
		if j.batch.wanted--; j.batch.wanted == 0 {
			j.batch.cancel()
		}
	}
}

// start begins the batches that there are places for. The caller holds b.mu.
func (b *batcher) start() {
	for b.queue.jobs > 0 {
		first := b.any()
		places, budget := first.Scorer.Lanes(), b.budget
		if budget == 0 {
			budget = first.Scorer.PassTokens()
		}
		if b.running >= places {
			return
		}
		if b.running > 0 && b.queue.tokens < budget {
			if left := b.maxWait - time.Since(b.queue.oldest()); left > 0 {
				b.wake(left)
				return
			}
		}
		// One place is kept from long sequences, if there are several.
		jobs := b.queue.take(budget, b.perToken, b.long == 0 || b.long < places-1)
		if jobs == nil {
			return
		}
		b.begin(jobs, budget)
	}
}

// any is the model of some job that waits.
func (b *batcher) any() *served {
	for _, c := range b.queue.classes {
		if len(c) > 0 {
			return c[0].model
		}
	}
	return nil
}

// wake has start called later.
func (b *batcher) wake(after time.Duration) {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer = time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.start()
	})
}

// begin runs a batch. The caller holds b.mu.
func (b *batcher) begin(jobs []*job, budget int) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &batch{jobs: jobs, wanted: len(jobs), cancel: cancel}
	tokens := 0
	for _, j := range jobs {
		j.batch = r
		tokens += j.tokens()
	}
	b.running++
	long := tokens > budget
	if long {
		b.long++
	}
	b.batches.Go(func() {
		started := time.Now()
		b.run(ctx, r)
		took := time.Since(started)
		interrupted := ctx.Err() != nil
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
		if long {
			b.long--
		}
		if !interrupted {
			b.metrics.batch(len(jobs), tokens, took)
			b.perToken += (took/time.Duration(tokens) - b.perToken) / 8
		}
		for _, j := range jobs {
			j.model.done()
		}
		b.start()
	})
}

// run computes a batch and settles its jobs. If it fails its jobs are tried one
// by one: what is wrong with one is not the others' fault.
func (b *batcher) run(ctx context.Context, r *batch) {
	err := b.compute(ctx, r.jobs)
	if err != nil && len(r.jobs) > 1 && ctx.Err() == nil {
		for _, j := range r.jobs {
			if j.settled.Load() {
				continue
			}
			if err := b.compute(j.ctx, []*job{j}); err != nil {
				b.settle(j, sft.Output{}, err)
			}
		}
		return
	}
	if err != nil {
		for _, j := range r.jobs {
			b.settle(j, sft.Output{}, err)
		}
	}
}

// compute scores jobs in one call and settles them, unless it fails.
func (b *batcher) compute(ctx context.Context, jobs []*job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model failed: %v", p)
		}
	}()
	if b.before != nil {
		b.before(ctx)
	}
	started := time.Now()
	var outputs []sft.Output
	scorer := jobs[0].model.Scorer
	examples, sequences := make([]seq.Example, len(jobs)), make([][]int32, len(jobs))
	for i, j := range jobs {
		examples[i], sequences[i] = j.example, j.example.A
	}
	switch jobs[0].work {
	case classify:
		outputs, err = scorer.Examples(ctx, examples)
	case explain:
		outputs, err = scorer.Explain(ctx, examples)
	case embed:
		var vectors [][]float32
		vectors, err = scorer.Embeddings(ctx, sequences)
		for _, v := range vectors {
			outputs = append(outputs, sft.Output{Embeddings: [][]float32{v}})
		}
	}
	if err != nil {
		return err
	}
	took := time.Since(started)
	for i, j := range jobs {
		j.compute = took
		b.settle(j, outputs[i], nil)
	}
	return nil
}

// settle ends a job that ran.
func (b *batcher) settle(j *job, out sft.Output, err error) {
	j.stop()
	j.settle(out, err)
}

// waiting is what the queue holds, and how many batches run.
func (b *batcher) waiting() (jobs, tokens, running int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.jobs, b.queue.tokens, b.running
}

// close waits for the batches that run. Nothing may be submitted any more.
func (b *batcher) close() {
	b.mu.Lock()
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.batches.Wait()
}
