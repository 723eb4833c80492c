package batching

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestPace: a small batch, which takes long for its size, counts for its size, also
// where most are small.
func TestPace(t *testing.T) {
	var p pace
	if p.of(1000) != 0 {
		t.Error("a guess")
	}
	for range 100 {
		p.add(10*time.Millisecond, 10000, 10000)
		for range 20 {
			p.add(5*time.Millisecond, 1, 10000)
		}
	}
	if got := p.of(10000); got < 10*time.Millisecond || got > 11*time.Millisecond {
		t.Errorf("10000 tokens take %v, want about 10ms", got)
	}
}

// TestPaceOfSeveral: concurrent batches share the time that they take.
func TestPaceOfSeveral(t *testing.T) {
	b, m := start(t, Options{Tokens: 100, MaxWait: time.Millisecond})
	const each = 150 * time.Millisecond // far longer than a busy machine takes to compute a batch
	b.Before = func(context.Context) { time.Sleep(each) }
	jobs := b.Submit(context.Background(), &Account{}, m, Classify, slices.Repeat([]seq.Example{{A: ones(100)}}, 16)...)
	for _, j := range jobs {
		must.Get(j.Wait())(t)
	}
	slots := m.Scorer.Slots()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got, want := b.pace.of(100), each/time.Duration(slots); got < want*9/10 || got > each*9/10 || slots < 2 {
		t.Errorf("a batch takes %v where %d run concurrently, want about %v", got, slots, want)
	}
}
