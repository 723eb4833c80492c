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

// occupy fills all slots of the device with batches of a session that has had more than its share, each of a number of
// tokens.
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
	eventually(t, "not all places are taken", func() bool { return b.Stats().Running == m.Scorer.Slots() })
	return jobs
}

// TestUrgentBatch: while others have all slots, a short job of a session that has had less than its share is computed
// immediately with the same bits, and a second one does not overtake those of its own session.
func TestUrgentBatch(t *testing.T) {
	for name, tokens := range map[string]int{"beside long batches": urgentTokens + 1,
		"beside small ones": urgentTokens / 4} {
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
	case <-time.After(patience):
		t.Error("it waits for the others")
		release()
	}
	if out, err := job.Wait(); err == nil && out.Logits[0] != want[0].Logits[0] {
		t.Errorf("%v, want %v", out.Logits, want[0].Logits)
	}
	same := b.Submit(t.Context(), greedy, m, Classify, seq.Example{A: []int32{1, 2, 3}})[0]
	select {
	case <-same.done:
		t.Error("a session that has had more than its share is not made to wait")
	case <-time.After(50 * time.Millisecond):
	}
	release()
	for _, j := range append(others, same) {
		if _, err := j.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestUrgentBatchesRest: what an urgent batch has stopped goes on for as long as that took
// before another one begins.
func TestUrgentBatchesRest(t *testing.T) {
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
	at := <-began
	second := urgent()
	if after := (<-began).Sub(at); after < 2*took {
		t.Errorf("the second begins %v after the first, which took %v", after, took)
	}
	close(release)
	for _, j := range append(others, first, second) {
		if _, err := j.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestInterruptedIsFree: a batch that nobody wants any more costs its session nothing, and
// says nothing of how fast batches are.
func TestInterruptedIsFree(t *testing.T) {
	b, m := start(t, Options{MaxWait: time.Millisecond})
	x := &Account{}
	run := func(ctx context.Context) *Job {
		return b.Submit(ctx, x, m, Classify, seq.Example{A: ones(10)})[0]
	}
	ended := func() bool { s := b.Stats(); return s.Waiting+s.Running == 0 }
	had := func() (fair.Usage, pace) {
		eventually(t, "it goes on", ended)
		b.mu.Lock()
		defer b.mu.Unlock()
		return x.computed, b.pace
	}
	must.Get(run(t.Context()).Wait())(t)
	before, pace := had()
	hold(b)
	ctx, cancel := context.WithCancel(t.Context())
	j := run(ctx)
	eventually(t, "it does not run", func() bool { return !ended() })
	time.Sleep(20 * time.Millisecond) // it takes a while
	cancel()
	must.Fail(t, "", "it was computed")(j.Wait())
	if after, now := had(); after != before || now != pace {
		t.Errorf("%+v was had before it, then %+v; batches took %v, then %v", before, after, pace, now)
	}
}
