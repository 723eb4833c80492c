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

// Work is the kind of a job's result.
type Work int

const (
	Classify Work = iota // logits
	Explain              // logits and explanations
	Embed                // the pooled vector of one sequence
)

// Job is an example submitted to the batcher.
type Job struct {
	model   *Model
	work    Work
	example seq.Example
	tokens  int // cost in tokens, at least minTokens
	group   *group
	arrived time.Time
	urgent  bool // a short job of an account below its share

	done        chan struct{} // closed when out and err are set
	completed   atomic.Bool   // set by the goroutine that closes done
	out         sft.Output    // result; Embed sets Embeddings only
	err         error
	computeTime time.Duration // computing time of its batch

	// Guarded by the batcher's mutex.
	batch  *batch  // running batch, or nil
	bucket *bucket // queue bucket of a waiting job
	index  int     // index in its bucket
	due    int64   // virtual time by which the job is to be computed
	number int64   // order of arrival
}

// Account is a client's usage of the batcher. The batcher's mutex guards it, except the log.
type Account struct {
	Log *slog.Logger // log of failed jobs

	computed fair.Usage // computing time
	pending  int        // tokens of waiting and running jobs
}

// group is the jobs submitted together, with one context.
type group struct {
	account    *Account
	ctx        context.Context // ends when the results are not needed
	stop       func() bool     // stops watching ctx
	incomplete atomic.Int64    // jobs without a result, including cancelled jobs
}

// minTokens is the minimum cost of a sequence in tokens. Without it, an urgent batch could have 512
// sequences of one token and would take 10 ms instead of 1 ms.
const minTokens = 16

// Tokens returns the size of an example in tokens: its length, or more for a graph with many edges.
func Tokens(e *seq.Example) int { return sft.PlannedTokens(e.Length(), len(e.Edges)) }

// complete sets the result unless the job already has one, and reports whether it did.
func (j *Job) complete(out sft.Output, err error) bool {
	if !j.completed.CompareAndSwap(false, true) {
		return false
	}
	j.out, j.err = out, err
	close(j.done)
	return true
}

// Wait blocks until the job is complete and returns its result.
func (j *Job) Wait() (sft.Output, error) {
	<-j.done
	return j.out, j.err
}

// ComputeTime returns the computing time of the job's batch. Call it only after Wait has returned no error.
func (j *Job) ComputeTime() time.Duration { return j.computeTime }
