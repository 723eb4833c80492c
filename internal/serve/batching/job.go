package batching

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sftseq/sftseq/internal/serve/fair"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Work is what a job asks the model for.
type Work int

const (
	Classify Work = iota // logits
	Explain              // logits, and what was read
	Embed                // the pooled vector of one sequence
)

// Job is one example on its way through the batcher.
type Job struct {
	model   *Model
	work    Work
	example seq.Example
	group   *group
	arrived time.Time
	urgent  bool // short, and of a session that has had less than its share

	done      chan struct{} // closed when out and err are there
	completed atomic.Bool   // set by whoever closes done
	out       sft.Output    // for Embed, Embeddings alone
	err       error
	took      time.Duration // duration of its batch

	// Guarded by the batcher's mutex.
	batch  *batch // batch that runs it
	line   *line  // line of the queue while it waits
	at     int    // in the line
	due    int64  // by the queue's clock
	number int64  // in the order of arrival
}

// Account is who jobs are of, and what it has had. But for the log, the batcher's mutex
// guards it.
type Account struct {
	Log *slog.Logger // logs failures

	computed fair.Usage // by the model
	pending  int        // tokens that it is asked for
}

// group is the jobs that were submitted together. One context ends them all.
type group struct {
	account *Account
	ctx     context.Context // ends when nobody wants the results any more
	stop    func() bool     // ends watching it
	left    atomic.Int64    // jobs without a result
}

// leastTokens are as many as a sequence of fewer takes as long as: in a batch of 500 sequences of
// one token others would wait for 10 ms, not for one.
const leastTokens = 16

func (j *Job) tokens() int { return max(Tokens(&j.example), leastTokens) }

// Tokens is how many tokens an example counts as: more than it has, if these have many edges.
func Tokens(e *seq.Example) int { return sft.PlannedTokens(e.Length(), len(e.Edges)) }

// complete sets the result, if there is none yet.
func (j *Job) complete(out sft.Output, err error) bool {
	if !j.completed.CompareAndSwap(false, true) {
		return false
	}
	j.out, j.err = out, err
	close(j.done)
	return true
}

// Wait returns the result when it is there.
func (j *Job) Wait() (sft.Output, error) {
	<-j.done
	return j.out, j.err
}

// Took is the duration of the batch that computed the result. It may be called after Wait has returned without an
// error.
func (j *Job) Took() time.Duration { return j.took }
