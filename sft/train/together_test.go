package train

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestTogether checks that micro-batches have bitwise identical results in groups and one at a time. The
// cases include a smaller last group and later batches.
func TestTogether(t *testing.T) { configtest.OnEveryKind(t, testTogether) }

func testTogether(t *testing.T, devices ...tensor.Device) {
	c := configtest.TrainingConfig()
	c.HiddenSize, c.NumSampledTokens = 4, 3
	m := modeltest.RandomModel(c, 4)
	e := must.Get(model.NewEngine(m.Config, m.Weights, devices[0]))(t)
	defer e.Close()
	a := must.Get(newAccumulator(e, 4*devices[0].Slots()))(t)
	if n := len(a.groups[0]); n != 4 {
		t.Fatalf("groups of %d, expected 4", n)
	}
	for _, n := range []int{1, 7, 2, 7} {
		lengths := make([]int, n)
		for i := range lengths {
			lengths[i] = 4096 + i
		}
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(2, uint64(n))), lengths...)
		want, alone := gradientOf(t, m, 1, devices[0], examples, model.TrainMode)
		b := must.Get(a.run(t.Context(), examples, model.Drawing{Mode: model.TrainMode, Seed: 11, Step: 3}))(t)
		if !slices.Equal(readWords(t, b.gradient), want) || !slices.Equal(b.loss, alone.loss) ||
			!slices.Equal(b.deadRows, alone.deadRows) {
			t.Errorf("%d micro-batches: the results in groups differ from the results one at a time", n)
		}
		a.blocks.release(b.gradient)
		for _, free := range a.blocks.free {
			if a.blocks.kept[free] {
				t.Errorf("%d micro-batches: a slot's own block is in the pool", n)
			}
		}
	}
}

// unreliable is a device whose allocations and runs may fail.
type unreliable struct {
	watched
	allocation func() error
}

func (d unreliable) Allocate(words int) (tensor.Memory, error) {
	if err := d.allocation(); err != nil {
		return nil, err
	}
	return d.watched.Allocate(words)
}

// TestTogetherFails checks that after a failure each block is either in the pool, once, or kept by its slot,
// and that the next batch has the correct gradient.
func TestTogetherFails(t *testing.T) {
	c := configtest.TrainingConfig()
	c.HiddenSize, c.NumSampledTokens = 4, 3
	m := modeltest.RandomModel(c, 4)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(2, 7)), 4096, 4097, 4098, 4099, 4100, 4101, 4102)
	want, _ := gradientOf(t, m, 1, cpu.New(1), examples, model.TrainMode)
	failure := errors.New("enough")
	for _, n := range []int64{1, 2, 5, 8, 11} {
		for name, setFailure := range map[string]func(run, allocation *atomic.Int64){
			"run":        func(run, _ *atomic.Int64) { run.Store(n) },
			"allocation": func(_, allocation *atomic.Int64) { allocation.Store(n) },
		} {
			var run, allocation atomic.Int64 // number of calls up to the failing one
			failAtZero := func(n *atomic.Int64) error {
				if n.Add(-1) == 0 {
					return failure
				}
				return nil
			}
			d := unreliable{watched{Device: cpu.New(2), run: func(*tensor.Program) error { return failAtZero(&run) }},
				func() error { return failAtZero(&allocation) }}
			e := must.Get(model.NewEngine(m.Config, m.Weights, d))(t)
			a := must.Get(newAccumulator(e, 8))(t)
			setFailure(&run, &allocation)
			for batch := range 2 {
				b, err := a.run(t.Context(), examples, model.Drawing{Mode: model.TrainMode, Seed: 11, Step: 3})
				switch {
				case err == nil:
					if !slices.Equal(readWords(t, b.gradient), want) {
						t.Errorf("%s %d, batch %d: the gradient differs", name, n, batch)
					}
					a.blocks.release(b.gradient)
				case batch > 0 || !errors.Is(err, failure):
					t.Errorf("%s %d, batch %d: error %v, want <nil>, or %v in batch 0", name, n, batch, err, failure)
				}
				balance := map[tensor.Memory]int{}
				for m := range e.Memory {
					if m.Words() == e.Params.Words && m != e.Weights {
						balance[m]++
					}
				}
				for m := range a.blocks.kept {
					balance[m]--
				}
				for _, m := range a.blocks.free {
					balance[m]--
				}
				for _, n := range balance {
					if n != 0 {
						t.Errorf("%s %d, batch %d: a block is missing or occurs twice in the pool", name, n, batch)
						break
					}
				}
			}
			e.Close()
		}
	}
}

// TestGroupSize checks how many micro-batches run together, and compares isSubtree with a simulated tree.
func TestGroupSize(t *testing.T) {
	a := &accumulator{groups: [][]*model.Slot{make([]*model.Slot, 8), make([]*model.Slot, 8)}}
	for n, want := range map[int]int{0: 1, 1: 1, 2: 1, 3: 2, 5: 4, 7: 4, 8: 4, 9: 8, 16: 8, 17: 8, 100: 8} {
		if got := a.groupSize(n); got != want {
			t.Errorf("%d micro-batches: %d together, expected %d", n, got, want)
		}
	}
	for leaves := 1; leaves <= 16; leaves++ {
		for first := range leaves {
			for n := 1; first+n <= leaves; n++ {
				if got, want := isSubtree(first, n, leaves), formsSubtree(first, n, leaves); got && !want {
					t.Errorf("isSubtree is true for leaves %d … %d of %d", first, first+n-1, leaves)
				} else if want && !got && n > 1 && first%8 == 0 {
					t.Errorf("isSubtree is false for leaves %d … %d of %d", first, first+n-1, leaves)
				}
			}
		}
	}
}

// formsSubtree reports whether a tree with the given number of leaves adds n consecutive leaves to a single
// sum in the block of the leaf with the lowest index. The parameter first is this index.
func formsSubtree(first, n, leaves int) bool {
	blocks := map[distributed.Node]int{}
	for i := first; i < first+n; i++ {
		at := distributed.Node{Index: i}
		for block := i; ; {
			nodes := distributed.Width(leaves, at.Level)
			up := distributed.Node{Level: at.Level + 1, Index: at.Index / 2}
			if nodes == 1 || at.Index%2 == 0 && at.Index == nodes-1 {
				if nodes == 1 {
					blocks[at] = block
					break
				}
				at = up
				continue
			}
			sibling := distributed.Node{Level: at.Level, Index: at.Index ^ 1}
			other, ok := blocks[sibling]
			if !ok {
				blocks[at] = block
				break
			}
			delete(blocks, sibling)
			at, block = up, min(block, other)
		}
	}
	if len(blocks) != 1 {
		return false
	}
	for _, block := range blocks {
		return block == first
	}
	return false
}
