package batching

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Options are a batcher's settings.
type Options struct {
	Tokens  int                 // tokens per batch; 0 means the capacity of a pass
	MaxWait time.Duration       // maximum wait for more jobs to fill a batch
	Sizes   prometheus.Observer // jobs per computed batch
}

// Batcher fills a model's passes with the jobs of all sessions. A batch starts when a slot is free; an
// urgent batch may start even if none is. While other batches run, a partly filled batch without urgent
// jobs first waits up to MaxWait for more jobs. The other jobs in a batch do not change a single bit of a
// job's result.
type Batcher struct {
	// Before is a test hook that runs before each computation; nil otherwise.
	Before func(context.Context)

	options Options

	mu                sync.Mutex
	stats             Stats
	queue             queue
	running           int       // batches that run in slots
	longBatches       int       // running batches with a sequence above the token budget
	smallBatches      int       // running batches of urgent jobs within urgentTokens, which take little time
	urgentRunning     bool      // an urgent batch runs in addition to the slots
	noPreemptionUntil time.Time // until this time batches are not preempted again
	rate              rate
	meter             fair.Meter // meter of computing time
	timer             *time.Timer
	batches           sync.WaitGroup
}

// batch is the jobs computed in one pass.
type batch struct {
	jobs       []*Job
	incomplete int // jobs that were not cancelled; guarded by the batcher's mutex
	cancel     context.CancelFunc

	// withPriority returns a context with the batch's priority on the device.
	withPriority func(context.Context) context.Context
}

// New returns a batcher without jobs.
func New(o Options) *Batcher { return &Batcher{options: o} }

// budgetOf returns the maximum number of tokens per batch of a model. A single longer job may exceed it.
func (b *Batcher) budgetOf(m *Model) int {
	if b.options.Tokens > 0 {
		return b.options.Tokens
	}
	return m.Scorer.PassTokens()
}

// Submit queues a job of the account for each example. When ctx ends, incomplete jobs fail with the context's
// cause, and waiting jobs leave the queue.
func (b *Batcher) Submit(ctx context.Context, a *Account, m *Model, w Work, examples ...seq.Example) []*Job {
	g := &group{account: a, ctx: ctx}
	g.incomplete.Store(int64(len(examples)))
	jobs, now, tokens := make([]*Job, len(examples)), time.Now(), 0
	for i, e := range examples {
		jobs[i] = &Job{model: m, work: w, example: e, group: g, arrived: now, done: make(chan struct{}),
			tokens: max(minTokens, m.Scorer.ComputedTokens(&e, w == Explain))}
		tokens += jobs[i].tokens
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if ctx.Err() != nil {
		b.stats.Cancelled += int64(len(jobs))
		for _, j := range jobs {
			j.complete(sft.Output{}, context.Cause(ctx))
		}
		return jobs
	}
	b.meter.Join(&a.computed)
	urgent := a.pending+tokens <= urgentTokens && m.Scorer.Preemptive() && b.meter.Light(&a.computed)
	g.stop = context.AfterFunc(ctx, func() { b.cancelJobs(jobs) })
	for _, j := range jobs {
		if !m.Use() {
			b.complete(j, sft.Output{}, ErrReleased)
			continue
		}
		a.pending += j.tokens
		j.urgent = urgent
		b.queue.add(j, b.budgetOf(m))
	}
	b.startBatches()
	return jobs
}

// cancelJobs cancels jobs, and running batches in which all jobs are cancelled.
func (b *Batcher) cancelJobs(jobs []*Job) {
	var waiting []*Job
	b.mu.Lock()
	for _, j := range jobs {
		if !j.complete(sft.Output{}, context.Cause(j.group.ctx)) {
			continue
		}
		b.stats.Cancelled++
		switch {
		case j.bucket != nil:
			j.group.account.pending -= j.tokens
			b.queue.cancel(j)
			waiting = append(waiting, j)
		case j.batch != nil:
			if j.batch.incomplete--; j.batch.incomplete == 0 {
				j.batch.cancel()
			}
		}
	}
	b.mu.Unlock()
	releaseModels(waiting)
}

// releaseModels releases the jobs' models, which may take a long time, for example to close a device. The caller
// must not hold b.mu.
func releaseModels(jobs []*Job) {
	for _, j := range jobs {
		j.model.Done()
	}
}

// startBatches starts batches while slots are free. If none is free, it may start an urgent batch in
// addition to the slots. The caller holds b.mu.
func (b *Batcher) startBatches() {
	for b.queue.jobs > 0 {
		slots := b.queue.nextDue(true).model.Scorer.Slots()
		first := b.queue.nextUrgent()
		if b.running >= slots {
			// A running batch of urgent jobs finishes soon, so the next urgent job waits for it. Small batches
			// from accounts above their share do not count: they have low priority and may take a long time.
			if first == nil || b.urgentRunning || b.smallBatches > 0 {
				return
			}
			if delay := time.Until(b.noPreemptionUntil); delay > 0 {
				b.startLater(delay)
				return
			}
			b.startBatch(b.queue.takeBatch(first, urgentTokens), urgentTokens, true)
			continue
		}
		if first == nil {
			// One of several slots stays free of long sequences.
			first = b.queue.nextDue(b.longBatches == 0 || b.longBatches < slots-1)
		}
		if first == nil {
			return
		}
		budget := b.budgetOf(first.model)
		if first.urgent {
			budget = min(budget, urgentTokens)
		} else if b.running > 0 && b.queue.tokens < budget {
			if delay := b.options.MaxWait - time.Since(b.queue.oldest()); delay > 0 {
				b.startLater(delay)
				return
			}
		}
		b.startBatch(b.queue.takeBatch(first, budget), budget, false)
	}
}

// startLater calls startBatches after a delay. It replaces an earlier call that has not happened yet.
func (b *Batcher) startLater(after time.Duration) {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer = time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.startBatches()
	})
}

// urgentTokens is the maximum number of tokens in an urgent batch, about a millisecond of
// computation.
const urgentTokens = 512

// startBatch starts a batch in a slot or, if it is urgent, in addition to the slots. The caller holds b.mu.
func (b *Batcher) startBatch(jobs []*Job, budget int, urgent bool) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &batch{jobs: jobs, incomplete: len(jobs), cancel: cancel,
		withPriority: func(ctx context.Context) context.Context { return ctx }}
	switch {
	case urgent:
		r.withPriority = sft.Urgent
	case !jobs[0].urgent:
		r.withPriority = sft.Patient
	}
	tokens, read := 0, 0
	for _, j := range jobs {
		j.batch = r
		tokens += j.tokens
		read += j.example.Length()
	}
	small, long := jobs[0].urgent && tokens <= urgentTokens, tokens > budget
	if urgent {
		b.urgentRunning = true
	} else {
		b.running++
	}
	if small {
		b.smallBatches++
	}
	if long {
		b.longBatches++
	}
	b.batches.Go(func() {
		started := time.Now()
		b.run(ctx, r)
		elapsed := time.Since(started)
		interrupted := ctx.Err() != nil
		cancel()
		b.mu.Lock()
		if !interrupted {
			b.stats.add(len(jobs), read, elapsed)
			b.options.Sizes.Observe(float64(len(jobs)))
			b.rate.add(elapsed/time.Duration(max(1, b.running)), tokens, budget)
		}
		for _, j := range jobs {
			j.group.account.pending -= j.tokens
			if !interrupted {
				b.meter.Charge(&j.group.account.computed, b.rate.timeFor(j.tokens))
			}
		}
		if urgent {
			// A client that opens a new connection for each request always counts as light. To be
			// fair, other batches then run without preemption for as long as the urgent batch took.
			b.urgentRunning, b.noPreemptionUntil = false, time.Now().Add(elapsed)
		} else {
			b.running--
		}
		if small {
			b.smallBatches--
		}
		if long {
			b.longBatches--
		}
		b.startBatches()
		b.mu.Unlock()
		releaseModels(jobs)
	})
}

// run computes a batch and completes its jobs. After an error it computes each job alone, so that
// one bad job does not fail the others. Once the device is lost, the remaining jobs fail.
func (b *Batcher) run(ctx context.Context, r *batch) {
	err := b.compute(r.withPriority(ctx), r.jobs)
	if err == nil {
		return
	}
	model := r.jobs[0].model
	lost := model.lost(err)
	if lost != nil {
		err = lost
	}
	alone := lost == nil && len(r.jobs) > 1 && ctx.Err() == nil
	for _, j := range r.jobs {
		if alone && lost == nil && !j.completed.Load() {
			if err = b.compute(r.withPriority(j.group.ctx), []*Job{j}); err == nil {
				continue
			}
			if lost = model.lost(err); lost != nil {
				err = lost
			}
		}
		b.complete(j, sft.Output{}, err)
	}
}

// compute scores jobs in one call. It completes the jobs unless the call fails.
func (b *Batcher) compute(ctx context.Context, jobs []*Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			jobs[0].group.account.Log.Error("the model failed", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the model failed: %v", p)
		}
	}()
	if b.Before != nil {
		b.Before(ctx)
	}
	started := time.Now()
	var outputs []sft.Output
	scorer := jobs[0].model.Scorer
	examples := make([]seq.Example, len(jobs))
	for i, j := range jobs {
		examples[i] = j.example
	}
	switch jobs[0].work {
	case Classify:
		outputs, err = scorer.Examples(ctx, examples)
	case Explain:
		outputs, err = scorer.Explain(ctx, examples)
	case Embed:
		var vectors [][]float32
		vectors, err = scorer.EmbedExamples(ctx, examples)
		for _, v := range vectors {
			outputs = append(outputs, sft.Output{Embeddings: [][]float32{v}})
		}
	}
	if err != nil {
		return err
	}
	elapsed := time.Since(started)
	for i, j := range jobs {
		j.computeTime = elapsed
		b.complete(j, outputs[i], nil)
	}
	return nil
}

// complete completes a job. After the last job of a group, it stops watching the group's context.
func (b *Batcher) complete(j *Job, out sft.Output, err error) {
	if j.complete(out, err) && j.group.incomplete.Add(-1) == 0 {
		j.group.stop()
	}
}

// Backlog estimates the time until the waiting jobs are computed.
func (b *Batcher) Backlog() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rate.timeFor(b.queue.tokens)
}

// Close waits for running batches. Submit must not be called afterwards.
func (b *Batcher) Close() {
	b.mu.Lock()
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.batches.Wait()
}
