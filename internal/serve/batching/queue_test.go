package batching

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sftseq/sftseq/seq"
)

// newJob returns a job with the given number of tokens.
func newJob(s *Account, tokens int) *Job {
	return &Job{model: &Model{}, group: &group{account: s}, tokens: tokens}
}

// queued is a queue of jobs of one model, with the token budget of its batches.
type queued struct {
	queue
	model  *Model
	budget int
}

// put adds jobs of an account with the given numbers of tokens.
func (q *queued) put(s *Account, lengths ...int) {
	for _, n := range lengths {
		j := newJob(s, n)
		j.model = q.model
		q.add(j, q.budget)
	}
}

// batch takes the next batch and returns the lengths of its jobs. If long is false, the batch does not
// start with a job above the budget.
func (q *queued) batch(long bool) (lengths []int) {
	first := q.nextDue(long)
	if first == nil {
		return nil
	}
	for _, j := range q.takeBatch(first, q.budget) {
		lengths = append(lengths, j.tokens)
	}
	return lengths
}

// expect takes the next batch and checks the lengths of its jobs.
func (q *queued) expect(t *testing.T, name string, long bool, want ...int) {
	t.Helper()
	if got := q.batch(long); !slices.Equal(got, want) {
		t.Errorf("%s: got a batch of lengths %v, want %v", name, got, want)
	}
}

// TestQueueOrder checks that short jobs overtake a long job only for a bounded time, and that a
// batch has jobs of one kind within the budget.
func TestQueueOrder(t *testing.T) {
	q := queued{model: &Model{}, budget: 100}
	s := &Account{}
	q.put(s, 5000, 20, 30, 1000, 25)
	embed := newJob(s, 22)
	embed.model, embed.work = q.model, Embed
	q.add(embed, q.budget)
	q.expect(t, "first", true, 20, 30, 25)
	if got := q.takeBatch(q.nextDue(true), q.budget); len(got) != 1 || got[0] != embed {
		t.Errorf("got a batch of %d jobs, want the job with other work alone", len(got))
	}
	q.expect(t, "long jobs", true, 1000)
	for _, newcomers := range []bool{false, true} {
		for passed := 0; ; passed++ {
			short := s
			if newcomers {
				short = &Account{}
			}
			q.put(short, 90)
			if got := q.batch(true); got[0] == 5000 {
				break
			} else if passed > 150 {
				t.Fatal("more than 150 short jobs overtook a long job")
			}
		}
		q.put(s, 5000)
	}
	for q.batch(true) != nil {
	}
	if q.jobs != 0 || q.tokens != 0 || len(q.buckets) != 0 || len(q.flows) != 0 {
		t.Errorf("got %d jobs, %d tokens, %d buckets, %d flows in an empty queue, want 0 of each", q.jobs, q.tokens,
			len(q.buckets), len(q.flows))
	}
}

// TestQueueSkipsLongJobs checks that nextDue skips jobs above the budget on request, although they
// arrived earlier than the other jobs and are of the same length class.
func TestQueueSkipsLongJobs(t *testing.T) {
	q := queued{model: &Model{}, budget: 100}
	q.put(&Account{}, 120, 80)
	if lengthClass(120) != lengthClass(80) {
		t.Fatal("120 and 80 tokens are in different classes, want the same")
	}
	q.expect(t, "without long jobs", false, 80)
	q.expect(t, "without long jobs, in a queue of long jobs", false)
	q.expect(t, "with long jobs", true, 120)
}

// TestNewcomer checks that at most one job of each other account precedes the first job of a new
// account, however long the other queues are. A short job precedes all long jobs.
func TestNewcomer(t *testing.T) {
	for _, length := range []int{2000, 100} {
		q := queued{model: &Model{}, budget: 4000}
		others := []*Account{{}, {}, {}}
		for range 1000 {
			for _, s := range others {
				q.put(s, 2000)
			}
		}
		for range 500 {
			q.expect(t, "other accounts", true, 2000, 2000)
		}
		q.put(&Account{}, length)
		newest := q.number
		var batch []*Job
		for range (len(others) + 1) / 2 { // each other account may have one job before it
			batch = append(batch, q.takeBatch(q.nextDue(true), q.budget)...)
			if length < 2000 {
				break
			}
		}
		if !slices.ContainsFunc(batch, func(j *Job) bool { return j.number == newest }) {
			t.Errorf("a new account's job of %d tokens is not among the next %d jobs", length, len(batch))
		}
	}
}

// TestShares checks that two accounts receive about the same number of tokens. The order of arrival does
// not matter, and cancelled jobs do not count.
func TestShares(t *testing.T) {
	q := queued{model: &Model{}, budget: 100}
	a, b := &Account{}, &Account{}
	var dropped []*Job
	for range 50 {
		j := newJob(b, 50)
		j.model = q.model
		q.add(j, q.budget)
		dropped = append(dropped, j)
	}
	q.put(a, slices.Repeat([]int{50}, 40)...)
	for _, j := range dropped {
		q.cancel(j)
	}
	q.put(b, slices.Repeat([]int{60}, 20)...)
	got := map[*Account]int{}
	for range 20 {
		for _, j := range q.takeBatch(q.nextDue(true), q.budget) {
			got[j.group.account] += j.tokens
		}
	}
	if x, y := got[a], got[b]; x-y > 120 || y-x > 120 {
		t.Errorf("got %d and %d tokens, want a difference of at most 120", x, y)
	}
}

// TestFlowsDeleted checks that the flows of former accounts are deleted while the queue is busy.
func TestFlowsDeleted(t *testing.T) {
	q := queued{model: &Model{}, budget: 100}
	q.put(&Account{}, 10000)
	for range 5000 {
		q.put(&Account{}, 10)
		q.batch(false)
	}
	if len(q.flows) > 2*minFlows {
		t.Errorf("got %d flows, want at most %d", len(q.flows), 2*minFlows)
	}
}

// TestCancelManyJobs checks that cancelling a large number of waiting jobs takes little time.
func TestCancelManyJobs(t *testing.T) {
	n := 200000
	if testing.Short() {
		n = 50000
	}
	b, m := start(t, Options{MaxWait: time.Millisecond})
	defer close(holdBatches(b))
	ctx, cancel := context.WithCancelCause(context.Background())
	jobs := b.Submit(ctx, &Account{}, m, Classify, slices.Repeat([]seq.Example{{A: []int32{1, 2, 3}}}, n)...)
	cancel(errUnwanted)
	limit := time.After(waitLimit)
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-limit:
			t.Fatal("cancelling took more than 5s")
		}
		if _, err := j.Wait(); !errors.Is(err, errUnwanted) {
			t.Fatal(err)
		}
	}
	eventually(t, "jobs are left", func() bool { s := b.Stats(); return s.Waiting+s.Tokens+s.Running == 0 })
	if got := b.Stats().Cancelled; got != int64(n) {
		t.Errorf("got %d cancelled jobs, want %d", got, n)
	}
}
