package batching

import (
	"cmp"
	"container/heap"
	"maps"
	"math/bits"
	"time"
)

// queue holds the waiting jobs and shares the model fairly. A flow is the jobs of one client in one class of lengths;
// each flow gets the same service, however many of its jobs wait.
//
// It is self-clocked fair queueing (Golestani 1994): the clock counts the tokens that each flow has received, and the
// finish tag of a job is its flow's service with the job included. So the first job of a new flow is due after its own
// length, and short jobs overtake a long one until they have received as much.
type queue struct {
	lines  map[kind]*line
	flows  map[flow]int64 // when the last job of each is due
	clock  int64          // when the job was due that was taken last
	number int64
	prune  int // flows at which those that are behind the clock are forgotten
	jobs   int
	tokens int
}

// kind is what the jobs of a batch have in common.
type kind struct {
	model *Model
	work  Work
	class int
	long  bool // fills a batch by itself

	// urgent jobs wait for no other jobs but urgent ones, and may preempt a batch that is
	// not urgent.
	urgent bool
}

type flow struct {
	account *Account
	class   int
}

// class is that of a number of tokens: two of one differ by less than four times.
func class(tokens int) int { return bits.Len(uint(tokens)) / 2 }

// leastFlows are not worth pruning.
const leastFlows = 64

func (q *queue) kind(j *Job, budget int) kind {
	return kind{j.model, j.work, class(j.tokens()), j.tokens() > budget, j.urgent}
}

// add queues a job; budget is the tokens of a batch of its model.
func (q *queue) add(j *Job, budget int) {
	if q.lines == nil {
		q.lines, q.flows = map[kind]*line{}, map[flow]int64{}
	}
	if len(q.flows) >= max(leastFlows, q.prune) {
		maps.DeleteFunc(q.flows, func(_ flow, due int64) bool { return due <= q.clock })
		q.prune = 2 * len(q.flows)
	}
	k, f := q.kind(j, budget), j.flow()
	q.number++
	j.due, j.number = max(q.clock, q.flows[f])+int64(j.tokens()), q.number
	q.flows[f] = j.due
	if q.lines[k] == nil {
		q.lines[k] = &line{kind: k}
	}
	j.line = q.lines[k]
	heap.Push(j.line, j)
	q.jobs++
	q.tokens += j.tokens()
}

// flow is the one that a job belongs to.
func (j *Job) flow() flow { return flow{j.group.account, class(j.tokens())} }

// remove takes out a job that waits.
func (q *queue) remove(j *Job) {
	heap.Remove(j.line, j.at)
	if len(j.line.jobs) == 0 {
		delete(q.lines, j.line.kind)
	}
	j.line = nil
	q.jobs--
	q.tokens -= j.tokens()
	if q.jobs == 0 {
		clear(q.flows) // nobody has to wait for anybody
		q.clock = 0
	}
}

// drop takes out a job that nobody wants: its flow has not had it.
func (q *queue) drop(j *Job) {
	q.flows[j.flow()] -= int64(j.tokens())
	q.remove(j)
}

// oldest is when the first job of a line arrived, of those the one that waits
// longest.
func (q *queue) oldest() time.Time {
	var t time.Time
	for _, l := range q.lines {
		if first := l.jobs[0]; t.IsZero() || first.arrived.Before(t) {
			t = first.arrived
		}
	}
	return t
}

// next is the job that is due first, or nil. Long ones are left where long is
// false.
func (q *queue) next(long bool) *Job {
	var first *Job
	for k, l := range q.lines {
		if (long || !k.long) && (first == nil || l.jobs[0].before(first)) {
			first = l.jobs[0]
		}
	}
	return first
}

// nextUrgent is the urgent job that is due first, or nil.
func (q *queue) nextUrgent() *Job {
	var first *Job
	for k, l := range q.lines {
		if k.urgent && (first == nil || l.jobs[0].before(first)) {
			first = l.jobs[0]
		}
	}
	return first
}

// take removes a batch of about budget tokens from the queue: a job and others of about
// the same length, as a short job would wait for longer ones.
func (q *queue) take(first *Job, budget int) []*Job {
	k := first.line.kind
	q.clock = max(q.clock, first.due)
	q.remove(first)
	batch, room := []*Job{first}, budget-first.tokens()
	for range 2 {
		for l := q.lines[k]; l != nil && len(l.jobs) > 0 && l.jobs[0].tokens() <= room; {
			j := l.jobs[0]
			q.remove(j)
			batch = append(batch, j)
			room -= j.tokens()
		}
		k.class--
	}
	return batch
}

// line is the jobs of a kind, a heap by when they are due.
type line struct {
	kind kind
	jobs []*Job
}

func (j *Job) before(k *Job) bool {
	return cmp.Or(cmp.Compare(j.due, k.due), cmp.Compare(j.number, k.number)) < 0
}

func (l *line) Len() int           { return len(l.jobs) }
func (l *line) Less(a, b int) bool { return l.jobs[a].before(l.jobs[b]) }

func (l *line) Swap(a, b int) {
	l.jobs[a], l.jobs[b] = l.jobs[b], l.jobs[a]
	l.jobs[a].at, l.jobs[b].at = a, b
}

func (l *line) Push(x any) {
	j := x.(*Job)
	j.at = len(l.jobs)
	l.jobs = append(l.jobs, j)
}

func (l *line) Pop() any {
	last := len(l.jobs) - 1
	j := l.jobs[last]
	l.jobs[last] = nil
	l.jobs = l.jobs[:last]
	return j
}
