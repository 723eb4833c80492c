package batching

import (
	"cmp"
	"container/heap"
	"maps"
	"math/bits"
	"time"
)

// queue holds the waiting jobs and is fair among flows. A flow is one account's jobs of one length
// class. Every flow gets the same share of the model, independent of its number of waiting jobs.
//
// The algorithm is self-clocked fair queueing (Golestani 1994). The virtual clock counts the tokens received
// by each flow. A job is due when its flow has received the tokens of its earlier jobs and of the job itself.
// The first job of a new flow is thus delayed only by its own length. Short jobs overtake a long job until
// their flow has received as many tokens as the long job has.
type queue struct {
	buckets map[kind]*bucket
	flows   map[flow]int64 // due time of each flow's last job
	clock   int64          // largest due time of the taken jobs that started a batch
	number  int64
	pruneAt int // number of flows at which flows behind the clock are deleted
	jobs    int
	tokens  int
}

// kind has the properties that select a job's bucket. The jobs of a batch share them, except for class.
type kind struct {
	model *Model
	work  Work
	class int
	long  bool // exceeds the token budget, so the job is alone in its batch

	// urgent jobs are batched only with each other and do not wait for more jobs. Their batch may
	// preempt other batches.
	urgent bool
}

type flow struct {
	account *Account
	class   int
}

// lengthClass returns the length class of a number of tokens. Lengths of one class differ by less than a
// factor of four.
func lengthClass(tokens int) int { return bits.Len(uint(tokens)) / 2 }

// minFlows is the minimum number of flows for pruning.
const minFlows = 64

func (q *queue) kind(j *Job, budget int) kind {
	return kind{j.model, j.work, lengthClass(j.tokens), j.tokens > budget, j.urgent}
}

// add queues a job; budget is the number of tokens per batch of its model.
func (q *queue) add(j *Job, budget int) {
	if q.buckets == nil {
		q.buckets, q.flows = map[kind]*bucket{}, map[flow]int64{}
	}
	if len(q.flows) >= max(minFlows, q.pruneAt) {
		maps.DeleteFunc(q.flows, func(_ flow, due int64) bool { return due <= q.clock })
		q.pruneAt = 2 * len(q.flows)
	}
	k, f := q.kind(j, budget), j.flow()
	q.number++
	j.due, j.number = max(q.clock, q.flows[f])+int64(j.tokens), q.number
	q.flows[f] = j.due
	if q.buckets[k] == nil {
		q.buckets[k] = &bucket{kind: k}
	}
	j.bucket = q.buckets[k]
	heap.Push(j.bucket, j)
	q.jobs++
	q.tokens += j.tokens
}

// flow returns the flow of a job.
func (j *Job) flow() flow { return flow{j.group.account, lengthClass(j.tokens)} }

// remove removes a waiting job.
func (q *queue) remove(j *Job) {
	heap.Remove(j.bucket, j.index)
	if len(j.bucket.jobs) == 0 {
		delete(q.buckets, j.bucket.kind)
	}
	j.bucket = nil
	q.jobs--
	q.tokens -= j.tokens
	if q.jobs == 0 {
		clear(q.flows) // the queue is empty, so no flow waits for another
		q.clock = 0
	}
}

// cancel removes a cancelled job and subtracts the job's tokens from its flow's last due time.
func (q *queue) cancel(j *Job) {
	q.flows[j.flow()] -= int64(j.tokens)
	q.remove(j)
}

// oldest returns the earliest arrival time among the first jobs of all buckets.
func (q *queue) oldest() time.Time {
	var t time.Time
	for _, l := range q.buckets {
		if first := l.jobs[0]; t.IsZero() || first.arrived.Before(t) {
			t = first.arrived
		}
	}
	return t
}

// nextDue returns the job that is due first, or nil. Long jobs are skipped unless long is true.
func (q *queue) nextDue(long bool) *Job {
	var first *Job
	for k, l := range q.buckets {
		if (long || !k.long) && (first == nil || l.jobs[0].before(first)) {
			first = l.jobs[0]
		}
	}
	return first
}

// nextUrgent returns the urgent job that is due first, or nil.
func (q *queue) nextUrgent() *Job {
	var first *Job
	for k, l := range q.buckets {
		if k.urgent && (first == nil || l.jobs[0].before(first)) {
			first = l.jobs[0]
		}
	}
	return first
}

// takeBatch removes a waiting job and further jobs for the same batch from the queue, and returns them.
// Together they exceed the token budget only if the given job alone does. The jobs have similar lengths,
// because a short job waits for the longest job of its batch.
func (q *queue) takeBatch(first *Job, budget int) []*Job {
	k := first.bucket.kind
	q.clock = max(q.clock, first.due)
	q.remove(first)
	batch, room := []*Job{first}, budget-first.tokens
	for range 2 {
		for l := q.buckets[k]; l != nil && len(l.jobs) > 0 && l.jobs[0].tokens <= room; {
			j := l.jobs[0]
			q.remove(j)
			batch = append(batch, j)
			room -= j.tokens
		}
		k.class--
	}
	return batch
}

// bucket is the jobs of a kind: a heap ordered by due time.
type bucket struct {
	kind kind
	jobs []*Job
}

func (j *Job) before(k *Job) bool {
	return cmp.Or(cmp.Compare(j.due, k.due), cmp.Compare(j.number, k.number)) < 0
}

func (l *bucket) Len() int           { return len(l.jobs) }
func (l *bucket) Less(a, b int) bool { return l.jobs[a].before(l.jobs[b]) }

func (l *bucket) Swap(a, b int) {
	l.jobs[a], l.jobs[b] = l.jobs[b], l.jobs[a]
	l.jobs[a].index, l.jobs[b].index = a, b
}

func (l *bucket) Push(x any) {
	j := x.(*Job)
	j.index = len(l.jobs)
	l.jobs = append(l.jobs, j)
}

func (l *bucket) Pop() any {
	last := len(l.jobs) - 1
	j := l.jobs[last]
	l.jobs[last] = nil
	l.jobs = l.jobs[:last]
	return j
}
