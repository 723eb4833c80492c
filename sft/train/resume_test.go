package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// interrupting is a device that cancels the run's context at a given launch: within a gradient, an
// update or an evaluation.
type interrupting struct {
	tensor.Device
	remaining *atomic.Int64
	cancel    func()
}

func (d interrupting) Prepare(p *tensor.Program) (tensor.Executable, error) {
	x, err := d.Device.Prepare(p)
	return interruptingRun{x, d}, err
}

type interruptingRun struct {
	tensor.Executable
	device interrupting
}

func (x interruptingRun) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	return x.Inspect(ctx, mem, from, to, func(tensor.Kernel) error {
		if x.device.remaining.Add(-1) == 0 {
			x.device.cancel()
		}
		return nil
	})
}

// outcome holds the results of a run, without times.
type outcome struct {
	weights, moment1, moment2 []float32
	ngrams, squares           []float32 // embeddings of n-grams, and their optimizer's state
	state, model, metrics     string
	config                    string
}

func outcomeOf(t *testing.T, dir string) outcome {
	t.Helper()
	c := must.Get(LoadCheckpoint(dir))(t)
	c.State.MetricsBytes = 0 // the lengths of printed times vary
	state := must.Get(json.Marshal(c.State))(t)
	var metrics bytes.Buffer
	for line := range bytes.Lines([]byte(modeltest.ReadFiles(t, filepath.Join(dir, metricsFile)))) {
		var fields map[string]json.RawMessage
		must.Succeed(t, json.Unmarshal(line, &fields))
		delete(fields, "seconds")
		delete(fields, "tokens_per_s")
		delete(fields, "ranks")
		text := must.Get(json.Marshal(fields))(t)
		metrics.Write(append(text, '\n'))
	}
	var ngrams, squares []float32
	if c.ngrams != nil {
		ngrams, squares = c.ngrams.Weights, c.ngrams.Squares
	}
	return outcome{c.weights, c.moment1, c.moment2, ngrams, squares, string(state),
		modeltest.ReadFiles(t, filepath.Join(dir, model.WeightsFile)),
		metrics.String(), modeltest.ReadFiles(t, filepath.Join(dir, model.ConfigFile))}
}

// TestResume checks that a run interrupted at random launches, and resumed with other numbers of
// threads and other memory limits, writes the same results as an uninterrupted run.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *config.Config, s *Settings)
	}{
		{"classification", func(c *config.Config, s *Settings) {}},
		{"n-grams", func(c *config.Config, s *Settings) {
			c.NGrams, s.Epochs, s.Patience = configtest.TokenNGrams(), 1, 2
		}},
		{"evaluation by epoch", func(c *config.Config, s *Settings) {
			s.EvalEvery, c.NormPosition,
				c.Probability = 0, "post", "relu"
		}},
		{"short rows first", func(c *config.Config, s *Settings) {
			s.Stages, s.Epochs = []Stage{{Steps: 2, Length: 4}, {Steps: 1, Length: 8}}, 1
		}},
		{"easy rows first", func(c *config.Config, s *Settings) {
			s.Stages, s.Epochs = []Stage{{Steps: 2, Rows: 3}, {Steps: 1, LastRows: 2}}, 1
		}},
		{"falling rate", func(c *config.Config, s *Settings) {
			s.Schedule, s.StepSize, s.DecayRate, s.FinalRate, s.Stages, s.Epochs = cosine, 0, 0, 0.1,
				[]Stage{{Steps: 3, Length: 8}}, 1
		}},
		{"weights and selection", func(c *config.Config, s *Settings) {
			s.ClassWeights, s.Select, s.Epochs = []float64{0.3, 2, 0.7}, byMacroF1, 1
		}},
		{"noise on tokens", func(c *config.Config, s *Settings) {
			c.Task, s.Epochs, s.TokenDeletion, s.TokenReplacement, s.Stages = config.Retrieval, 1, 0.4, 0.2,
				[]Stage{{Steps: 2, Length: 12}}
		}},
		{"masked tokens", func(c *config.Config, s *Settings) {
			configtest.WithTask(c, config.FillMask)
			c.TieEmbeddings, s.Epochs, s.Patience, s.TokenDeletion = true, 1, 2, 0.2
		}},
		{"regression", func(c *config.Config, s *Settings) {
			configtest.WithTask(c, config.Regression)
			s.Epochs, s.Patience, s.Select = 1, 2, byR2
		}},
		{"several labels", func(c *config.Config, s *Settings) {
			configtest.WithTask(c, config.MultiLabel)
			s.Epochs, s.Patience, s.Select, s.ClassWeights = 1, 2, byMacroF1, []float64{0.5, 1, 4}
		}},
		{"tagging", func(c *config.Config, s *Settings) {
			configtest.WithTask(c, config.Tagging)
			s.ClassWeights, s.Epochs, s.Patience, s.TokenDeletion = []float64{0.3, 2, 0.7}, 1, 2, 0.2
		}},
		{"fresh rows", func(c *config.Config, s *Settings) {
			s.Fresh, s.Epochs, s.Stages = true, 1, []Stage{{Steps: 2, Length: 8}}
		}},
		{"retrieval", func(c *config.Config, s *Settings) { c.Task, s.Epochs, s.Patience = config.Retrieval, 1, 2 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, settings := configtest.TrainingConfig(), runSettings()
			c.change(config, &settings)
			train, val := tinySplits(t, config.Task)
			uninterrupted := t.TempDir()
			o := options(uninterrupted, nil)
			o.Redraw = redrawTiny(config, train)
			must.Succeed(t, trainNew(t, modeltest.RandomModel(config, 1), settings, o, cpu.New(2), train, val))
			want := outcomeOf(t, uninterrupted)

			random := rand.New(rand.NewPCG(3, uint64(len(c.name))))
			dir := t.TempDir()
			interruptions := 0
			var from *Checkpoint
			for attempt := 0; ; attempt++ {
				ctx, cancel := context.WithCancel(context.Background())
				device := interrupting{cpu.New(1 + random.IntN(3)), new(atomic.Int64), cancel}
				device.remaining.Store(1 + random.Int64N(130))
				o.Dir = dir
				o.Memory = []int64{0, 300 << 20, 1 << 30}[random.IntN(3)]
				tr, err := NewTrainer(modeltest.RandomModel(config, 1), settings, device, train, val, from, o)
				must.Succeed(t, err)
				before, saved := os.ReadFile(filepath.Join(dir, model.CheckpointFile))
				err = tr.Run(ctx)
				cancel()
				tr.Close()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				interruptions++
				// Every fourth attempt simulates a kill: the last checkpoint is lost, and the log
				// has lines of steps that the run repeats.
				if saved == nil && attempt%4 == 3 {
					kill(t, dir, before)
				}
				from = must.Get(LoadCheckpoint(dir))(t)
			}
			if interruptions < 6 {
				t.Errorf("%d interruptions, want at least 6", interruptions)
			}
			t.Logf("%d interruptions", interruptions)
			compareOutcomes(t, outcomeOf(t, dir), want)
		})
	}
}

// kill restores an older checkpoint in a run directory, and appends lines of a later step and an incomplete
// line to the log.
func kill(t *testing.T, dir string, checkpoint []byte) {
	t.Helper()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, model.CheckpointFile), checkpoint, 0o666))
	log, err := os.OpenFile(filepath.Join(dir, metricsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = log.WriteString(strings.Repeat(`{"kind":"train","step":99}`+"\n", 100) + `{"kind":"tr`)
	}
	must.Succeed(t, err)
	log.Close()
}

func compareOutcomes(t *testing.T, got, want outcome) {
	t.Helper()
	for _, v := range []struct {
		name      string
		got, want []float32
	}{{"weights", got.weights, want.weights}, {"first moment", got.moment1, want.moment1},
		{"second moment", got.moment2, want.moment2}, {"n-grams", got.ngrams, want.ngrams},
		{"squares of the gradients of n-grams", got.squares, want.squares}} {
		if !slices.Equal(v.got, v.want) {
			t.Errorf("%s differ", v.name)
		}
	}
	if got.state != want.state {
		t.Errorf("state %s, expected %s", got.state, want.state)
	}
	if got.model != want.model {
		t.Errorf("%s differs", model.WeightsFile)
	}
	if got.config != want.config {
		t.Errorf("%s\n%s\nexpected\n%s", model.ConfigFile, got.config, want.config)
	}
	if got.metrics != want.metrics {
		t.Errorf("metrics\n%sexpected\n%s", got.metrics, want.metrics)
	}
}

// TestInterruptedEvaluation checks that a resumed run repeats an interrupted evaluation.
func TestInterruptedEvaluation(t *testing.T) {
	train, val := tinySplits(t, "classification")
	settings := runSettings()
	uninterrupted, dir := t.TempDir(), t.TempDir()
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), settings,
		options(uninterrupted, nil), cpu.New(1), train, val))
	var from *Checkpoint
	interrupted := map[int]bool{} // steps of the interrupted evaluations
	for {
		ctx, cancel := context.WithCancel(context.Background())
		var tr *Trainer
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), settings,
			cpu.New(2), train, val, from,
			options(dir, func(event any) {
				if p, ok := event.(EvaluationProgress); ok && p.Done < p.Rows && !interrupted[tr.State().Step] {
					interrupted[tr.State().Step] = true
					cancel()
				}
			}))
		must.Succeed(t, err)
		err = tr.Run(ctx)
		cancel()
		tr.Close()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		from = must.Get(LoadCheckpoint(dir))(t)
	}
	if len(interrupted) < 3 {
		t.Errorf("%d evaluations were interrupted, want at least 3", len(interrupted))
	}
	compareOutcomes(t, outcomeOf(t, dir), outcomeOf(t, uninterrupted))
}

// TestRateAfterResume checks that tokens before an interruption count in the interval's averages,
// but not in the tokens per second of the resumed process.
func TestRateAfterResume(t *testing.T) {
	config, settings := configtest.TrainingConfig(), runSettings()
	settings.LogEvery = 100
	train, val := tinySplits(t, config.Task)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := options(dir, func(event any) {
		if s, ok := event.(State); ok && s.Step == 2 {
			cancel()
		}
	})
	first := must.Get(NewTrainer(modeltest.RandomModel(config, 1), settings, cpu.New(1), train, val, nil, o))(t)
	if err := errors.Join(first.Run(ctx), first.Close()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	from := must.Get(LoadCheckpoint(dir))(t)
	before := from.State.Interval.Tokens
	var second *Trainer
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	o.Observe = func(event any) {
		if s, ok := event.(State); ok {
			if before == 0 || int(second.throughput.interval.tokens) != s.Interval.Tokens-before {
				t.Errorf("the rate counts %v tokens; the interval has %d tokens, %d of them before the stop",
					second.throughput.interval.tokens, s.Interval.Tokens, before)
			}
			cancel()
		}
	}
	second = must.Get(NewTrainer(modeltest.RandomModel(config, 1), settings, cpu.New(1), train, val, from, o))(t)
	if err := errors.Join(second.Run(ctx), second.Close()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestModelBeforeEvaluation checks that a run has a model from its first checkpoint on. Until the
// first evaluation the model has the checkpoint's weights, and a resume restores a lost model file.
func TestModelBeforeEvaluation(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	settings, dir := runSettings(), t.TempDir()
	settings.EvalEvery, settings.LearningRate, settings.Warmup = 6, 0.05, "0"
	compare := func(step int, same bool) {
		t.Helper()
		c := must.Get(LoadCheckpoint(dir))(t)
		m := must.Get(sft.Load(dir))(t)
		if c.State.Step != step || slices.Equal(m.Weights, c.weights) != same {
			t.Errorf("the checkpoint is of step %d, expected %d; its weights equal the model's: %v, expected %v",
				c.State.Step, step, slices.Equal(m.Weights, c.weights), same)
		}
	}
	// runUntil trains up to a step and stops. It calls started before the first step.
	runUntil := func(step int, from *Checkpoint, started func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), settings,
			cpu.New(2), train, val, from,
			options(dir, func(event any) {
				switch e := event.(type) {
				case State:
					if e.Step == step {
						cancel()
					}
				case EvaluationReport:
					if e.Step == step {
						cancel()
					}
				}
			}))
		must.Succeed(t, err)
		started()
		if err := errors.Join(tr.Run(ctx), tr.Close()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	resume := func() *Checkpoint {
		t.Helper()
		return must.Get(LoadCheckpoint(dir))(t)
	}
	runUntil(2, nil, func() { compare(0, true) })
	compare(2, true)
	// Simulate a kill between the writes of checkpoint and model.
	if err := os.Remove(filepath.Join(dir, model.WeightsFile)); err != nil {
		t.Fatal(err)
	}
	runUntil(4, resume(), func() { compare(2, true) })
	compare(4, true)
	runUntil(6, resume(), func() {})
	compare(6, true) // first evaluation
	runUntil(7, resume(), func() {})
	compare(7, false)
}
