package sft

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/reduction"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// accumulator computes the gradient of a batch: the sum over its micro-batches,
// several of which run at once.
type accumulator struct {
	engine *engine
	slots  []*slot
	blocks *blocks   // for gradients
	scale  float64   // of the loss whose gradient is computed
	weight []float64 // of each class in it; nil: all the same
	ranks  *exchange // that share the micro-batches; nil of one process
}

func newAccumulator(e *engine, slots int) (*accumulator, error) {
	b, err := newBlocks(e, e.params.Words)
	if err != nil {
		return nil, err
	}
	a := &accumulator{engine: e, blocks: b, scale: 1}
	for range slots {
		a.slots = append(a.slots, e.slot())
	}
	return a, nil
}

// NonFiniteError stops a training run: a loss or gradient is NaN or infinite.
type NonFiniteError struct {
	Step     int
	Examples []uint32 // of the micro-batch, by row of the data set
	Tensor   string   // the first that is not finite
	Loss     float32
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("step %d: the loss is %v; first bad tensor %q; examples (rows of the training data) %v", e.Step, e.Loss, e.Tensor, e.Examples)
}

// batchGradient is what a batch adds up to.
type batchGradient struct {
	gradient     tensor.Memory // sum over the examples, times the loss's scale; to be handed to release
	loss, logits []float32     // of each example: those of the objective
	deadRows     []int64       // per layer: pairs of token and head without a positive score
	norm         float64       // of the mean over the examples, before clipping; once the update is made
	divisor      int           // what makes means of sums over the examples
	skipped      bool          // the gradient is not finite, and no update was made
}

// lossScales is the factor of the loss of each class.
func lossScales(classes int, scale float64, weight []float64) []float32 {
	out := make([]float32, classes)
	for c := range out {
		out[c] = float32(scale)
		if len(weight) > 0 {
			out[c] = float32(scale * weight[c])
		}
	}
	return out
}

// lossFactors are those of the loss whose gradient a pass computes.
type lossFactors struct {
	scale    []float32 // by class, or label
	positive []float32 // of the terms of labels that hold, where several may
}

// lossFactors are those of a scale and of weights: of rows of each class, or of labels that hold.
func (c *Config) lossFactors(scale float64, weight []float64) lossFactors {
	if c.LabelsHold() {
		return lossFactors{lossScales(c.NumLabels, scale, nil), lossScales(c.NumLabels, 1, weight)}
	}
	return lossFactors{scale: lossScales(c.NumLabels, scale, weight)}
}

// run computes the gradient of a batch.
func (a *accumulator) run(ctx context.Context, examples []seq.Example, d drawing) (*batchGradient, error) {
	gs := microBatches(examples, microBatchTokens)
	factors := a.engine.config.lossFactors(a.scale, a.weight)
	tree := newTree(a.blocks, len(gs))
	results := make([]*result, len(gs))
	next := make(chan int, len(gs))
	from, to := a.ranks.share(gs)
	for i := from; i < to; i++ {
		next <- i
	}
	close(next)

	caller := ctx
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, l := range a.slots[:min(len(a.slots), to-from)] {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				r, err := a.microBatch(ctx, l, tree, i, gs[i], factors, d)
				if err != nil {
					cancel(err)
					return
				}
				results[i] = r
			}
		})
	}
	wg.Wait()
	err := context.Cause(ctx)
	if a.ranks != nil {
		err = a.ranks.finish(caller, tree, gs, results, int(d.step), err)
	}
	if err != nil {
		tree.abandon()
		return nil, err
	}
	c := a.engine.config
	b := &batchGradient{gradient: tree.root, deadRows: make([]int64, len(results[0].deadRows)), divisor: c.objective().divisor(c, examples, d)}
	for _, r := range results {
		b.loss = append(b.loss, r.loss...)
		b.logits = append(b.logits, r.logits...)
		for l, n := range r.deadRows {
			b.deadRows[l] += n
		}
	}
	return b, nil
}

// microBatch computes one micro-batch in a slot and hands its gradient to the tree.
func (a *accumulator) microBatch(ctx context.Context, l *slot, t *tree, i int, examples []seq.Example, factors lossFactors, d drawing) (*result, error) {
	g, err := a.blocks.take()
	if err != nil {
		return nil, fmt.Errorf("memory for gradients: %w", err)
	}
	l.mem[tensor.Gradients], l.lossFactors, l.weight = g, factors, a.weight
	r, err := l.run(ctx, examples, d)
	if err == nil {
		if at := slices.IndexFunc(r.loss, func(v float32) bool { return v-v != 0 }); at >= 0 {
			err = l.diagnose(ctx, examples, d, r.loss[at])
		}
	}
	if err != nil {
		a.blocks.release(g)
		return nil, err
	}
	return r, t.add(ctx, reduction.Node{Level: 0, Index: i}, g)
}

// diagnose runs a micro-batch again, launch by launch, to name the first tensor that
// holds a value that is not finite.
func (l *slot) diagnose(ctx context.Context, examples []seq.Example, d drawing, loss float32) error {
	report := &NonFiniteError{Step: int(d.step), Loss: loss, Tensor: "unknown"}
	for _, e := range examples {
		report.Examples = append(report.Examples, e.Index)
	}
	if name, bad := l.badWeight(); bad {
		report.Tensor = name
		return report
	}
	p, err := l.load(examples, d)
	if err != nil {
		return err
	}
	counts := pack(l.engine.config, l.engine.config.Sequences(), examples, d).counts.Words()
	err = p.Inspect(ctx, l.mem, 0, len(p.Program.Segments), func(k tensor.Kernel) error {
		for _, t := range tensor.Writes(k) {
			// A table's entries beyond the longest sequence hold nothing.
			if _, table := k.(tensor.Sinusoid); table || t.Region != tensor.Arena || t.Int {
				continue
			}
			rows := t.Shape[0]
			if t.Rows != tensor.Fixed {
				rows = int(counts[t.Rows])
			}
			x := make([]float32, rows*t.Width())
			if err := tensor.Download(l.mem[tensor.Arena], t, x); err != nil {
				return err
			}
			if !finite(x) {
				report.Tensor = t.Name
				return report
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return report
}

func (l *slot) badWeight() (string, bool) {
	w := make([]float32, l.engine.params.Words)
	if l.engine.weights.Read(0, tensor.Bits(w)) != nil {
		return "", false
	}
	return l.engine.params.NonFinite(w)
}
