package batching

import "time"

// Stats is what a batcher does, and what it has done.
type Stats struct {
	Waiting   int   // jobs in the queue
	Tokens    int   // the same
	Running   int   // batches, but for an urgent one
	Cancelled int64 // jobs that nobody wanted any more

	// What was computed.
	Batches, Jobs, Computed int64 // the last is of tokens
	Computing               time.Duration
}

// add counts a batch.
func (s *Stats) add(jobs, tokens int, took time.Duration) {
	s.Batches++
	s.Jobs += int64(jobs)
	s.Computed += int64(tokens)
	s.Computing += took
}

// Stats is what the batcher does now, and what it has done since it began.
func (b *Batcher) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Waiting, s.Tokens, s.Running = b.queue.jobs, b.queue.tokens, b.running
	return s
}
