package serve

import (
	"context"
	"sync/atomic"
	"time"

	"sftseq/seq"
	"sftseq/sft"
)

// work is what a job asks the model for.
type work int

const (
	classify work = iota // logits
	explain              // logits, and what was read
	embed                // the pooled vector of one sequence
)

// job is one example on its way through the batcher.
type job struct {
	model   *served
	work    work
	example seq.Example
	ctx     context.Context // ends when nobody wants the result any more
	arrived time.Time

	done    chan struct{} // closed when out and err are there
	settled atomic.Bool   // set by whoever closes done
	out     sft.Output    // of embed, Embeddings alone
	err     error
	compute time.Duration // of the batch that it was in

	batch *batch      // that runs it; guarded by the batcher's mutex
	stop  func() bool // ends watching ctx
}

func (j *job) tokens() int { return j.example.Length() }

// settle sets the result, if there is none yet.
func (j *job) settle(out sft.Output, err error) bool {
	if !j.settled.CompareAndSwap(false, true) {
		return false
	}
	j.out, j.err = out, err
	close(j.done)
	return true
}

// wait returns the result when it is there.
func (j *job) wait() (sft.Output, error) {
	<-j.done
	return j.out, j.err
}
