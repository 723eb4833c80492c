package train

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Gradient returns the gradient of the examples' mean loss in evaluation mode, in the layout of the
// model's weights, and the mean loss. It returns an error if there are no examples, or if the model
// cannot train on one of them.
func Gradient(ctx context.Context, m *sft.Model, device sft.Device, examples []seq.Example) (gradient []float32,
	loss float64, err error) {
	for i, e := range examples {
		if err := m.Config.CheckLabelled(e); err != nil {
			return nil, 0, fmt.Errorf("example %d: %w", i, err)
		}
	}
	if len(examples) == 0 {
		return nil, 0, fmt.Errorf("found no examples, expected at least 1")
	}
	e, err := model.OpenEngine(m.Config, m.Weights, m.NGrams, device)
	if err != nil {
		return nil, 0, err
	}
	defer e.Close()
	a, err := newAccumulator(e, e.Device.Slots())
	if err != nil {
		return nil, 0, err
	}
	gradient = make([]float32, m.Parameters.Words)
	for scale := (lossScale{}).forDevice(e.Device); ; scale = scale.after(true) {
		a.scale = scale.value()
		b, err := a.run(ctx, examples, model.Drawing{Mode: model.EvaluateMode, Seed: m.Config.SamplerSeed})
		if err != nil {
			return nil, 0, err
		}
		if err := b.gradient.Read(0, tensor.Bits(gradient)); err != nil {
			return nil, 0, err
		}
		a.blocks.release(b.gradient)
		if !fmath.Finite(gradient) && scale.mayHalve() {
			continue
		}
		for i := range gradient {
			gradient[i] /= float32(float64(b.divisor) * a.scale)
		}
		for _, v := range b.loss {
			loss += float64(v)
		}
		return gradient, loss / float64(b.divisor), nil
	}
}

// accumulator computes the gradient of a batch as the sum over its micro-batches. Several
// micro-batches run concurrently.
type accumulator struct {
	engine *model.Engine
	groups [][]*model.Slot // slots whose micro-batches run together; the groups have equal sizes, a power of two
	blocks *blocks         // memory for gradients
	scale  float64         // loss scale of the gradient
	weight []float64       // weights of classes, tags or labels in the loss; nil means 1
	ranks  *exchange       // ranks that share the micro-batches; nil for one process
}

func newAccumulator(e *model.Engine, slots int) (*accumulator, error) {
	b, err := newBlocks(e, e.Params.Words)
	if err != nil {
		return nil, err
	}
	a := &accumulator{engine: e, blocks: b, scale: 1}
	groups := min(slots, e.Device.Slots())
	for range groups {
		var group []*model.Slot
		for range 1 << (bits.Len(uint(slots/groups)) - 1) {
			group = append(group, e.Slot())
		}
		a.groups = append(a.groups, group)
	}
	return a, nil
}

// NonFiniteError stops a training run: a loss, a gradient, a weight or a logit is NaN or infinite.
type NonFiniteError struct {
	Step     int      // step that failed or was the last before the check, from 1 as in metrics.jsonl
	Examples []uint32 // training rows of the (micro-)batch, or one validation row; nil for a stored weight
	Tensor   string   // first tensor that is not finite
	Loss     float32
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("step %d: the loss is %v; first tensor that is not finite: %q; rows: %v; "+
		"lower --lr, or clip gradients with --max-grad-norm", e.Step, e.Loss, e.Tensor, e.Examples)
}

// batchGradient is the result of a batch: the summed gradient, and values for the metrics.
type batchGradient struct {
	gradient     tensor.Memory // sum over the examples, times the loss scale; the caller releases it
	loss, logits []float32     // for each example, a loss and [model.RowLogits] logits
	deadRows     []int64       // per layer, the number of pairs of token and head without a positive score
	ngrams       sparse.Gradient
	norm         float64 // norm of the mean gradient before clipping; set by the update
	divisor      int     // divisor of the mean of the loss and the gradient
	skipped      bool    // whether the update was skipped because the gradient is not finite
}

// run computes the gradient of a batch.
func (a *accumulator) run(ctx context.Context, examples []seq.Example, d model.Drawing) (*batchGradient, error) {
	gs := microBatches(examples, model.MicroBatchTokens)
	factors := model.LossFactorsOf(a.engine.Config, a.scale, a.weight)
	tree := newTree(a.blocks, len(gs))
	results := make([]*model.Result, len(gs))
	from, to := a.ranks.share(gs)
	groupSize := a.groupSize(to - from)
	next := make(chan int, len(gs))
	for i := from; i < to; i = (i/groupSize + 1) * groupSize {
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
			l.Packers = a.engine.Threads(len(groups))
		}
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				end := min((i/groupSize+1)*groupSize, to)
				if err := a.microBatches(ctx, group, tree, i, gs[i:end], results[i:end], factors, d); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	err := context.Cause(ctx)
	var ngrams ngramSums
	if err == nil && a.engine.NGrams != nil {
		ngrams = sumsOf(results, from, to)
	}
	if a.ranks != nil {
		err = a.ranks.finish(caller, tree, gs, results, int(d.Step), err)
	}
	if err != nil {
		tree.abandon()
		return nil, err
	}
	ngramGradient, err := a.sumNGrams(ngrams, len(gs))
	if err != nil {
		a.blocks.release(tree.root)
		return nil, err
	}
	c := a.engine.Config
	b := &batchGradient{gradient: tree.root, ngrams: ngramGradient, deadRows: make([]int64, len(results[0].DeadRows)),
		divisor: model.LossDivisor(c, examples, d)}
	for _, r := range results {
		b.loss = append(b.loss, r.Loss...)
		b.logits = append(b.logits, r.Logits...)
		for l, n := range r.DeadRows {
			b.deadRows[l] += n
		}
	}
	return b, nil
}

// groupSize returns the number of micro-batches that run together. It is the size of a group of
// slots, or a smaller power of two if more groups then have work.
func (a *accumulator) groupSize(microBatches int) int {
	perGroup := (microBatches + len(a.groups) - 1) / len(a.groups)
	return min(len(a.groups[0]), powerOfTwo(perGroup))
}

// microBatches computes consecutive micro-batches together in a group of slots, and adds their gradients
// to the tree. The parameter first is the index of the first micro-batch.
func (a *accumulator) microBatches(ctx context.Context, group []*model.Slot, t *tree, first int,
	examples [][]seq.Example,
	results []*model.Result, factors model.LossFactors, d model.Drawing) (err error) {
	group = group[:len(examples)]
	whole := isSubtree(first, len(group), t.leaves)
	for i, l := range group {
		if l.Memory[tensor.Gradients], err = a.block(l, i > 0 && whole); err != nil {
			err = fmt.Errorf("memory for gradients: %w", err)
			group = group[:i]
			break
		}
		l.LossFactors, l.Weight = factors, a.weight
	}
	switch {
	case err != nil:
	case a.engine.Config.Chunks != nil:
		err = a.documents(ctx, group, examples, results, d)
	default:
		err = model.RunTogether(ctx, group, examples, results, d)
	}
	for i := 0; i < len(group) && err == nil; i++ {
		if at := slices.IndexFunc(results[i].Loss, func(v float32) bool { return v-v != 0 }); at >= 0 {
			err = nonFiniteLoss(ctx, group[i], examples[i], d, results[i].Loss[at])
		}
	}
	for i, l := range group {
		if err != nil {
			a.blocks.release(l.Memory[tensor.Gradients])
			continue
		}
		err = t.add(ctx, distributed.Node{Level: 0, Index: first + i}, l.Memory[tensor.Gradients])
	}
	return err
}

// block returns the memory for a slot's gradient: the slot's own block if keeps is true, otherwise
// a block of the pool. The first slot of a group uses the pool, because its block receives the
// group's sum and goes to the tree. The other slots keep their blocks, so the device reuses the same
// memory for every group of micro-batches. If the tree does not add up the group before other
// leaves, it needs the blocks of all slots, and no slot keeps its block.
func (a *accumulator) block(l *model.Slot, keeps bool) (m tensor.Memory, err error) {
	if !keeps {
		return a.blocks.take()
	}
	if l.Gradient == nil {
		l.Gradient, err = a.blocks.keep()
	}
	return l.Gradient, err
}

// isSubtree reports whether the tree with this number of leaves adds up n consecutive leaves before it
// adds other leaves. The parameter first is the index of the first leaf.
func isSubtree(first, n, leaves int) bool {
	size := powerOfTwo(n)
	return first%size == 0 && (n == size || first+n == leaves)
}

// powerOfTwo returns the smallest power of two that is at least n.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

// nonFiniteLoss returns the error for a micro-batch with a loss that is not finite.
func nonFiniteLoss(ctx context.Context, l *model.Slot, examples []seq.Example, d model.Drawing, loss float32) error {
	report := &NonFiniteError{Step: int(d.Step) + 1, Loss: loss}
	for _, e := range examples {
		report.Examples = append(report.Examples, e.Index)
	}
	var err error
	if report.Tensor, err = l.Diagnose(ctx, examples, d); err != nil {
		return err
	}
	return report
}

// microBatches splits a batch into runs of consecutive examples. A run ends as soon as it has at least
// size tokens; the last run may have fewer.
func microBatches(examples []seq.Example, size int) [][]seq.Example {
	lengths := make([]int, len(examples))
	for i, e := range examples {
		lengths[i] = e.Length()
	}
	var out [][]seq.Example
	from := 0
	for _, end := range distributed.MicroBatches(lengths, size) {
		out = append(out, examples[from:end])
		from = end
	}
	return out
}
