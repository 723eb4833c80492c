package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// watched is a device that calls a hook before each run of a program and each access to device memory,
// and fails if the hook returns an error.
type watched struct {
	tensor.Device
	run  func(p *tensor.Program) error
	move func(m tensor.Memory, write bool, offset, words int) error
}

func (d watched) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return watchedRun{x, d, p}, err
}

func (d watched) Allocate(words int) (tensor.Memory, error) {
	m, err := d.Device.Allocate(words)
	return watchedMemory{m, &d}, err
}

type watchedRun struct {
	tensor.Executable
	device  watched
	program *tensor.Program
}

func (x watchedRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	if x.device.run != nil {
		if err := x.device.run(x.program); err != nil {
			return err
		}
	}
	for i, m := range mem {
		if w, ok := m.(watchedMemory); ok {
			mem[i] = w.Memory
		}
	}
	return x.Executable.Run(ctx, mem, from, to)
}

type watchedMemory struct {
	tensor.Memory
	device *watched
}

func (m watchedMemory) Read(offset int, words []uint32) error {
	return m.moved(false, offset, words, m.Memory.Read)
}

func (m watchedMemory) Write(offset int, words []uint32) error {
	return m.moved(true, offset, words, m.Memory.Write)
}

func (m watchedMemory) moved(write bool, offset int, words []uint32, move func(int, []uint32) error) error {
	if m.device.move != nil {
		if err := m.device.move(m, write, offset, len(words)); err != nil {
			return err
		}
	}
	return move(offset, words)
}

// isUpdate reports whether p is the program of the weight update.
func isUpdate(p *tensor.Program) bool { return p.Segments[0].Name == "norm" }

// isMerge reports whether p adds gradient sums of this number of words.
func isMerge(p *tensor.Program, words int) bool {
	return p.Segments[0].Name == "merge" && tensor.Writes(p.Launches[0])[0].Words() == words
}

// onRank1 returns a function that returns the watched device d for rank 1, and a CPU for other ranks.
func onRank1(d watched) func(rank int) tensor.Device {
	return func(rank int) tensor.Device {
		if rank != 1 {
			return cpu.New(1)
		}
		d.Device = cpu.New(1)
		return d
	}
}

// TestRanksDrift changes the weights of one rank. The next comparison must name that rank before
// the run stores its weights again.
func TestRanksDrift(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.Epochs, s.EvalEvery, s.LogEvery = 60, 1000, 50
	updates := 0
	var weights tensor.Memory // the memory that is written first
	d := watched{move: func(m tensor.Memory, write bool, offset, words int) error {
		if write && weights == nil {
			weights = m
		}
		return nil
	}}
	d.run = func(p *tensor.Program) error {
		if isUpdate(p) {
			updates++
		}
		if !isUpdate(p) || updates != 20 {
			return nil
		}
		word := make([]uint32, 1)
		return errors.Join(weights.Read(0, word), weights.Write(0, []uint32{word[0] ^ 1<<20}))
	}
	r := &ranksRun{train: train, val: val, config: configtest.TrainingConfig(), settings: s,
		dir: t.TempDir(), device: onRank1(d)}
	for rank, err := range r.run(t, 3) {
		var known *distributed.Error
		if !errors.As(err, &known) || known.Rank != 1 ||
			!strings.Contains(err.Error(), "rank 1: step 100: its weights (hash ") {
			t.Errorf("rank %d: error %v, want different weights of rank 1 at step 100", rank, err)
		}
	}
	if c := must.Get(LoadCheckpoint(r.dir))(t); c.State.Step != 0 {
		t.Errorf("the checkpoint is of step %d, want 0", c.State.Step)
	}
}

// TestRanksFailInExchange checks that a rank's failure to read, add or write sums ends all ranks
// with its error.
func TestRanksFailInExchange(t *testing.T) {
	train, val := manyMicroBatches(t, config.Classification)
	config := configtest.TrainingConfig()
	total := model.NewParameters(config).Words
	share := (total + 2) / 3
	errGone := errors.New("the device is gone")
	failThird := func(n *atomic.Int64) error {
		if n.Add(1) == 3 {
			return errGone
		}
		return nil
	}
	failMove := func(n *atomic.Int64, writes bool) watched {
		return watched{move: func(m tensor.Memory, write bool, offset, words int) error {
			if write == writes && m.Words() == total && offset > 0 { // the shares of ranks 1 and 2
				return failThird(n)
			}
			return nil
		}}
	}
	for name, d := range map[string]func(n *atomic.Int64) watched{
		"reading the sums": func(n *atomic.Int64) watched { return failMove(n, false) },
		"adding a share": func(n *atomic.Int64) watched {
			return watched{run: func(p *tensor.Program) error {
				if isMerge(p, share) {
					return failThird(n)
				}
				return nil
			}}
		},
		"writing the shares": func(n *atomic.Int64) watched { return failMove(n, true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := &ranksRun{train: train, val: val, config: config, settings: ranksSettings(), dir: t.TempDir(),
				device: onRank1(d(new(atomic.Int64)))}
			for rank, err := range r.run(t, 3) {
				if err == nil || err.Error() != "rank 1: the device is gone" {
					t.Errorf("rank %d: error %v, want %q", rank, err, "rank 1: the device is gone")
				}
			}
		})
	}
}

// TestRanksStopInExchange cancels one rank while it adds shares or updates the weights. All ranks must
// complete the same step, and the resumed run must end with the weights of an uninterrupted run.
func TestRanksStopInExchange(t *testing.T) {
	train, val := manyMicroBatches(t, config.Classification)
	config := configtest.TrainingConfig()
	share := (model.NewParameters(config).Words + 2) / 3
	uninterrupted := &ranksRun{train: train, val: val, config: config, settings: ranksSettings(), dir: t.TempDir()}
	must.Succeed(t, errors.Join(uninterrupted.run(t, 1)...))
	for name, stopsAt := range map[string]func(p *tensor.Program) bool{
		"adding a share": func(p *tensor.Program) bool { return isMerge(p, share) },
		"the update":     isUpdate,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			n, updates, step := 0, 0, 0
			r := *uninterrupted
			r.dir = t.TempDir()
			r.device = onRank1(watched{run: func(p *tensor.Program) error {
				if isUpdate(p) {
					updates++
				}
				if stopsAt(p) {
					if n++; n == 3 {
						cancel()
						if step = updates; !isUpdate(p) {
							step++ // the update follows
						}
					}
				}
				return nil
			}})
			r.context = func(rank int) context.Context {
				if rank == 1 {
					return ctx
				}
				return t.Context()
			}
			for rank, err := range r.run(t, 3) {
				must.FailWith(t, context.Canceled, "rank", rank)(err)
			}
			if c := must.Get(LoadCheckpoint(r.dir))(t); c.State.Step != step {
				t.Errorf("stopped at step %d, expected %d", c.State.Step, step)
			}
			r.device, r.context = nil, nil
			must.Succeed(t, errors.Join(r.run(t, 2)...))
			compareOutcomes(t, outcomeOf(t, r.dir), outcomeOf(t, uninterrupted.dir))
		})
	}
}

// TestRanksStopUnstored checks that every rank returns an error if rank 0 cannot store the
// checkpoint of a cancelled run.
func TestRanksStopUnstored(t *testing.T) {
	train, val := manyMicroBatches(t, config.Classification)
	r := &ranksRun{train: train, val: val, config: configtest.TrainingConfig(),
		settings: ranksSettings(), dir: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	last := filepath.Dir(filepath.Join(r.dir, model.CheckpointFile))
	r.device = onRank1(watched{run: func(p *tensor.Program) error {
		if !isUpdate(p) || ctx.Err() != nil {
			return nil
		}
		cancel()
		return errors.Join(os.RemoveAll(last), os.WriteFile(last, nil, 0o666)) // replaces the directory with a file
	}})
	r.context = func(rank int) context.Context {
		if rank == 1 {
			return ctx
		}
		return t.Context()
	}
	for rank, err := range r.run(t, 3) {
		if err == nil || errors.Is(err, context.Canceled) ||
			!strings.Contains(err.Error(), "rank 0: "+filepath.Join(r.dir, model.CheckpointFile)) {
			t.Errorf("rank %d: error %v, want the error of rank 0 with the path of the checkpoint", rank, err)
		}
	}
}

// TestRanksTooLarge checks that newExchange refuses a model whose sums exceed the size of an MPI
// message.
func TestRanksTooLarge(t *testing.T) {
	e := &model.Engine{Params: &config.Parameters{Words: 1 << 29}}
	must.Fail(t, "4 gradient sums in one message, 2147483648 words, and MPI allows at most 2147483647")(
		newExchange(distributed.NewLocal(2)[0], e, 4))
	e = &model.Engine{Params: &config.Parameters{Words: 1<<29 - 1}, Device: refusing{}}
	must.FailWith(t, errRefused, "the maximum number of words")(newExchange(distributed.NewLocal(2)[0], e, 4))
}

// refusing is a device that returns an error for every program.
type refusing struct{ tensor.Device }

var errRefused = errors.New("refused")

func (refusing) Prepare(*tensor.Program) (tensor.Executable, error) { return nil, errRefused }

// TestRanksMemory checks that the memory plan of ranks includes the exchanged sums. A rank may have
// more sums if the lengths of rows vary.
func TestRanksMemory(t *testing.T) {
	small := configtest.TrainingConfig()
	blocks := int64(model.NewParameters(small).Words) * model.WordBytes
	c := distributed.NewLocal(2)[0]
	need := func(sums int) int64 {
		e := must.Get(model.NewEngine(small, make([]float32, model.NewParameters(small).Words), cpu.New(1)))(t)
		defer e.Close()
		var full *config.MemoryError
		if _, err := planSlots(e, []int32{100}, []int32{100}, 64, 1, sums); !errors.As(err, &full) {
			t.Fatal(err)
		}
		return full.Need
	}
	alike, unlike := maxSums(c, []int32{100}, 1000), maxSums(c, []int32{1, 40 * model.MicroBatchTokens}, 1000)
	if maxSums(nil, []int32{100}, 1000) != 0 || maxSums(c, []int32{100}, 1) != 1 || alike != 5 || unlike != 15 {
		t.Errorf("%d sums for equal lengths, want 5; %d for different lengths, want 15", alike, unlike)
	}
	for _, sums := range []int{alike, unlike} {
		if got, want := need(sums)-need(0), 3*int64(sums)*blocks; got != want {
			t.Errorf("%d sums: %d bytes, expected %d", sums, got, want)
		}
	}
}

// TestRanksReport checks that a report covers the steps since the previous report.
func TestRanksReport(t *testing.T) {
	x := &exchange{Communicator: distributed.NewLocal(4)[0]}
	for i, c := range []struct {
		busy     int
		spent    time.Duration
		steps    int
		training time.Duration
		want     RanksReport
	}{
		{6, time.Second, 2, 4 * time.Second, RanksReport{Ranks: 4, Busy: 3, Exchange: 0.25}},
		{8, 2 * time.Second, 2, 4 * time.Second, RanksReport{Ranks: 4, Busy: 4, Exchange: 0.5}},
		{0, 0, 0, 0, RanksReport{Ranks: 4}},
	} {
		x.busy += c.busy
		x.steps += c.steps
		x.spent += c.spent
		if got := x.report(c.training); *got != c.want {
			t.Errorf("report %d: %+v, expected %+v", i, *got, c.want)
		}
	}
}
