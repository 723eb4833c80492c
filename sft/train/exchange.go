package train

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// exchange sums the gradients of a batch whose micro-batches several ranks computed. The tree of
// sums is the same as in a single process. Each rank contributes the largest sums that its own
// micro-batches form, adds up all ranks' sums for its share of the words, and receives the other
// shares. Messages only move bytes, so the result is bitwise identical for every number of ranks. With
// P parameters, W ranks and F sums per rank, all ranks together send 4·P·(F+1)·(W−1) bytes of sums
// per step.
type exchange struct {
	sft.Communicator
	engine *model.Engine
	shares *blocks       // memory for sums over this rank's share of the words
	spent  time.Duration // time in exchanges since the last line of metrics, waiting included
	steps  int           // steps since the last line of metrics
	busy   int           // number of ranks with micro-batches, summed over these steps
	cuts   []int         // index of each rank's first micro-batch in the current batch
}

// maxSums returns the largest number of sums that a rank contributes to an exchange. lengths holds the
// lengths of the training rows, and batch is the number of rows in a batch. The result is 0 for a
// single process.
func maxSums(c sft.Communicator, lengths []int32, batch int) int {
	if c == nil {
		return 0
	}
	tokens, _ := model.LargestMicroBatch(lengths, batch)
	return distributed.MaxSums(batch, tokens)
}

// newExchange returns an exchange of at most the given number of sums per rank, or nil for a single
// process.
func newExchange(c sft.Communicator, e *model.Engine, sums int) (*exchange, error) {
	if c == nil {
		return nil, nil
	}
	if words := int64(sums) * int64(e.Params.Words); words > math.MaxInt32 {
		return nil, fmt.Errorf("%d parameters are too many for several ranks: a rank may send %d gradient sums in "+
			"one message, %d words, and MPI allows at most %d (use a smaller model, rows of similar lengths, or "+
			"one process)",
			e.Params.Words, sums, words, math.MaxInt32)
	}
	x := &exchange{Communicator: c, engine: e}
	var err error
	x.shares, err = newBlocks(e, max(1, (e.Params.Words+c.Size()-1)/c.Size()))
	return x, err
}

// cut returns the first word of a rank's share.
func (x *exchange) cut(rank int) int { return distributed.Cut(x.engine.Params.Words, x.Size(), rank) }

// words returns the number of words in a rank's share.
func (x *exchange) words(rank int) int { return x.cut(rank+1) - x.cut(rank) }

// share returns this rank's range [from, to) of micro-batches: all of them for a single process.
func (x *exchange) share(gs [][]seq.Example) (from, to int) {
	if x == nil {
		return 0, len(gs)
	}
	cuts := deal(gs, x.Size())
	return cuts[x.Rank()], cuts[x.Rank()+1]
}

// deal distributes micro-batches among ranks by their tokens, see [distributed.Deal].
func deal(gs [][]seq.Example, ranks int) (cuts []int) {
	tokens := make([]int, len(gs))
	for i, g := range gs {
		for _, e := range g {
			tokens[i] += e.Length()
		}
	}
	return distributed.Deal(tokens, ranks)
}

// finish distributes the sum and the results of all micro-batches to every rank. Every checkEvery steps it
// first compares the ranks' weights. If a rank failed, was cancelled or has weights that differ from rank
// 0's, every rank returns the error.
func (x *exchange) finish(ctx context.Context, t *tree, gs [][]seq.Example, results []*model.Result,
	step int, err error) error {
	began := time.Now()
	defer func() { x.spent += time.Since(began) }()
	var hash uint64
	if err == nil && step%checkEvery == 0 {
		hash, err = x.engine.Hash()
	}
	hashes, err := distributed.Agree(x, model.Stopped(ctx, err), hash)
	if err != nil {
		return err
	}
	if err := checkHashes(hashes, step); err != nil {
		return err
	}
	cuts := deal(gs, x.Size())
	x.cuts = cuts
	x.steps++
	for r := range x.Size() {
		x.busy += min(1, cuts[r+1]-cuts[r])
	}
	sum, err := x.reduceScatter(context.WithoutCancel(ctx), t, len(gs), cuts)
	return x.allGather(t, sum, gs, cuts, results, err)
}

// reduceScatter returns this rank's share of the sum of all micro-batches. A rank that cannot read
// its sums still takes part in the collective call, and then returns the error.
func (x *exchange) reduceScatter(ctx context.Context, t *tree, leaves int, cuts []int) ([]uint32, error) {
	nodes := distributed.Frontier(leaves, cuts[x.Rank()], cuts[x.Rank()+1])
	sendCounts, receiveCounts := make([]int, x.Size()), make([]int, x.Size())
	send := make([]uint32, len(nodes)*x.engine.Params.Words)
	at, total := 0, 0
	var failed error
	for r := range x.Size() {
		for _, n := range nodes {
			block := t.ready[n]
			if block == nil {
				block = t.root
			}
			if err := block.Read(x.cut(r), send[at:at+x.words(r)]); err != nil {
				failed = err
			}
			at += x.words(r)
		}
		sendCounts[r] = len(nodes) * x.words(r)
		receiveCounts[r] = len(distributed.Frontier(leaves, cuts[r], cuts[r+1])) * x.words(x.Rank())
		total += receiveCounts[r]
	}
	received := make([]uint32, total)
	if err := x.AllToAll(send, sendCounts, received, receiveCounts); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	words := x.words(x.Rank())
	shares := newTree(x.shares, leaves)
	defer shares.abandon()
	for r := range x.Size() {
		for _, n := range distributed.Frontier(leaves, cuts[r], cuts[r+1]) {
			block, err := x.shares.take()
			if err != nil {
				return nil, fmt.Errorf("memory for the sums of ranks: %w", err)
			}
			if err := block.Write(0, received[:words]); err != nil {
				x.shares.release(block)
				return nil, err
			}
			received = received[words:]
			if err := shares.add(ctx, n, block); err != nil {
				return nil, err
			}
		}
	}
	sum := make([]uint32, words)
	return sum, shares.root.Read(0, sum)
}

// allGather writes the shares of all ranks to the root of the tree, and the results of all micro-batches
// to results. The first word of a rank's message is 1 if the rank failed, otherwise 0.
func (x *exchange) allGather(t *tree, sum []uint32, gs [][]seq.Example, cuts []int,
	results []*model.Result, failed error) error {
	c := x.engine.Config
	counts, total := make([]int, x.Size()), 0
	for r := range counts {
		counts[r] = 1 + x.words(r)
		for _, g := range gs[cuts[r]:cuts[r+1]] {
			counts[r] += len(g)*(1+model.RowLogits(c)) + 2*model.CountedLayers(c)
		}
		total += counts[r]
	}
	send := []uint32{1}
	if failed == nil {
		send = append([]uint32{0}, sum...)
		for _, r := range results[cuts[x.Rank()]:cuts[x.Rank()+1]] {
			send = append(append(send, tensor.Bits(r.Loss)...), tensor.Bits(r.Logits)...)
			for _, n := range r.DeadRows {
				send = append(send, uint32(n), uint32(n>>32))
			}
		}
	}
	send = append(send, make([]uint32, counts[x.Rank()]-len(send))...)
	all := make([]uint32, total)
	if err := x.AllGather(send, all, counts); err != nil {
		return err
	}
	anyFailed := false
	for r, at := 0, 0; r < x.Size(); r++ {
		anyFailed = anyFailed || all[at] != 0
		at += counts[r]
	}
	if anyFailed {
		return model.Agree(x, failed)
	}
	t.abandon()
	*t = tree{blocks: t.blocks, leaves: t.leaves}
	root, err := t.take()
	if err != nil {
		return err
	}
	t.root = root
	for r := range counts {
		shared := all[1 : 1+x.words(r)]
		if err := t.root.Write(x.cut(r), shared); err != nil {
			return err
		}
		rest := all[1+len(shared) : counts[r]]
		all = all[counts[r]:]
		for i := cuts[r]; i < cuts[r+1]; i++ {
			results[i], rest = readResult(rest, len(gs[i]), c)
		}
	}
	return nil
}

// readResult decodes the results of one micro-batch and returns the remaining words.
func readResult(words []uint32, examples int, c *config.Config) (*model.Result, []uint32) {
	take := func(n int) []uint32 {
		out := words[:n]
		words = words[n:]
		return out
	}
	r := &model.Result{Loss: tensor.As[float32](take(examples)),
		Logits: tensor.As[float32](take(examples * model.RowLogits(c)))}
	for range model.CountedLayers(c) {
		n := take(2)
		r.DeadRows = append(r.DeadRows, int64(n[1])<<32|int64(n[0]))
	}
	return r, words
}

// report describes the exchanges since the last report; training is the training time since then. For a
// single process, report returns nil.
func (x *exchange) report(training time.Duration) *RanksReport {
	if x == nil {
		return nil
	}
	r := &RanksReport{Ranks: x.Size(), Busy: float64(x.busy) / float64(max(1, x.steps)),
		Exchange: x.spent.Seconds() / max(training, 1).Seconds()}
	x.busy, x.steps, x.spent = 0, 0, 0
	return r
}
