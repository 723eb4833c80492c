package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// slope is the derivative of the reference's loss with respect to one weight.
type slope struct {
	parameter config.Parameter
	index     int
	want      float64
}

// fillMaskSlopes returns derivatives for some weights of each tensor, by central differences.
func fillMaskSlopes(m *sft.Model, examples []seq.Example) (out []slope) {
	reference, random := modeltest.NewReference(m), rand.New(rand.NewPCG(2, 1))
	for _, p := range m.Parameters.List {
		w := reference.Weights[p.Name]
		for n := range 8 {
			i := random.IntN(len(w))
			if n == 0 {
				i = len(w) - 1 // in the table of embeddings, part of the mask's row
			}
			const h = 1e-5
			at := func(step float64) float64 {
				kept := w[i]
				defer func() { w[i] = kept }()
				w[i] += step
				loss, _ := reference.FillMaskLoss(examples)
				return loss
			}
			out = append(out, slope{p, i, (at(h) - at(-h)) / (2 * h)})
		}
	}
	return out
}

// TestFillMaskAgainstReference compares loss and gradient with the reference on every kind of
// device.
func TestFillMaskAgainstReference(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	type expectation struct {
		m        *sft.Model
		examples []seq.Example
		loss     float64
		slopes   []slope
	}
	var expected []expectation // shared by all devices, because finite differences take a long time
	for _, c := range configtest.FillMaskConfigs() {
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(8, 8)), 9, 3, 1, 40, 12)
		loss, tokens := modeltest.NewReference(m).FillMaskLoss(examples)
		if tokens < 15 {
			t.Fatalf("%d masked tokens, want at least 15 for the comparison", tokens)
		}
		expected = append(expected, expectation{m, examples, loss, fillMaskSlopes(m, examples)})
	}
	configtest.OnEveryKind(t, func(t *testing.T, devices ...tensor.Device) {
		for _, want := range expected {
			c := want.m.Config
			gradient, loss := must.Get2(Gradient(t.Context(), want.m, devices[0], want.examples))(t)
			if alone := meanLossOn(t, want.m, devices[0], want.examples); math.Abs(loss-want.loss) > 1e-6 ||
				math.Abs(alone-want.loss) > 1e-6 {
				t.Errorf("%s, tied %t: loss %v with a backward pass, %v without, expected %v", c.NormPosition,
					c.TieEmbeddings, loss, alone, want.loss)
			}
			for _, s := range want.slopes {
				if g := want.m.Parameters.Slice(gradient,
					s.parameter)[s.index]; math.Abs(s.want-float64(g)) > 1e-5+1e-3*math.Abs(s.want) {
					t.Errorf("%s, tied %t: %s[%d]: %v, by differences %v", c.NormPosition, c.TieEmbeddings,
						s.parameter.Name, s.index, g, s.want)
				}
			}
		}
	})
}

// TestFillMaskBatchingIsBitExact checks that an example's loss, in training and in evaluation,
// depends only on its row and the step. Other examples of the batch, slots and threads change no
// bit.
func TestFillMaskBatchingIsBitExact(t *testing.T) {
	configtest.OnEveryKind(t, testFillMaskBatchingIsBitExact)
}

func testFillMaskBatchingIsBitExact(t *testing.T, devices ...tensor.Device) {
	c := configtest.WithTask(configtest.TrainingConfig(), config.FillMask)
	c.TieEmbeddings = true
	m := modeltest.RandomModel(c, 2)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 4)), 50, 1, 70, 4096, 33)
	gradient, all := gradientOf(t, m, 1, devices[0], examples, model.TrainMode)
	for i, device := range devices {
		if other, b := gradientOf(t, m, 1+i, device, examples, model.TrainMode); !slices.Equal(other, gradient) ||
			!slices.Equal(b.loss, all.loss) {
			t.Errorf("%d slots on %s: the gradient or loss differs from one slot", 1+i, device.Name())
		}
	}
	measure := func(examples ...seq.Example) [][]float32 {
		return measureOn(t, m, devices[0], examples)
	}
	together := measure(examples...)
	for i, e := range examples {
		if _, alone := gradientOf(t, m, 1, devices[0], examples[i:i+1], model.TrainMode); alone.loss[0] != all.loss[i] {
			t.Errorf("example %d: loss %v alone, want %v as in a batch", i, alone.loss[0], all.loss[i])
		}
		if alone := measure(e); alone[0][0] != together[i][0] {
			t.Errorf("example %d: the evaluation has the loss %v alone, want %v as in a batch", i, alone[0][0],
				together[i][0])
		}
	}
}

// TestFillMaskMemory checks that the planned memory of a training step includes the logits of the
// masked tokens.
func TestFillMaskMemory(t *testing.T) {
	c := configtest.LargeVocabularyConfig()
	for _, mib := range []int64{400, 1000} { // the plan reserves 256 MiB
		s, err := NewStepper(sft.NewModel(c, 1), runSettings(), cpu.New(1), 4000, mib<<20)
		var memory *config.MemoryError
		if errors.As(err, &memory) != (mib == 400) || mib == 1000 && err != nil {
			t.Errorf("%d MiB: error %v, want a memory error only for 400 MiB", mib, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestFillMaskRefusals checks the errors for operations and settings that the task does not
// support.
func TestFillMaskRefusals(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.FillMask)
	m := modeltest.RandomModel(c, 1)
	s := modeltest.NewScorerOf(t, m, cpu.New(1))
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(1, 1)), 5)
	calls := map[string]func() error{
		"Examples": func() error { _, err := s.Examples(t.Context(), examples); return err },
		"Explain":  func() error { _, err := s.Explain(t.Context(), examples); return err },
		"Score":    func() error { _, err := s.Score(t.Context(), nil); return err },
	}
	for name, call := range calls {
		must.Fail(t, "predicts masked tokens", name)(call())
	}
	examples[0].A[3] = *c.MaskTokenID
	must.Fail(t, "token 8 at index 3 is the mask",
		"a mask among the tokens")(Gradient(t.Context(), m, cpu.New(1), examples))
	for want, change := range map[string]func(s *Settings){
		`select "auc"`:          func(s *Settings) { s.Select = "auc" },
		"no class weights":      func(s *Settings) { s.ClassWeights = []float64{1, 2} },
		"token-replacement 0.1": func(s *Settings) { s.TokenReplacement = 0.1 },
	} {
		settings := runSettings()
		change(&settings)
		must.Fail(t, want)(NewStepper(m, settings, cpu.New(1), 10, 0))
	}
}

// TestTrainFillMask trains on random tokens. The loss selects the model, evaluations report bits per
// token, and no line of metrics has an accuracy.
func TestTrainFillMask(t *testing.T) {
	train, val := tinySplits(t, config.FillMask)
	c := configtest.WithTask(configtest.TinyConfig(), config.FillMask)
	settings := runSettings()
	settings.Epochs, settings.LearningRate = 30, 0.02
	var lines []StepReport
	var reports []EvaluationReport
	dir := t.TempDir()
	must.Succeed(t, trainNew(t, sft.NewModel(c, 1), settings, options(dir, func(event any) {
		switch r := event.(type) {
		case StepReport:
			lines = append(lines, r)
		case EvaluationReport:
			reports = append(reports, r)
		}
	}), cpu.New(2), train, val))
	best := slices.MinFunc(reports, func(a, b EvaluationReport) int {
		if a.Loss < b.Loss {
			return -1
		}
		return 1
	})
	last := slices.IndexFunc(reports, func(r EvaluationReport) bool { return r.Loss == best.Loss })
	for i, r := range reports {
		if r.Accuracy != nil || r.MacroF1 != nil || r.SelectedBy != byLoss ||
			math.Abs(*r.BitsPerToken-r.Loss/math.Log(2)) > 1e-12 || i > last && r.Best {
			t.Errorf("evaluation %+v, want bits per token, selection by loss and no accuracy", r)
		}
	}
	if !(best.Loss < reports[0].Loss) || lines[0].Accuracy != nil {
		t.Errorf("the lowest loss is %v, want less than the first, %v; first line %+v, want no accuracy", best.Loss,
			reports[0].Loss, lines[0])
	}
	text := fmt.Sprint(modeltest.ReadFiles(t, dir+"/"+metricsFile))
	if strings.Contains(text, "accuracy") || !strings.Contains(text, "bits_per_token") {
		t.Errorf("metrics %s, want bits_per_token and no accuracy", text)
	}
	state := must.Get(LoadCheckpoint(dir))(t).State
	if state.Selected != best.Loss || state.BestStep != best.Step {
		t.Errorf("got selected loss %v of step %d, want %v of step %d", state.Selected, state.BestStep, best.Loss,
			best.Step)
	}
}
