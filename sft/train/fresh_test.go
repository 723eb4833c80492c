package train

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// redrawTiny returns a function for [Options.Redraw] that draws random tokens. A drawn row has the length of
// the split's row with this index.
func redrawTiny(c *config.Config, rows *seq.File) func(epoch, row uint32) seq.Example {
	lengths := rows.Lengths()
	return func(epoch, row uint32) seq.Example {
		random := rand.New(rand.NewPCG(uint64(epoch), uint64(row)))
		return configtest.RandomExamples(c, random, int(lengths[row]))[0]
	}
}

// TestFresh checks that a run draws each row of an epoch once. A run in several parts on a device that
// leaves the CPU idle must have the same result, and a run on the rows of the file a different result.
func TestFresh(t *testing.T) {
	c, s := configtest.TrainingConfig(), runSettings()
	s.Fresh, s.Epochs, s.Stages = true, 2, []Stage{{Steps: 2, Rows: 3}}
	train, val := tinySplits(t, c.Task)
	run := func(dir string, device tensor.Device, stops ...int) (draws [][2]uint32) {
		var mu sync.Mutex
		var from *Checkpoint
		for _, stop := range append(stops, 0) {
			o := options(dir, nil)
			o.StopAt = stop
			redraw := redrawTiny(c, train)
			o.Redraw = func(epoch, row uint32) seq.Example {
				mu.Lock()
				draws = append(draws, [2]uint32{epoch, row})
				mu.Unlock()
				return redraw(epoch, row)
			}
			tr := must.Get(NewTrainer(modeltest.RandomModel(c, 1), s, device, train, val, from, o))(t)
			must.Succeed(t, tr.Run(t.Context()))
			if stop > 0 && (tr.ahead != nil) != tr.engine.IdleCPU() {
				t.Errorf("rows are drawn ahead: %v, want %v", tr.ahead != nil, tr.engine.IdleCPU())
			}
			must.Succeed(t, tr.Close())
			from = must.Get(LoadCheckpoint(dir))(t)
		}
		return draws
	}
	whole, parts := t.TempDir(), t.TempDir()
	card := configtest.Card{Device: cpu.New(1), Limit: 1 << 40}
	draws := run(whole, cpu.New(2))
	if ahead := run(t.TempDir(), card); len(ahead) != len(draws) {
		t.Errorf("%d rows are drawn on a device that leaves the CPU idle, want %d", len(ahead), len(draws))
	}
	run(t.TempDir(), cpu.New(1), 3)
	epochs := map[uint32]int{}
	for _, d := range draws {
		epochs[d[0]]++
	}
	n := train.Len()
	if epochs[0] != n || epochs[1] != n || epochs[stageEpochs]+epochs[stageEpochs+1] != len(draws)-2*n {
		t.Errorf("%v rows of each epoch are drawn, want all %d of two epochs, and those of the stage", epochs, n)
	}
	slices.SortFunc(draws, func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) })
	if once := len(slices.Compact(slices.Clone(draws))); once != len(draws) {
		t.Errorf("%d draws of %d different rows, want one draw for each row of an epoch", len(draws), once)
	}
	run(parts, card, 1, 3, 6)
	compareOutcomes(t, outcomeOf(t, parts), outcomeOf(t, whole))
	s.Fresh = false
	old := t.TempDir()
	run(old, cpu.New(2))
	if slices.Equal(outcomeOf(t, old).weights, outcomeOf(t, whole).weights) {
		t.Error("a run on the rows of the file has the same weights")
	}
}

// TestFreshErrors checks the errors for data that cannot be drawn again and for rows of a wrong length or label.
func TestFreshErrors(t *testing.T) {
	c, s := configtest.TrainingConfig(), runSettings()
	s.Fresh = true
	train, val := tinySplits(t, c.Task)
	must.Fail(t, "fresh: expected a function Options.Redraw", "no function")(
		NewTrainer(modeltest.RandomModel(c, 1), s, cpu.New(1), train, val, nil, options(t.TempDir(), nil)))
	for want, change := range map[string]func(e *seq.Example){
		"drawn anew: expected ": func(e *seq.Example) { e.A = append(e.A, 1) },
		"label":                 func(e *seq.Example) { e.Label = 99 },
	} {
		o := options(t.TempDir(), nil)
		redraw := redrawTiny(c, train)
		o.Redraw = func(epoch, row uint32) seq.Example {
			e := redraw(epoch, row)
			change(&e)
			return e
		}
		must.Fail(t, want)(trainNew(t, modeltest.RandomModel(c, 1), s, o, cpu.New(1), train, val))
	}
}

// TestFreshRows checks that a row drawn anew has the index of its row and the tokens in the input window.
func TestFreshRows(t *testing.T) {
	c, s := configtest.TrainingConfig(), runSettings()
	s.Fresh = true
	c.SetReadWindow(seq.Window{Length: 3})
	rows, val := writeSplits(t, c.Task, 14, func(*rand.Rand, string, int) int { return 3 })
	o := options(t.TempDir(), nil)
	o.Redraw = func(epoch, row uint32) seq.Example {
		return seq.Example{Index: 77, A: []int32{1, 2, 3, 4, int32(row % 3)}, Label: 1}
	}
	tr := must.Get(NewTrainer(modeltest.RandomModel(c, 1), s, cpu.New(1), rows, val, nil, o))(t)
	defer tr.Close()
	want, _ := tr.order.batch(tr.state)
	for i, e := range must.Get(tr.nextExamples())(t) {
		if e.Index != want[i] || !slices.Equal(e.A, []int32{1, 2, 3}) {
			t.Errorf("example %+v, want row %d and three tokens", e, want[i])
		}
	}
}
