package train

import (
	"context"
	"sync"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// blocks is a pool of device memory for gradients, or for a range of their words.
type blocks struct {
	engine *model.Engine
	words  int
	merge  tensor.Executable // Gradients += Partial

	mu   sync.Mutex
	free []tensor.Memory
	kept map[tensor.Memory]bool // blocks of slots, never free
}

func newBlocks(e *model.Engine, words int) (*blocks, error) {
	p := tensor.NewProgram()
	p.Segment("merge")
	g := tensor.At(tensor.Gradients, 0, "gradients", words)
	p.Launch(tensor.Add{Y: g, A: g, B: tensor.At(tensor.Partial, 0, "partial", words)})
	merge, err := e.Device.Prepare(p.Finish())
	if err != nil {
		return nil, err
	}
	return &blocks{engine: e, words: words, merge: merge, kept: map[tensor.Memory]bool{}}, nil
}

func (b *blocks) take() (tensor.Memory, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.free); n > 0 {
		m := b.free[n-1]
		b.free = b.free[:n-1]
		return m, nil
	}
	return b.engine.Allocate(b.words)
}

// add computes sum += term for each word of the two blocks.
func (b *blocks) add(ctx context.Context, sum, term tensor.Memory) error {
	var mem tensor.Binding
	mem[tensor.Gradients], mem[tensor.Partial] = sum, term
	return b.merge.Run(ctx, mem, 0, 1)
}

// keep takes a block for a slot. The block never returns to the pool: release ignores it.
func (b *blocks) keep() (tensor.Memory, error) {
	m, err := b.take()
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.kept[m] = true
	}
	return m, err
}

// release returns a block to the pool, unless a slot keeps the block.
func (b *blocks) release(m tensor.Memory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[m] {
		return
	}
	b.free = append(b.free, m)
}

// tree sums a batch's gradients. Its leaves are the gradients of the micro-batches: see package
// distributed.
type tree struct {
	*blocks
	leaves int

	lock  sync.Mutex
	ready map[distributed.Node]tensor.Memory
	root  tensor.Memory
}

func newTree(b *blocks, leaves int) *tree {
	return &tree{blocks: b, leaves: leaves, ready: map[distributed.Node]tensor.Memory{}}
}

// add stores a node's sum. If the sum of the sibling is ready, add computes the sum of their parent,
// and so on up to the root. Timing decides which worker adds, but not the order of the additions.
func (t *tree) add(ctx context.Context, n distributed.Node, sum tensor.Memory) error {
	for {
		nodes := distributed.Width(t.leaves, n.Level)
		if nodes == 1 {
			t.root = sum
			return nil
		}
		up := distributed.Node{Level: n.Level + 1, Index: n.Index / 2}
		if n.Index%2 == 0 && n.Index == nodes-1 { // the last of an odd number of nodes has no sibling
			n = up
			continue
		}
		t.lock.Lock()
		other, ok := t.ready[distributed.Node{Level: n.Level, Index: n.Index ^ 1}]
		if !ok {
			t.ready[n] = sum
			t.lock.Unlock()
			return nil
		}
		delete(t.ready, distributed.Node{Level: n.Level, Index: n.Index ^ 1})
		t.lock.Unlock()
		left, right := sum, other
		if n.Index%2 == 1 {
			left, right = other, sum
		}
		err := t.blocks.add(ctx, left, right)
		t.release(right)
		if err != nil {
			t.release(left)
			return err
		}
		n, sum = up, left
	}
}

// abandon returns the blocks of an unfinished batch to the pool.
func (t *tree) abandon() {
	for _, m := range t.ready {
		t.release(m)
	}
	if t.root != nil {
		t.release(t.root)
	}
}
