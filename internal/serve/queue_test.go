package serve

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sftseq/sftseq/seq"
)

// waiting is a job of a session as the queue sees it.
func waiting(s *session, tokens int) *job {
	return &job{model: &served{}, group: &group{session: s}, example: seq.Example{A: make([]int32, tokens)}}
}

// queued is a queue with jobs of one model, and the tokens of the batches that it
// gives.
type queued struct {
	queue
	model  *served
	budget int
}

func (q *queued) put(s *session, lengths ...int) {
	for _, n := range lengths {
		j := waiting(s, n)
		j.model = q.model
		q.add(j, q.budget)
	}
}

func (q *queued) batch(long bool) (lengths []int) {
	first := q.next(long)
	if first == nil {
		return nil
	}
	for _, j := range q.take(first, q.budget) {
		lengths = append(lengths, j.tokens())
	}
	return lengths
}

func (q *queued) expect(t *testing.T, what string, long bool, want ...int) {
	t.Helper()
	if got := q.batch(long); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestQueueOrder: short jobs pass a long one, but not for ever, and batches are of
// one kind and within the budget.
func TestQueueOrder(t *testing.T) {
	q := queued{model: &served{}, budget: 100}
	s := &session{share: newTurns(2, func(int) {}).share()}
	q.put(s, 5000, 20, 30, 1000, 25)
	odd := waiting(s, 22)
	odd.model, odd.work = q.model, embed
	q.add(odd, q.budget)
	q.expect(t, "first", true, 20, 30, 25)
	if got := q.take(q.next(true), q.budget); len(got) != 1 || got[0] != odd {
		t.Errorf("then %d jobs", len(got))
	}
	q.expect(t, "of the long ones", true, 1000)
	for _, newcomers := range []bool{false, true} {
		for passed := 0; ; passed++ {
			short := s
			if newcomers {
				short = &session{share: newTurns(2, func(int) {}).share()}
			}
			q.put(short, 90)
			if got := q.batch(true); got[0] == 5000 {
				break
			} else if passed > 150 {
				t.Fatal("a long one waits for ever")
			}
		}
		q.put(s, 5000)
	}
	for q.batch(true) != nil {
	}
	if q.jobs != 0 || q.tokens != 0 || len(q.lines) != 0 || len(q.flows) != 0 {
		t.Errorf("%d jobs, %d tokens, %d lines, %d flows are left", q.jobs, q.tokens, len(q.lines), len(q.flows))
	}
}

// TestQueueLeavesLongOnes: those that a batch has room for are taken although one
// of their class is beyond it and came before.
func TestQueueLeavesLongOnes(t *testing.T) {
	q := queued{model: &served{}, budget: 100}
	q.put(&session{share: newTurns(2, func(int) {}).share()}, 120, 80)
	if class(120) != class(80) {
		t.Fatal("two classes")
	}
	q.expect(t, "without long ones", false, 80)
	q.expect(t, "without any", false)
	q.expect(t, "with long ones", true, 120)
}

// TestNewcomer: whatever others have queued, and for how long, who comes is in the
// next batch of its length, and a short one before any long one.
func TestNewcomer(t *testing.T) {
	for _, length := range []int{2000, 100} {
		q := queued{model: &served{}, budget: 4000}
		others := []*session{&session{share: newTurns(2, func(int) {}).share()}, &session{share: newTurns(2, func(int) {}).share()}, &session{share: newTurns(2, func(int) {}).share()}}
		for range 1000 {
			for _, s := range others {
				q.put(s, 2000)
			}
		}
		for range 500 {
			q.expect(t, "the others", true, 2000, 2000)
		}
		q.put(&session{share: newTurns(2, func(int) {}).share()}, length)
		want := []int{2000, 2000}
		if length < 2000 {
			want = []int{length}
		}
		newest := q.number
		var batch []*job
		for range (len(others) + 1) / 2 { // one of each of the others may be before it
			batch = append(batch, q.take(q.next(true), q.budget)...)
			if length < 2000 {
				break
			}
		}
		if !slices.ContainsFunc(batch, func(j *job) bool { return j.number == newest }) {
			t.Errorf("one of %d tokens is not in the next batch, want %v", length, want)
		}
	}
}

// TestShares: two sessions get as much as each other, whoever came first, and what
// was cancelled does not count.
func TestShares(t *testing.T) {
	q := queued{model: &served{}, budget: 100}
	a, b := &session{share: newTurns(2, func(int) {}).share()}, &session{share: newTurns(2, func(int) {}).share()}
	var dropped []*job
	for range 50 {
		j := waiting(b, 50)
		j.model = q.model
		q.add(j, q.budget)
		dropped = append(dropped, j)
	}
	q.put(a, slices.Repeat([]int{50}, 40)...)
	for _, j := range dropped {
		q.drop(j)
	}
	q.put(b, slices.Repeat([]int{60}, 20)...)
	got := map[*session]int{}
	for range 20 {
		for _, j := range q.take(q.next(true), q.budget) {
			got[j.group.session] += j.tokens()
		}
	}
	if x, y := got[a], got[b]; x-y > 120 || y-x > 120 {
		t.Errorf("%d and %d tokens", x, y)
	}
}

// TestFlowsForgotten: sessions that are gone leave nothing while others keep the
// queue busy.
func TestFlowsForgotten(t *testing.T) {
	q := queued{model: &served{}, budget: 100}
	q.put(&session{share: newTurns(2, func(int) {}).share()}, 10000)
	for range 5000 {
		q.put(&session{share: newTurns(2, func(int) {}).share()}, 10)
		q.batch(false)
	}
	if len(q.flows) > 2*leastFlows {
		t.Errorf("%d flows are kept", len(q.flows))
	}
}

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

// TestPaceOfSeveral: batches that run at once share the time that they take.
func TestPaceOfSeveral(t *testing.T) {
	o := testOptions(t, "pre")
	o.MaxBatchTokens = 100
	s := start(t, o)
	const each = 40 * time.Millisecond
	s.batcher.before = func(context.Context) { time.Sleep(each) }
	jobs := s.batcher.submit(context.Background(), bareSession(s), s.current(), classify, slices.Repeat([]seq.Example{{A: ones(100)}}, 20)...)
	for _, j := range jobs {
		if _, err := j.wait(); err != nil {
			t.Fatal(err)
		}
	}
	slots := s.current().Scorer.Slots()
	s.batcher.mu.Lock()
	defer s.batcher.mu.Unlock()
	if got, want := s.batcher.pace.of(100), each/time.Duration(slots); got < want*9/10 || got > want*17/10 || slots < 2 {
		t.Errorf("a batch takes %v where %d run at once, want about %v", got, slots, want)
	}
}

// TestCancelAtOnce: what waits is dropped at once, however much it is.
func TestCancelAtOnce(t *testing.T) {
	n := 200000
	if testing.Short() {
		n = 50000
	}
	s := start(t, testOptions(t, "pre"))
	release := hold(s)
	defer close(release)
	m := s.current()
	ctx, cancel := context.WithCancelCause(context.Background())
	jobs := s.batcher.submit(ctx, bareSession(s), m, classify, slices.Repeat([]seq.Example{{A: []int32{1, 2, 3}}}, n)...)
	cancel(errCancelled)
	limit := time.After(patience)
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-limit:
			t.Fatal("cancelling takes for ever")
		}
		if _, err := j.wait(); !errors.Is(err, errCancelled) {
			t.Fatal(err)
		}
	}
	eventually(t, "the batch goes on", func() bool { jobs, tokens, running := s.batcher.waiting(); return jobs+tokens+running == 0 })
	if got := s.metrics.cancelled.Load(); got != int64(n) {
		t.Errorf("%d are counted, want %d", got, n)
	}
}
