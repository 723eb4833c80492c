package serve

import (
	"context"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// occupy takes all places of the device by long batches of a session that has had more
// than its share.
func occupy(t *testing.T, greedy *session) []*job {
	t.Helper()
	b, m := greedy.server.batcher, greedy.server.current()
	b.mu.Lock()
	b.meter.charge(&greedy.share.computed, time.Second)
	b.mu.Unlock()
	long := make([]seq.Example, 8)
	for i := range long {
		long[i].A = ones(urgentTokens + 1)
	}
	jobs := b.submit(t.Context(), greedy, m, classify, long...)
	eventually(t, "not all places are taken", func() bool { _, _, running := b.waiting(); return running == m.Scorer.Slots() })
	return jobs
}

// TestUrgentBatch: where others have all places, the short job of a session that has had
// less than its share is computed at once, and a second one is not ahead of those of its
// own session; with the same bits.
func TestUrgentBatch(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	m := s.current()
	want, err := m.Scorer.Examples(t.Context(), []seq.Example{{A: []int32{1, 2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	s.batcher.before = func(ctx context.Context) {
		if !tensor.IsUrgent(ctx) {
			<-release
		}
	}
	greedy, modest := bareSession(s), bareSession(s)
	others := occupy(t, greedy)
	job := s.batcher.submit(t.Context(), modest, m, classify, seq.Example{A: []int32{1, 2, 3}})[0]
	select {
	case <-job.done:
	case <-time.After(patience):
		t.Error("it waits for the others")
	}
	if out, err := job.wait(); err == nil && out.Logits[0] != want[0].Logits[0] {
		t.Errorf("%v, want %v", out.Logits, want[0].Logits)
	}
	same := s.batcher.submit(t.Context(), greedy, m, classify, seq.Example{A: []int32{1, 2, 3}})[0]
	select {
	case <-same.done:
		t.Error("a session that has had more than its share is not made to wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	for _, j := range append(others, same) {
		if _, err := j.wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestUrgentBatchesRest: what an urgent batch has stopped goes on for as long as that took
// before another one begins.
func TestUrgentBatchesRest(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	const took = 100 * time.Millisecond
	release, began := make(chan struct{}), make(chan time.Time, 2)
	s.batcher.before = func(ctx context.Context) {
		if !tensor.IsUrgent(ctx) {
			<-release
			return
		}
		began <- time.Now()
		time.Sleep(took)
	}
	others := occupy(t, bareSession(s))
	urgent := func() *job {
		return s.batcher.submit(t.Context(), bareSession(s), s.current(), classify, seq.Example{A: []int32{1, 2, 3}})[0]
	}
	first := urgent()
	at := <-began
	second := urgent()
	if after := (<-began).Sub(at); after < 2*took {
		t.Errorf("the second begins %v after the first, which took %v", after, took)
	}
	close(release)
	for _, j := range append(others, first, second) {
		if _, err := j.wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestInterruptedIsFree: a batch that nobody wants any more costs its session nothing, and
// says nothing of how fast batches are.
func TestInterruptedIsFree(t *testing.T) {
	s := start(t, testOptions(t, "pre"))
	b, x := s.batcher, bareSession(s)
	run := func(ctx context.Context) *job {
		return b.submit(ctx, x, s.current(), classify, seq.Example{A: ones(10)})[0]
	}
	ended := func() bool { jobs, _, running := b.waiting(); return jobs+running == 0 }
	had := func() (time.Duration, pace) {
		eventually(t, "it goes on", ended)
		b.mu.Lock()
		defer b.mu.Unlock()
		return x.share.computed.had, b.pace
	}
	if _, err := run(t.Context()).wait(); err != nil {
		t.Fatal(err)
	}
	before, pace := had()
	hold(s)
	ctx, cancel := context.WithCancel(t.Context())
	j := run(ctx)
	eventually(t, "it does not run", func() bool { return !ended() })
	time.Sleep(20 * time.Millisecond) // it takes a while
	cancel()
	if _, err := j.wait(); err == nil {
		t.Error("it was computed")
	}
	if after, now := had(); after != before || now != pace {
		t.Errorf("%v were had before it, then %v; batches took %v, then %v", before, after, pace, now)
	}
}
