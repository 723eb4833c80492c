package sft

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// accumulator computes the gradient of a batch: the sum over its micro-batches,
// several of which run at once.
type accumulator struct {
	engine *engine
	groups [][]*slot // of slots whose micro-batches run together; as many in each, a power of two
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
	groups := min(slots, e.device.Slots())
	for range groups {
		var group []*slot
		for range 1 << (bits.Len(uint(slots/groups)) - 1) {
			group = append(group, e.slot())
		}
		a.groups = append(a.groups, group)
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
	return fmt.Sprintf("step %d: the loss is %v; first bad tensor %q; examples (rows of the training data) %v", e.Step,
		e.Loss, e.Tensor, e.Examples)
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

// run computes the gradient of a batch.
func (a *accumulator) run(ctx context.Context, examples []seq.Example, d drawing) (*batchGradient, error) {
	gs := microBatches(examples, microBatchTokens)
	factors := a.engine.config.objective().lossFactors(a.engine.config, a.scale, a.weight)
	tree := newTree(a.blocks, len(gs))
	results := make([]*result, len(gs))
	from, to := a.ranks.share(gs)
	together := a.together(to - from)
	next := make(chan int, len(gs))
	for i := from; i < to; i = (i/together + 1) * together {
		next <- i
	}
	close(next)

	caller := ctx
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	var wg sync.WaitGroup
	groups := a.groups[:min(len(a.groups), to-from)]
	for _, group := range groups {
		for _, l := range group {
			l.pack = a.engine.threads(len(groups))
		}
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				end := min((i/together+1)*together, to)
				if err := a.microBatches(ctx, group, tree, i, gs[i:end], results[i:end], factors, d); err != nil {
					cancel(err)
					return
				}
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
	b := &batchGradient{gradient: tree.root, deadRows: make([]int64, len(results[0].deadRows)),
		divisor: c.objective().divisor(c, examples, d)}
	for _, r := range results {
		b.loss = append(b.loss, r.loss...)
		b.logits = append(b.logits, r.logits...)
		for l, n := range r.deadRows {
			b.deadRows[l] += n
		}
	}
	return b, nil
}

// together is how many micro-batches, of so many, are to run together: as many as a group of
// slots takes, but so that no group waits for another.
func (a *accumulator) together(microBatches int) int {
	each := (microBatches + len(a.groups) - 1) / len(a.groups)
	return min(len(a.groups[0]), powerOfTwo(each))
}

// microBatches computes micro-batches from number first on together, in a group of slots, and
// hands their gradients to the tree.
func (a *accumulator) microBatches(ctx context.Context, group []*slot, t *tree, first int, examples [][]seq.Example,
	results []*result, factors lossFactors, d drawing) (err error) {
	group = group[:len(examples)]
	whole := wholeSum(first, len(group), t.leaves)
	for i, l := range group {
		if l.mem[tensor.Gradients], err = a.block(l, i > 0 && whole); err != nil {
			err = fmt.Errorf("memory for gradients: %w", err)
			group = group[:i]
			break
		}
		l.lossFactors, l.weight = factors, a.weight
	}
	if err == nil {
		err = runTogether(ctx, group, examples, results, d)
	}
	for i := 0; i < len(group) && err == nil; i++ {
		if at := slices.IndexFunc(results[i].loss, func(v float32) bool { return v-v != 0 }); at >= 0 {
			err = group[i].diagnose(ctx, examples[i], d, results[i].loss[at])
		}
	}
	for i, l := range group {
		if err != nil {
			a.blocks.release(l.mem[tensor.Gradients])
			continue
		}
		err = t.add(ctx, distributed.Node{Level: 0, Index: first + i}, l.mem[tensor.Gradients])
	}
	return err
}

// block is what a slot computes a gradient in. The sum of a group's gradients comes to be in
// the first one's, and those of the others are free again at once: each keeps its own, so
// that the device meets the same memories in every group. Parts of a group that ranks share
// wait for others.
func (a *accumulator) block(l *slot, keeps bool) (m tensor.Memory, err error) {
	if !keeps {
		return a.blocks.take()
	}
	if l.gradient == nil {
		l.gradient, err = a.blocks.keep()
	}
	return l.gradient, err
}

// wholeSum says whether the tree adds up n leaves from the first on, of so many, before others
// come to them.
func wholeSum(first, n, leaves int) bool {
	size := powerOfTwo(n)
	return first%size == 0 && (n == size || first+n == leaves)
}

// powerOfTwo is the least one that is n or more.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// runTogether computes the examples of each slot in one program, and downloads the results.
func runTogether(ctx context.Context, slots []*slot, examples [][]seq.Example, results []*result, d drawing) error {
	e := slots[0].engine
	var shape passShape
	for i, l := range slots {
		l.batch.pack(e.config, e.config.Sequences(), examples[i], d, l.pack)
		shape = shape.with(l.batch.shape(e.config))
	}
	p, err := e.pass(shape, d.mode)
	if err != nil {
		return err
	}
	mems := make([]tensor.Binding, len(slots))
	for i, l := range slots {
		if err := l.placeIn(p, d); err != nil {
			return err
		}
		mems[i] = l.mem
	}
	if err := tensor.RunTogether(ctx, p.Executable, mems, 0, len(p.Program.Segments)); err != nil {
		return err
	}
	for i, l := range slots {
		if results[i], err = l.results(p, &l.batch); err != nil {
			return err
		}
	}
	return nil
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
	p, err := l.load(l.engine.config.Sequences(), examples, d)
	if err != nil {
		return err
	}
	counts := l.batch.counts.Words()
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
