package batching

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestRate checks that small batches, which take longer per token, have little weight even if most
// batches are small.
func TestRate(t *testing.T) {
	var p rate
	if p.timeFor(1000) != 0 {
		t.Error("the estimate before the first batch is not 0")
	}
	for range 100 {
		p.add(10*time.Millisecond, 10000, 10000)
		for range 20 {
			p.add(5*time.Millisecond, 1, 10000)
		}
	}
	if got := p.timeFor(10000); got < 10*time.Millisecond || got > 11*time.Millisecond {
		t.Errorf("got %v for 10000 tokens, want about 10ms", got)
	}
}

// TestRateOfConcurrentBatches checks that the time of concurrent batches is divided among them.
func TestRateOfConcurrentBatches(t *testing.T) {
	b, m := start(t, Options{Tokens: 100, MaxWait: time.Millisecond})
	const each = 150 * time.Millisecond // far longer than a busy machine needs to compute a batch
	b.Before = func(context.Context) { time.Sleep(each) }
	jobs := b.Submit(context.Background(), &Account{}, m, Classify, slices.Repeat([]seq.Example{{A: ones(100)}}, 16)...)
	for _, j := range jobs {
		must.Get(j.Wait())(t)
	}
	slots := m.Scorer.Slots()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got, want := b.rate.timeFor(100), each/time.Duration(slots); got < want*9/10 || got > each*9/10 || slots < 2 {
		t.Errorf("got %v per batch with %d concurrent batches, want about %v", got, slots, want)
	}
}
