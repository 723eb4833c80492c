package batching

import "time"

// Stats is a snapshot of a batcher's queue, with the batcher's counters since its start.
type Stats struct {
	Waiting   int   // jobs in the queue
	Tokens    int   // tokens in the queue
	Running   int   // batches that run in slots; an urgent batch may run in addition
	Cancelled int64 // cancelled jobs

	Batches   int64         // computed batches
	Jobs      int64         // jobs in the computed batches
	Computed  int64         // tokens in the computed batches
	Computing time.Duration // sum of the times of the computed batches, which may overlap
}

// add counts a computed batch.
func (s *Stats) add(jobs, tokens int, took time.Duration) {
	s.Batches++
	s.Jobs += int64(jobs)
	s.Computed += int64(tokens)
	s.Computing += took
}

// Stats returns a snapshot of the queue and the counters.
func (b *Batcher) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Waiting, s.Tokens, s.Running = b.queue.jobs, b.queue.tokens, b.running
	return s
}
