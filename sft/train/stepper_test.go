package train

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

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

// TestStepperMatchesTrainer checks that a stepper with the trainer's batches has the trainer's
// weights, bit by bit.
func TestStepperMatchesTrainer(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.Steps, s.EvalEvery = 3, 100
	m := modeltest.RandomModel(configtest.TrainingConfig(), 1)
	fresh := slices.Clone(m.Weights)
	tr, err := NewTrainer(&sft.Model{Config: m.Config, Parameters: m.Parameters, Weights: slices.Clone(m.Weights)}, s,
		cpu.New(2), train, val, nil, options(t.TempDir(), nil))
	must.Succeed(t, err)
	defer tr.Close()
	st := must.Get(NewStepper(m, s, cpu.New(1), int(slices.Max(train.Lengths())), 0))(t)
	for range s.Steps {
		rows, _ := tr.order.batch(tr.state)
		examples := must.Get(tr.examples(train, rows))(t)
		if loss, err := st.Step(t.Context(), examples); err != nil || !(loss > 0) {
			t.Fatalf("loss %v, error %v; want a loss above 0, error <nil>", loss, err)
		}
		must.Succeed(t, tr.step(t.Context()))
	}
	weights := func(e *model.Engine) []float32 {
		w := make([]float32, e.Params.Words)
		must.Succeed(t, e.Weights.Read(0, tensor.Bits(w)))
		return w
	}
	if got := weights(st.engine); !slices.Equal(got, weights(tr.engine)) || slices.Equal(got, fresh) {
		t.Error("the stepper's weights differ from the trainer's, or are the initial weights")
	}
	if !slices.Equal(m.Weights, fresh) {
		t.Error("the stepper changed the weights of its argument")
	}
}

// TestStepperErrors checks the errors for sequences that do not fit into memory, an unknown label
// and an invalid batch size.
func TestStepperErrors(t *testing.T) {
	m, s := modeltest.RandomModel(configtest.TrainingConfig(), 1), runSettings()
	var full *config.MemoryError
	if _, err := NewStepper(m, s, cpu.New(1), 4096, 1<<20); !errors.As(err, &full) || full.Limit != 1<<20 ||
		full.Need <= full.Limit || full.Longest != 4096 {
		t.Errorf("error %v with %+v, want a memory error for 4096 tokens", err, full)
	}
	st := must.Get(NewStepper(m, s, cpu.New(1), 8, 0))(t)
	train, _ := tinySplits(t, config.Classification)
	e := must.Get(train.Example(0))(t)
	e.Label = int32(m.Config.NumLabels)
	must.Fail(t, "", "a label that the model does not have")(st.Step(t.Context(), []seq.Example{e}))
	s.Batch = 0
	must.Fail(t, "", "a batch size of 0")(NewStepper(m, s, cpu.New(1), 8, 0))
}

// TestStepperRefusesEdges checks that the memory plan includes edges: an example with too many
// edges is refused.
func TestStepperRefusesEdges(t *testing.T) {
	c := must.Get(config.Read(filepath.Join(modeltest.GoldenDir, "graphs/config.json")))(t)
	s := runSettings()
	st := must.Get(NewStepper(modeltest.RandomModel(c, 1), s, cpu.New(1),
		model.PlannedTokens(20, 20*model.PlannedEdges), 0))(t)
	defer st.Close()
	e := seq.Example{Features: make([][]float32, 20)}
	for i := range e.Features {
		e.Features[i] = make([]float32, len(c.FeatureNames))
	}
	for i := range 20 * model.PlannedEdges {
		e.Edges = append(e.Edges, seq.Edge{Source: int32(i % 20), Target: int32(i / 20 % 20),
			Features: make([]float32, len(c.EdgeFeatureNames))})
	}
	if _, err := st.Step(t.Context(), []seq.Example{e}); err != nil {
		t.Error(err)
	}
	e.Edges = append(e.Edges, e.Edges[0])
	must.Fail(t, "example 0: 161 edges")(st.Step(t.Context(), []seq.Example{e}))
}

// TestPlannedBytes checks that training needs more memory than scoring, and that a larger batch, length
// or number of slots needs more.
func TestPlannedBytes(t *testing.T) {
	c := configtest.TrainingConfig()
	planned := func(training bool, batch, length, slots int) int64 {
		return must.Get(model.PlannedBytes(c, training, batch, length, slots))(t)
	}
	base := planned(false, 2, 256, 1)
	if weights := 4 * int64(model.NewParameters(c).Words); base <= weights {
		t.Errorf("%d planned bytes, want more than the weights' %d", base, weights)
	}
	for _, more := range []int64{planned(true, 2, 256, 1), planned(false, 4, 256, 1), planned(false, 2, 512, 1),
		planned(false, 2, 256, 2)} {
		if more <= base {
			t.Errorf("%d planned bytes, want more than %d", more, base)
		}
	}
}
