package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// tinySplits writes a tiny data set and opens it. One training row is longer than a micro-batch.
func tinySplits(t *testing.T, task string) (train, val *seq.File) {
	t.Helper()
	return writeSplits(t, task, 14, func(random *rand.Rand, split string, i int) int {
		n := 1 + random.IntN(12)
		if split == "train" && i == 5 {
			n = 4200
		}
		return n
	})
}

// writeSplits writes a data set with rows of the given lengths and opens it. The first token of a
// row determines the class of the row, and each token determines its own tag.
func writeSplits(t *testing.T, task string, trainRows int, length func(random *rand.Rand, split string,
	i int) int) (train, val *seq.File) {
	t.Helper()
	dir := t.TempDir()
	c := configtest.WithTask(configtest.TinyConfig(), task)
	b, err := seq.CreateDataset(dir, seq.Spec{Task: dataTask(c), Name: "tiny", VocabSize: 9,
		NumberNames: c.NumberNames(), LabelNames: c.LabelNames}, false)
	must.Succeed(t, err)
	random := rand.New(rand.NewPCG(1, 7))
	for _, s := range []struct {
		name string
		rows int
	}{{"train", trainRows}, {"val", 70}} {
		w := must.Get(b.Split(s.name))(t)
		for i := range s.rows {
			e := configtest.RandomExamples(c, random, length(random, s.name, i))[0]
			e.Index, e.Label = uint32(i), e.A[0]%3
			if c.Kind() == config.Tags {
				for t := range e.A {
					e.Labels[t] = e.A[t]%4 - 1
				}
			}
			if c.Kind() != config.Classes {
				e.Label = seq.NoLabel
			}
			must.Succeed(t, w.Write(e))
		}
		must.Succeed(t, w.Close())
	}
	d := must.Get(b.Finish(nil))(t)
	open := func(name string) *seq.File {
		f := must.Get(d.Open(name))(t)
		t.Cleanup(func() { f.Close() })
		return f
	}
	return open("train"), open("val")
}

// oneClassSplit returns a split whose rows all have the same class.
func oneClassSplit(t *testing.T) *seq.File {
	t.Helper()
	b := must.Get(seq.CreateDataset(t.TempDir(), seq.Spec{Task: config.Classification, Name: "one",
		VocabSize: 9}, false))(t)
	w := must.Get(b.Split("val"))(t)
	for i := range 3 {
		must.Succeed(t, w.Write(seq.Example{Index: uint32(i), A: []int32{1, 2}, Label: 1}))
	}
	must.Succeed(t, w.Close())
	d := must.Get(b.Finish(nil))(t)
	f := must.Get(d.Open("val"))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// collectReports returns an event handler that appends evaluation reports to a list.
func collectReports(reports *[]EvaluationReport) func(event any) {
	return func(event any) {
		if r, ok := event.(EvaluationReport); ok {
			*reports = append(*reports, r)
		}
	}
}

// runSettings returns settings for a run with several evaluations, of 8 steps on tinySplits.
func runSettings() Settings {
	return Settings{Epochs: 2, Batch: 4, LearningRate: 0.01, WeightDecay: 0.01, StepSize: 1, DecayRate: 0.5,
		MaxGradNorm: 1, Warmup: "3",
		Seed: 5, LogEvery: 3, EvalEvery: 3}
}

func options(dir string, observe func(any)) Options {
	return Options{Dir: dir, SaveEvery: time.Hour, Data: "tiny", Observe: observe}
}

// trainNew trains a new run to its end.
func trainNew(t *testing.T, m *sft.Model, s Settings, o Options, device tensor.Device, train, val *seq.File) error {
	t.Helper()
	tr := must.Get(NewTrainer(m, s, device, train, val, nil, o))(t)
	defer tr.Close()
	return tr.Run(context.Background())
}

// TestPatience checks that the run ends after the given number of evaluations without an
// improvement, and that the earliest of several equal evaluations stays the best.
func TestPatience(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.LearningRate, s.Epochs, s.EvalEvery, s.Patience = 0, 100, 2, 3
	var bests []bool
	dir := t.TempDir()
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 8), s, options(dir, func(event any) {
		if r, ok := event.(EvaluationReport); ok {
			bests = append(bests, r.Best)
		}
	}), cpu.New(2), train, val))
	if !slices.Equal(bests, []bool{true, false, false, false}) {
		t.Errorf("evaluations that were the best so far: %v, want only the first of four", bests)
	}
	c := must.Get(LoadCheckpoint(dir))(t)
	if c.State.Step != 8 || c.State.BestStep != 2 || c.State.SinceBest != 3 {
		t.Errorf("state %+v, want step 8, best step 2, 3 evaluations since", c.State)
	}
}

// TestBestModel checks that model.safetensors has the weights of the evaluation with the highest
// accuracy. With equal accuracies, the lowest loss decides.
func TestBestModel(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.LearningRate, s.EvalEvery, s.Epochs = 0.05, 1, 5
	dir := t.TempDir()
	var reports []EvaluationReport
	var files []string
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 8), s, options(dir, func(event any) {
		if r, ok := event.(EvaluationReport); ok {
			reports = append(reports, r)
			files = append(files, modeltest.ReadFiles(t, filepath.Join(dir, model.WeightsFile)))
		}
	}), cpu.New(1), train, val))
	best, bestAt, worse, ties := -1., 0, 0, 0
	for i, r := range reports {
		less := *r.Accuracy == best && r.Loss < reports[bestAt].Loss
		if r.Best != (*r.Accuracy > best || less) {
			t.Errorf("evaluation %d: accuracy %v, loss %v, best before %v, %v: Best is %v, want %v", i, *r.Accuracy,
				r.Loss, best, reports[bestAt].Loss, r.Best, !r.Best)
		}
		if less {
			ties++
		}
		switch {
		case *r.Accuracy > best || less:
			best, bestAt = *r.Accuracy, i
			if i > 0 && files[i] == files[i-1] {
				t.Errorf("evaluation %d is the best, but did not change the stored model", i)
			}
		case files[i] != files[bestAt]:
			t.Errorf("evaluation %d is not the best, but changed the stored model", i)
		default:
			worse++
		}
	}
	if bestAt == 0 || worse == 0 || ties == 0 {
		t.Errorf("best evaluation: index %d of %d, %d not better, %d better only in loss: want each number above 0",
			bestAt, len(reports), worse, ties)
	}
	m := must.Get(sft.Load(dir))(t)
	correct := 0
	scorer := modeltest.NewScorerOf(t, m, cpu.New(2))
	for i := range val.Len() {
		e := must.Get(val.Example(i))(t)
		if sft.Argmax(modeltest.Score(t, scorer, []seq.Example{e})[0].Logits) == int(e.Label) {
			correct++
		}
	}
	if got := float64(correct) / float64(val.Len()); got != best {
		t.Errorf("the stored model has accuracy %v, expected %v", got, best)
	}
}

// TestNonFinite checks that the error of a diverged run names the step, the tensor and the rows,
// and that the run keeps the last finite checkpoint.
func TestNonFinite(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	for name, c := range map[string]struct {
		change func(m *sft.Model, s *Settings)
		tensor string
		later  bool // fails after the first step
	}{
		"overflow in the forward pass": {func(m *sft.Model, s *Settings) {
			p, _ := m.Parameters.Lookup("layers.0.mlp.fc1.weight")
			fill(m.Parameters.Slice(m.Weights, p), 3e38)
		}, "layers.0.mlp.fc1", false},
		"overflow of the norm": {func(m *sft.Model, s *Settings) {
			p, _ := m.Parameters.Lookup("head.out.weight")
			for i := range m.Parameters.Slice(m.Weights, p) {
				m.Weights[p.Offset+i] *= 1e25
			}
		}, "sum of squares", false},
		"learning rate": {func(m *sft.Model, s *Settings) { s.LearningRate, s.Warmup = 1e37, "0" }, "", true},
	} {
		m, s, dir := modeltest.RandomModel(configtest.TrainingConfig(), 2), runSettings(), t.TempDir()
		c.change(m, &s)
		err := trainNew(t, m, s, options(dir, nil), cpu.New(2), train, val)
		var e *NonFiniteError
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want a NonFiniteError", name, err)
			continue
		}
		if (e.Step > 1) != c.later || !strings.Contains(e.Tensor, c.tensor) || e.Tensor == "unknown" ||
			len(e.Examples) == 0 || len(e.Examples) > s.Batch {
			t.Errorf("%s: step %d, tensor %q, examples %v; want step > 1: %t, tensor %q, 1 to %d examples", name,
				e.Step, e.Tensor, e.Examples, c.later, c.tensor, s.Batch)
		}
		for _, part := range []string{fmt.Sprintf("step %d", e.Step), e.Tensor, fmt.Sprint(e.Examples)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not contain %q", name, err, part)
			}
		}
		if c, err := LoadCheckpoint(dir); err != nil || c.State.Step != 0 {
			t.Errorf("%s: found no checkpoint of step 0, error %v", name, err)
		}
	}
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// TestLongSequence checks that a sequence that is too long is refused before the run begins, alone and
// in a pair. The limit does not apply to the sum of the lengths of a pair.
func TestLongSequence(t *testing.T) {
	for _, task := range []string{config.Classification, config.Retrieval} {
		train, val := tinySplits(t, task)
		row, longest := train.Longest()
		for limit, ok := range map[int]bool{longest: true, longest - 1: false} {
			c := configtest.TrainingConfig()
			c.Task, c.MaxLength = task, limit
			tr, err := NewTrainer(modeltest.RandomModel(c, 1), runSettings(), cpu.New(1), train, val, nil,
				options(t.TempDir(), nil))
			if err == nil {
				tr.Close()
			}
			if want := fmt.Sprintf("%s: row %d has %d tokens in one sequence, but the model accepts at most %d (max_position_embeddings)", train.Name(), row, longest, limit); (err == nil) != ok || err != nil && err.Error() != want {
				t.Errorf("%s, at most %d tokens, longest %d: error %v, want an error: %t, %q", task, limit, longest,
					err, !ok, want)
			}
		}
		if task == config.Retrieval && int(slices.Max(train.Lengths())) <= longest {
			t.Error("no pair is longer than the longest sequence: the test needs such a pair")
		}
	}
}

func TestTrainerRefuses(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	newRun := func(s Settings, o Options, from *Checkpoint) error {
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, cpu.New(2), train, val, from, o)
		if err == nil {
			tr.Close()
		}
		return err
	}
	o := options(t.TempDir(), nil)
	o.Memory = 1 << 20
	err := newRun(runSettings(), o, nil)
	if err == nil || !strings.Contains(err.Error(), "1 MiB of memory allowed") ||
		!strings.Contains(err.Error(), "4200 tokens") {
		t.Fatalf("with 1 MiB of memory: error %v, want a memory error", err)
	}
	var needed int64
	must.Get(fmt.Sscanf(err.Error()[strings.Index(err.Error(), "needs"):], "needs %d MiB", &needed))(t, err)
	o.Memory = needed << 20
	must.Check(t, newRun(runSettings(), o, nil), "with the", needed, "MiB that the error states")
	o.Dir = t.TempDir()
	o.Memory = (needed - 1) << 20
	must.Fail(t, "", "with 1 MiB less than the", needed, "MiB it needs")(newRun(runSettings(), o, nil))
	o.Memory = 0
	s := runSettings()
	s.Batch = 0
	must.Fail(t, "batch", "bad settings")(newRun(s, o, nil))
	poisoned := modeltest.RandomModel(configtest.TrainingConfig(), 1)
	p, _ := poisoned.Parameters.Lookup("layers.0.attn.k.bias")
	poisoned.Parameters.Slice(poisoned.Weights, p)[1] = float32(math.NaN())
	must.Fail(t, p.Name, "a weight that is NaN")(NewTrainer(poisoned, runSettings(), cpu.New(1), train, val, nil, o))
	other := &Checkpoint{Settings: runSettings(), Config: configtest.TrainingConfig(), Data: "other"}
	must.Fail(t, "other data", "other data")(newRun(runSettings(), o, other))
	held := must.Get(NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), runSettings(),
		cpu.New(1), train, val, nil, o))(t)
	defer held.Close()
	must.Fail(t, "another program", "a directory in use")(newRun(runSettings(), o, nil))
}

// TestAnotherProgramHasTrained checks that a trainer does not change a run that another program
// began or continued after the caller had read the directory.
func TestAnotherProgramHasTrained(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	o, s := options(t.TempDir(), nil), runSettings()
	openTrainer := func(from *Checkpoint) (*Trainer, error) {
		m := modeltest.RandomModel(configtest.TrainingConfig(), 1)
		if from != nil {
			m = nil
		}
		return NewTrainer(m, s, cpu.New(1), train, val, from, o)
	}
	first := must.Get(openTrainer(nil))(t)
	early := must.Get(LoadCheckpoint(o.Dir))(t)
	must.Succeed(t, errors.Join(first.Run(context.Background()), first.Close()))
	ended := must.Get(os.ReadFile(filepath.Join(o.Dir, model.CheckpointFile)))(t)
	for name, from := range map[string]*Checkpoint{"a fresh run": nil, "an older checkpoint": early} {
		if tr, err := openTrainer(from); err == nil {
			tr.Close()
			t.Errorf("%s: NewTrainer returned no error", name)
		}
		if now, err := os.ReadFile(filepath.Join(o.Dir, model.CheckpointFile)); err != nil || !bytes.Equal(now, ended) {
			t.Errorf("%s: the other program's checkpoint has changed or cannot be read: error %v", name, err)
		}
	}
}

// dataTask returns the task of a data set with the labels of [configtest.RandomExamples]. Data sets for
// fill-mask models have the task classification, because these models ignore labels.
func dataTask(c *config.Config) string {
	switch c.Kind() {
	case config.Numbers:
		return seq.Regression
	case config.Labels:
		return seq.MultiLabel
	case config.Tags:
		return seq.Tagging
	}
	if c.Sequences() == 2 {
		return seq.Retrieval
	}
	return seq.Classification
}
