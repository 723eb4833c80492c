package serve

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
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
	group   *group
	arrived time.Time
	urgent  bool // short, and of a session that has had less than its share

	done    chan struct{} // closed when out and err are there
	settled atomic.Bool   // set by whoever closes done
	out     sft.Output    // of embed, Embeddings alone
	err     error
	compute time.Duration // of the batch that it was in

	// Guarded by the batcher's mutex.
	batch  *batch // that runs it
	line   *line  // of the queue, while it waits there
	at     int    // in the line
	due    int64  // by the queue's clock
	number int64  // in the order of arrival
}

// group is the jobs that were submitted together. One context ends them all.
type group struct {
	session *session
	ctx     context.Context // ends when nobody wants the results any more
	stop    func() bool     // ends watching it
	left    atomic.Int64    // jobs without a result
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
