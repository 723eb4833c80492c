package serve

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// batcher fills the passes of a model with the jobs of all sessions. A batch
// begins as soon as there is a place for it; while others run, one that is not
// full waits a little for company. No bit of a result depends on the company.
type batcher struct {
	budget  int           // tokens of a batch, 0 for what a pass takes
	maxWait time.Duration // for company
	metrics *metrics
	before  func(context.Context)      // a test may hold a batch here
	lost    func(*served, error) error // what jobs end with if an error is a lost device's, or nil

	mu      sync.Mutex
	queue   queue
	running int       // batches
	long    int       // of these, with a sequence beyond the budget
	small   int       // of all that run, those of at most urgentTokens
	urgent  bool      // one runs beside those that there are places for
	rest    time.Time // until then the others are not stopped again
	pace    pace
	meter   meter // of what is computed
	timer   *time.Timer
	batches sync.WaitGroup
}

// batch is what runs at once.
type batch struct {
	jobs   []*job
	wanted int // jobs that somebody waits for; guarded by the batcher's mutex
	cancel context.CancelFunc

	// prioritized is a context with the batch's priority on the device.
	prioritized func(context.Context) context.Context
}

// pace is how fast batches are computed. The averages of time and of tokens are
// apart, and a batch counts by how full it is: a small one takes long for what it
// is, and when many wait there are none.
type pace struct{ took, tokens float64 }

// add notes the share of its time that a batch has had of the device, and its tokens.
func (p *pace) add(took time.Duration, tokens, budget int) {
	weight := min(1, float64(tokens)/float64(budget)) / 8
	p.took += (float64(took) - p.took) * weight
	p.tokens += (float64(tokens) - p.tokens) * weight
}

func (p *pace) of(tokens int) time.Duration {
	if p.tokens == 0 {
		return 0
	}
	return time.Duration(p.took / p.tokens * float64(tokens))
}

func newBatcher(budget int, maxWait time.Duration, m *metrics) *batcher {
	return &batcher{budget: budget, maxWait: maxWait, metrics: m}
}

// budgetOf is how many tokens a batch of a model has.
func (b *batcher) budgetOf(m *served) int {
	if b.budget > 0 {
		return b.budget
	}
	return m.Scorer.PassTokens()
}

// submit queues a job for each example, of a session's share. When ctx ends their
// places are free, and their errors are the context's cause.
func (b *batcher) submit(ctx context.Context, s *session, m *served, w work, examples ...seq.Example) []*job {
	g := &group{session: s, ctx: ctx}
	g.left.Store(int64(len(examples)))
	tokens := 0
	for _, e := range examples {
		tokens += e.Length()
	}
	jobs, now := make([]*job, len(examples)), time.Now()
	for i, e := range examples {
		jobs[i] = &job{model: m, work: w, example: e, group: g, arrived: now, done: make(chan struct{})}
	}
	if ctx.Err() != nil {
		b.metrics.cancelled.Add(int64(len(jobs)))
		for _, j := range jobs {
			j.settle(sft.Output{}, context.Cause(ctx))
		}
		return jobs
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meter.join(&s.share.computed)
	urgent := s.share.pending+tokens <= urgentTokens && m.Scorer.Preemptive() && b.meter.light(&s.share.computed)
	g.stop = context.AfterFunc(ctx, func() { b.drop(jobs) })
	for _, j := range jobs {
		if !m.use() {
			b.settle(j, sft.Output{}, errStopped)
			continue
		}
		s.share.pending += j.tokens()
		j.urgent = urgent
		b.queue.add(j, b.budgetOf(m))
	}
	b.start()
	return jobs
}

// drop ends jobs that nobody wants, and the batches that had no others.
func (b *batcher) drop(jobs []*job) {
	var waited []*job
	b.mu.Lock()
	for _, j := range jobs {
		if !j.settle(sft.Output{}, context.Cause(j.group.ctx)) {
			continue
		}
		b.metrics.cancelled.Add(1)
		switch {
		case j.line != nil:
			j.group.session.share.pending -= j.tokens()
			b.queue.drop(j)
			waited = append(waited, j)
		case j.batch != nil:
			if j.batch.wanted--; j.batch.wanted == 0 {
				j.batch.cancel()
			}
		}
	}
	b.mu.Unlock()
	leave(waited)
}

// leave ends the use of models, and maybe of a device, which takes a while. The
// caller does not hold b.mu: nobody would be served meanwhile.
func leave(jobs []*job) {
	for _, j := range jobs {
		j.model.done()
	}
}

// start begins the batches that there are places for. The caller holds b.mu.
func (b *batcher) start() {
	for b.queue.jobs > 0 {
		places := b.queue.next(true).model.Scorer.Slots()
		first := b.queue.nextUrgent()
		if b.running >= places {
			// Small batches are soon done: only large ones are stopped for another.
			if first == nil || b.urgent || b.small > 0 {
				return
			}
			if left := time.Until(b.rest); left > 0 {
				b.wake(left)
				return
			}
			b.begin(b.queue.take(first, urgentTokens), urgentTokens, true)
			continue
		}
		if first == nil {
			// One place is kept from long sequences, if there are several.
			first = b.queue.next(b.long == 0 || b.long < places-1)
		}
		if first == nil {
			return
		}
		budget := b.budgetOf(first.model)
		if first.urgent {
			budget = min(budget, urgentTokens)
		} else if b.running > 0 && b.queue.tokens < budget {
			if left := b.maxWait - time.Since(b.queue.oldest()); left > 0 {
				b.wake(left)
				return
			}
		}
		b.begin(b.queue.take(first, budget), budget, false)
	}
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

// urgentTokens are the most that an urgent batch has: it is computed in about a
// millisecond.
const urgentTokens = 512

// begin runs a batch, in one of the places or, if it is urgent, beside them. The caller
// holds b.mu.
func (b *batcher) begin(jobs []*job, budget int, urgent bool) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &batch{jobs: jobs, wanted: len(jobs), cancel: cancel, prioritized: func(ctx context.Context) context.Context { return ctx }}
	switch {
	case urgent:
		r.prioritized = sft.Urgent
	case !jobs[0].urgent:
		r.prioritized = sft.Patient
	}
	tokens := 0
	for _, j := range jobs {
		j.batch = r
		tokens += j.tokens()
	}
	small, long := tokens <= urgentTokens, tokens > budget
	if urgent {
		b.urgent = true
	} else {
		b.running++
	}
	if small {
		b.small++
	}
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
		if !interrupted {
			b.metrics.batch(len(jobs), tokens, took)
			b.pace.add(took/time.Duration(max(1, b.running)), tokens, budget)
		}
		for _, j := range jobs {
			j.group.session.share.pending -= j.tokens()
			if !interrupted {
				b.meter.charge(&j.group.session.share.computed, b.pace.of(j.tokens()))
			}
		}
		if urgent {
			// Whoever opens a connection for each request is light: the others go on as long as
			// they were stopped.
			b.urgent, b.rest = false, time.Now().Add(took)
		} else {
			b.running--
		}
		if small {
			b.small--
		}
		if long {
			b.long--
		}
		b.start()
		b.mu.Unlock()
		leave(jobs)
	})
}

// run computes a batch and settles its jobs. If it fails its jobs are tried one
// by one: what is wrong with one is not the others' fault. When the device is lost
// none is tried any more.
func (b *batcher) run(ctx context.Context, r *batch) {
	err := b.compute(r.prioritized(ctx), r.jobs)
	if err == nil {
		return
	}
	model := r.jobs[0].model
	lost := b.lost(model, err)
	if lost != nil {
		err = lost
	}
	alone := lost == nil && len(r.jobs) > 1 && ctx.Err() == nil
	for _, j := range r.jobs {
		if alone && lost == nil && !j.settled.Load() {
			if err = b.compute(r.prioritized(j.group.ctx), []*job{j}); err == nil {
				continue
			}
			if lost = b.lost(model, err); lost != nil {
				err = lost
			}
		}
		b.settle(j, sft.Output{}, err)
	}
}

// compute scores jobs in one call and settles them, unless it fails.
func (b *batcher) compute(ctx context.Context, jobs []*job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			jobs[0].group.session.log.Error("the model failed", "panic", p, "stack", string(debug.Stack()))
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

// settle ends a job, and with the last one of its group that it is watched.
func (b *batcher) settle(j *job, out sft.Output, err error) {
	if j.settle(out, err) && j.group.left.Add(-1) == 0 {
		j.group.stop()
	}
}

// waiting is what the queue holds, and how many batches run.
func (b *batcher) waiting() (jobs, tokens, running int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.jobs, b.queue.tokens, b.running
}

// busy is for about how long what waits will be computed.
func (b *batcher) busy() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pace.of(b.queue.tokens)
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
