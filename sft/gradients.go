package sft

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// accumulator computes the gradient of a batch: the sum over its gradient
// micro-batches, several of which run at once.
type accumulator struct {
	engine *engine
	slots  []*slot
	merge  tensor.Executable // Gradients += Partial
	scale  float64           // of the loss whose gradient is computed
	weight []float64         // of each class in it; nil: all the same

	mu   sync.Mutex
	free []tensor.Memory // blocks for gradients
}

func newAccumulator(e *engine, slots int) (*accumulator, error) {
	n := e.params.Words
	p := tensor.NewProgram()
	p.Segment("merge")
	g := tensor.At(tensor.Gradients, 0, "gradients", n)
	p.Launch(tensor.Add{Y: g, A: g, B: tensor.At(tensor.Partial, 0, "partial", n)})
	merge, err := e.device.Prepare(p.Finish())
	if err != nil {
		return nil, err
	}
	a := &accumulator{engine: e, merge: merge, scale: 1}
	for range slots {
		a.slots = append(a.slots, e.slot())
	}
	return a, nil
}

func (a *accumulator) take() (tensor.Memory, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.free); n > 0 {
		m := a.free[n-1]
		a.free = a.free[:n-1]
		return m, nil
	}
	return a.engine.allocate(a.engine.params.Words)
}

func (a *accumulator) release(m tensor.Memory) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free = append(a.free, m)
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
	loss, logits []float32     // of each example
	deadRows     []int64       // per layer: pairs of token and head without a positive score
	norm         float64       // of the mean over the examples, before clipping; once the update is made
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

// run computes the gradient of a batch.
func (a *accumulator) run(ctx context.Context, examples []seq.Example, mode passMode, seed uint64, step uint32) (*batchGradient, error) {
	gs := microBatches(examples, microBatchTokens)
	scales := lossScales(a.engine.config.NumLabels, a.scale, a.weight)
	tree := &tree{accumulator: a, ready: map[node]tensor.Memory{}, leaves: len(gs)}
	results := make([]*result, len(gs))
	next := make(chan int, len(gs))
	for i := range gs {
		next <- i
	}
	close(next)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, l := range a.slots[:min(len(a.slots), len(gs))] {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				r, err := a.microBatch(ctx, l, tree, i, gs[i], scales, mode, seed, step)
				if err != nil {
					cancel(err)
					return
				}
				results[i] = r
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		tree.abandon()
		return nil, err
	}
	b := &batchGradient{gradient: tree.root, deadRows: make([]int64, len(results[0].deadRows))}
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
func (a *accumulator) microBatch(ctx context.Context, l *slot, t *tree, i int, examples []seq.Example, scales []float32, mode passMode, seed uint64, step uint32) (*result, error) {
	g, err := a.take()
	if err != nil {
		return nil, fmt.Errorf("memory for gradients: %w", err)
	}
	l.mem[tensor.Gradients], l.scale = g, scales
	r, err := l.run(ctx, examples, mode, seed, step)
	if err == nil {
		for _, v := range r.loss {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				err = l.diagnose(ctx, examples, mode, seed, step, v)
				break
			}
		}
	}
	if err != nil {
		a.release(g)
		return nil, err
	}
	return r, t.add(ctx, node{0, i}, g)
}

// diagnose runs a micro-batch again, launch by launch, to name the first tensor that
// holds a value that is not finite.
func (l *slot) diagnose(ctx context.Context, examples []seq.Example, mode passMode, seed uint64, step uint32, loss float32) error {
	report := &NonFiniteError{Step: int(step), Loss: loss, Tensor: "unknown"}
	for _, e := range examples {
		report.Examples = append(report.Examples, e.Index)
	}
	if name, bad := l.badWeight(); bad {
		report.Tensor = name
		return report
	}
	p, err := l.load(examples, mode, seed, step)
	if err != nil {
		return err
	}
	counts := pack(l.engine.config, l.engine.config.Sequences(), examples, mode).counts.Words()
	err = p.Inspect(ctx, l.mem, 0, len(p.Program.Segments), func(k tensor.Kernel) error {
		for _, t := range tensor.Writes(k) {
			// A table's entries beyond the longest sequence hold nothing.
			if _, table := k.(tensor.SinusoidTables); table || t.Region != tensor.Arena || t.Int {
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
			for _, v := range x {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					report.Tensor = t.Name
					return report
				}
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

// node is a place in the tree of sums: index i of level v adds indices 2i and
// 2i+1 of level v−1; the last index of a level may have no sibling.
type node struct{ level, index int }

type tree struct {
	*accumulator
	leaves int

	lock  sync.Mutex
	ready map[node]tensor.Memory
	root  tensor.Memory
}

// add puts a node's sum in place, and adds siblings as long as both are there.
// Which worker adds depends on time; what is added to what does not.
func (t *tree) add(ctx context.Context, n node, sum tensor.Memory) error {
	for {
		width := (t.leaves + 1<<n.level - 1) >> n.level // nodes of this level
		if width == 1 {
			t.root = sum
			return nil
		}
		up := node{n.level + 1, n.index / 2}
		if n.index%2 == 0 && n.index == width-1 { // no sibling
			n = up
			continue
		}
		t.lock.Lock()
		other, ok := t.ready[node{n.level, n.index ^ 1}]
		if !ok {
			t.ready[n] = sum
			t.lock.Unlock()
			return nil
		}
		delete(t.ready, node{n.level, n.index ^ 1})
		t.lock.Unlock()
		left, right := sum, other
		if n.index%2 == 1 {
			left, right = other, sum
		}
		var mem tensor.Binding
		mem[tensor.Gradients], mem[tensor.Partial] = left, right
		err := t.merge.Run(ctx, mem, 0, 1)
		t.release(right)
		if err != nil {
			t.release(left)
			return err
		}
		n, sum = up, left
	}
}

// abandon returns the blocks of a batch that was not finished.
func (t *tree) abandon() {
	for _, m := range t.ready {
		t.release(m)
	}
	if t.root != nil {
		t.release(t.root)
	}
}
