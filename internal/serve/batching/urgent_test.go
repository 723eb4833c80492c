package batching

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// occupy fills all slots of the device with batches of an account above its share, and returns the jobs.
// Each job has the given number of tokens.
func occupy(t *testing.T, b *Batcher, m *Model, greedy *Account, tokens int) []*Job {
	t.Helper()
	b.mu.Lock()
	b.meter.Charge(&greedy.computed, time.Second)
	b.mu.Unlock()
	long := make([]seq.Example, 8)
	for i := range long {
		long[i].A = ones(tokens)
	}
	jobs := b.Submit(t.Context(), greedy, m, Classify, long...)
	eventually(t, "not all slots run a batch", func() bool { return b.Stats().Running == m.Scorer.Slots() })
	return jobs
}

// TestUrgentBatch checks that a short job of an account below its share runs immediately although
// other batches occupy all slots, and that its first logit is the same as without them. A short
// job of an account above its share waits.
func TestUrgentBatch(t *testing.T) {
	for name, tokens := range map[string]int{"beside long batches": urgentTokens + 1,
		"beside small batches": urgentTokens / 4} {
		t.Run(name, func(t *testing.T) { testUrgentBatch(t, tokens) })
	}
}

func testUrgentBatch(t *testing.T, tokens int) {
	b, m := start(t, Options{Tokens: tokens, MaxWait: time.Millisecond})
	want := must.Get(m.Scorer.Examples(t.Context(), []seq.Example{{A: []int32{1, 2, 3}}}))(t)
	blocked := make(chan struct{})
	release := sync.OnceFunc(func() { close(blocked) })
	b.Before = func(ctx context.Context) {
		if !tensor.IsUrgent(ctx) {
			<-blocked
		}
	}
	greedy, modest := &Account{}, &Account{}
	others := occupy(t, b, m, greedy, tokens)
	job := b.Submit(t.Context(), modest, m, Classify, seq.Example{A: []int32{1, 2, 3}})[0]
	select {
	case <-job.done:
	case <-time.After(waitLimit):
		t.Error("the urgent job waits for the other batches")
		release()
	}
	if out, err := job.Wait(); err != nil || out.Logits[0] != want[0].Logits[0] {
		t.Errorf("got logits %v, error %v, want %v", out.Logits, err, want[0].Logits)
	}
	same := b.Submit(t.Context(), greedy, m, Classify, seq.Example{A: []int32{1, 2, 3}})[0]
	select {
	case <-same.done:
		t.Error("the job of an account above its share did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	release()
	for _, j := range append(others, same) {
		if _, err := j.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestUrgentBatchesPause checks that preempted batches run for as long as an urgent batch took,
// before the next urgent batch starts.
func TestUrgentBatchesPause(t *testing.T) {
	b, m := start(t, Options{MaxWait: time.Millisecond})
	const took = 100 * time.Millisecond
	release, began := make(chan struct{}), make(chan time.Time, 2)
	b.Before = func(ctx context.Context) {
		if !tensor.IsUrgent(ctx) {
			<-release
			return
		}
		began <- time.Now()
		time.Sleep(took)
	}
	others := occupy(t, b, m, &Account{}, urgentTokens+1)
	urgent := func() *Job {
		return b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: []int32{1, 2, 3}})[0]
	}
	first := urgent()
	firstBegan := <-began
	second := urgent()
	if after := (<-began).Sub(firstBegan); after < 2*took {
		t.Errorf("the second urgent batch started %v after the first, which took %v, want at least twice that time",
			after, took)
	}
	close(release)
	for _, j := range append(others, first, second) {
		if _, err := j.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestInterruptedIsFree checks that an interrupted batch neither charges the account of its job nor
// changes the estimated rate.
func TestInterruptedIsFree(t *testing.T) {
	b, m := start(t, Options{MaxWait: time.Millisecond})
	x := &Account{}
	run := func(ctx context.Context) *Job {
		return b.Submit(ctx, x, m, Classify, seq.Example{A: ones(10)})[0]
	}
	ended := func() bool { s := b.Stats(); return s.Waiting+s.Running == 0 }
	state := func() (fair.Usage, rate) {
		eventually(t, "the batch did not end", ended)
		b.mu.Lock()
		defer b.mu.Unlock()
		return x.computed, b.rate
	}
	must.Get(run(t.Context()).Wait())(t)
	before, rateBefore := state()
	holdBatches(b)
	ctx, cancel := context.WithCancel(t.Context())
	j := run(ctx)
	eventually(t, "the job does not run", func() bool { return !ended() })
	time.Sleep(20 * time.Millisecond) // computing time that must not be charged
	cancel()
	must.Fail(t, "", "a cancelled job was computed")(j.Wait())
	if after, rateAfter := state(); after != before || rateAfter != rateBefore {
		t.Errorf("usage %+v became %+v, rate %v became %v, want no change", before, after, rateBefore, rateAfter)
	}
}
