package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// manyMicroBatches returns a data set whose batches of 10 rows have between one and ten
// micro-batches.
func manyMicroBatches(t *testing.T, task string) (train, val *seq.File) {
	t.Helper()
	return writeSplits(t, task, 23, func(random *rand.Rand, split string, i int) int {
		if split == "train" && i%7 > 0 {
			return 1500 + random.IntN(4000)
		}
		return 1 + random.IntN(30)
	})
}

// ranksRun is a run of several ranks. Each rank has its own device. Ranks other than 0 have another
// directory, in which they must not write files.
type ranksRun struct {
	train, val *seq.File
	config     *config.Config
	settings   Settings
	dir        string
	stopAt     int
	device     func(rank int) tensor.Device
	change     func(rank int, o *Options)
	context    func(rank int) context.Context
}

// run trains and returns the error of each rank.
func (r *ranksRun) run(t *testing.T, ranks int) []error {
	t.Helper()
	errs := make([]error, ranks)
	var wg sync.WaitGroup
	for rank, c := range distributed.NewLocal(ranks) {
		wg.Go(func() { errs[rank] = r.rank(t, c) })
	}
	done := make(chan bool)
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatal("the ranks are still running after 5 minutes, want them to return: they may be in a deadlock")
	}
	return errs
}

func (r *ranksRun) rank(t *testing.T, c *distributed.Local) error {
	dir := r.dir
	if c.Rank() > 0 {
		dir = filepath.Join(r.dir, "of another machine")
	}
	from, err := LoadSharedCheckpoint(c, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o := options(dir, nil)
	o.Communicator, o.StopAt = c, r.stopAt
	if r.change != nil {
		r.change(c.Rank(), &o)
	}
	device, ctx := tensor.Device(cpu.New(1+c.Rank()%2)), context.Background()
	if r.device != nil {
		device = r.device(c.Rank())
	}
	if r.context != nil {
		ctx = r.context(c.Rank())
	}
	tr, err := NewTrainer(modeltest.RandomModel(r.config, 1), r.settings, device, r.train, r.val, from, o)
	if err != nil {
		return err
	}
	return errors.Join(tr.Run(ctx), tr.Close())
}

func ranksSettings() Settings {
	s := runSettings()
	s.Batch, s.Epochs, s.EvalEvery, s.LogEvery = 10, 3, 4, 2
	return s
}

// TestRanks checks that a run has the same results with any number of ranks, even if a resume
// changes the number. With -short it tests one task.
func TestRanks(t *testing.T) {
	for _, task := range config.Tasks() {
		t.Run(task, func(t *testing.T) {
			if task != config.Classification {
				testenv.Long(t, "the exchange of sums is the same for all tasks")
			}
			small := configtest.WithTask(configtest.TrainingConfig(), task)
			if task == config.Classification || task == config.Retrieval {
				small.NGrams = configtest.TokenNGrams()
			}
			train, val := manyMicroBatches(t, task)
			small.AttentionDropout, small.EmbeddingDropout, small.FeedForward = 0.2, 0.1, 0.3
			settings := ranksSettings()
			if settings.TokenDeletion = 0.1; task != config.FillMask {
				settings.TokenReplacement = 0.1
			}
			uninterrupted := t.TempDir()
			must.Succeed(t, trainNew(t, modeltest.RandomModel(small, 1), settings,
				options(uninterrupted, nil), cpu.New(2), train, val))
			want := outcomeOf(t, uninterrupted)
			for _, ranks := range []int{1, 2, 3, 4, 7} {
				r := &ranksRun{train: train, val: val, config: small, settings: settings, dir: t.TempDir()}
				must.Succeed(t, errors.Join(r.run(t, ranks)...), ranks, "ranks")
				compareOutcomes(t, outcomeOf(t, r.dir), want)
				if _, err := os.Stat(filepath.Join(r.dir, "of another machine")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a rank other than 0 has written files: %v", err)
				}
			}
			r := &ranksRun{train: train, val: val, config: small, settings: settings, dir: t.TempDir()}
			for i, ranks := range []int{3, 1, 2, 4} {
				if r.stopAt = 2 * (i + 1); i == 3 {
					r.stopAt = 0
				}
				must.Succeed(t, errors.Join(r.run(t, ranks)...))
			}
			compareOutcomes(t, outcomeOf(t, r.dir), want)
		})
	}
}

// TestRanksEmptyCheckpoint checks that an empty file is reported as a malformed checkpoint, not as
// a missing one.
func TestRanksEmptyCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), model.CheckpointFile)
	must.Succeed(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)))
	var wg sync.WaitGroup
	for rank, c := range distributed.NewLocal(2) {
		wg.Go(func() {
			_, err := LoadSharedCheckpoint(c, filepath.Dir(filepath.Dir(path)))
			if err == nil || errors.Is(err, fs.ErrNotExist) ||
				!strings.Contains(err.Error(), path+": expected a safetensors file") {
				t.Errorf("rank %d: error %v, want one about a malformed %s", rank, err, path)
			}
		})
	}
	wg.Wait()
}

// TestRanksStop cancels one rank during a step or an evaluation. All ranks must stop with the run
// stored, and the resumed run must end with the results of an uninterrupted run.
func TestRanksStop(t *testing.T) {
	train, val := manyMicroBatches(t, config.Classification)
	r := &ranksRun{train: train, val: val, config: configtest.TrainingConfig(), settings: ranksSettings()}
	r.dir = t.TempDir()
	must.Succeed(t, errors.Join(r.run(t, 1)...))
	want := outcomeOf(t, r.dir)
	r.dir = t.TempDir()
	random := rand.New(rand.NewPCG(8, 1))
	stops := 0
	for finished := false; !finished; stops++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		stopper := random.IntN(3)
		remaining := new(atomic.Int64)
		remaining.Store(random.Int64N(300))
		r.device = func(rank int) tensor.Device {
			if rank != stopper {
				return cpu.New(1)
			}
			return interrupting{cpu.New(2), remaining, func() { cancel(errors.New("a signal")) }}
		}
		r.context = func(rank int) context.Context {
			if rank == stopper {
				return ctx
			}
			return t.Context()
		}
		finished = true
		for rank, err := range r.run(t, 3) {
			if err != nil {
				finished = false
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("rank %d: error %v, want <nil> or %v", rank, err, context.Canceled)
				}
			}
		}
	}
	if stops < 3 {
		t.Errorf("the run ended after %d starts, want at least 3", stops)
	}
	compareOutcomes(t, outcomeOf(t, r.dir), want)
}

// failing is a device whose programs fail after a number of launches.
type failing struct {
	tensor.Device
	remaining *atomic.Int64
}

func (d failing) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return failingRun{x, d}, err
}

type failingRun struct {
	tensor.Executable
	device failing
}

func (x failingRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.Inspect(ctx, mem, from, to, func(tensor.Kernel) error {
		if x.device.remaining.Add(-1) <= 0 {
			return errors.New("the device is gone")
		}
		return nil
	})
}

// TestRanksFail lets one rank fail at a random launch. Every rank must return an error that names the
// failed rank, without a deadlock.
func TestRanksFail(t *testing.T) {
	train, val := manyMicroBatches(t, config.Classification)
	r := &ranksRun{train: train, val: val, config: configtest.TrainingConfig(), settings: ranksSettings()}
	random := rand.New(rand.NewPCG(2, 2))
	for range 12 {
		r.dir = t.TempDir()
		failingRank, remaining := random.IntN(3), new(atomic.Int64)
		remaining.Store(random.Int64N(400))
		r.device = func(rank int) tensor.Device {
			if rank != failingRank {
				return cpu.New(1)
			}
			return failing{cpu.New(1), remaining}
		}
		for rank, err := range r.run(t, 3) {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rank %d: ", failingRank)) ||
				!strings.Contains(err.Error(), "the device is gone") {
				t.Errorf("rank %d fails: rank %d has the error %v, want one with %q and %q",
					failingRank, rank, err, fmt.Sprintf("rank %d: ", failingRank), "the device is gone")
			}
		}
		if _, err := LoadCheckpoint(r.dir); err != nil {
			t.Error(err)
		}
	}
}

// TestRanksDiffer checks that an error names a rank whose data, step to stop at or weights differ,
// before a file is written.
func TestRanksDiffer(t *testing.T) {
	train, val := manyMicroBatches(t, config.Classification)
	r := &ranksRun{train: train, val: val, config: configtest.TrainingConfig(),
		settings: ranksSettings(), dir: t.TempDir(),
		change: func(rank int, o *Options) {
			if rank == 2 {
				o.Data = "others"
			}
		}}
	for rank, err := range r.run(t, 4) {
		must.Fail(t, `rank 2 differs from rank 0 in the fingerprint of the data: it has others, rank 0 has tiny`,
			"rank", rank)(err)
	}
	r.change = func(rank int, o *Options) { o.StopAt = 4 + rank }
	for rank, err := range r.run(t, 2) {
		must.Fail(t, "rank 1 differs from rank 0 in the step to stop at: it has 5, rank 0 has 4", "rank", rank)(err)
	}
	r.change = nil
	r.device = func(rank int) tensor.Device {
		if rank == 1 {
			return forgetful{cpu.New(1)}
		}
		return cpu.New(1)
	}
	for rank, err := range r.run(t, 2) {
		must.Fail(t, "rank 1 differs from rank 0 in the weights", "rank", rank)(err)
	}
	if entries, err := os.ReadDir(r.dir); err != nil || len(entries) > 0 {
		t.Errorf("the run directory has the files %v, want none; error %v", entries, err)
	}
}

// forgetful is a device whose memory returns a wrong first word.
type forgetful struct{ tensor.Device }

func (d forgetful) Allocate(words int) (tensor.Memory, error) {
	m, err := d.Device.Allocate(words)
	return forgetfulMemory{m}, err
}

func (d forgetful) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return forgetfulRun{x}, err
}

type forgetfulRun struct{ tensor.Executable }

func (x forgetfulRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	for i, m := range mem {
		if f, ok := m.(forgetfulMemory); ok {
			mem[i] = f.Memory
		}
	}
	return x.Executable.Run(ctx, mem, from, to)
}

type forgetfulMemory struct{ tensor.Memory }

func (m forgetfulMemory) Read(offset int, words []uint32) error {
	err := m.Memory.Read(offset, words)
	if offset == 0 {
		words[0]++
	}
	return err
}
