package sft

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
)

// TestOrdinalLogits: the softmax are the differences of the probabilities of reaching a class and the next
// one, which never rise; without a bound on the logits they are finite.
func TestOrdinalLogits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for classes := 1; classes < 7; classes++ {
		for range 50 {
			logits := make([]float32, classes)
			for k := range logits {
				logits[k] = float32(3 * random.NormFloat64())
			}
			p := Probabilities(ordinalLogits(logits))
			reached := 1.0
			for k := range p {
				next := 0.0
				if k+1 < classes {
					next = min(reached, 1/(1+math.Exp(-float64(logits[k+1]))))
				}
				if want := reached - next; math.Abs(float64(p[k])-want) > 1e-6 {
					t.Errorf("%v: class %d has the probability %v, expected %v", logits, k, p[k], want)
				}
				reached = next
			}
		}
	}
	for _, c := range []struct {
		logits []float32
		want   int
	}{{[]float32{0, 1e9, 1e9, -1e9}, 2}, {[]float32{-1e30, -1e30, 1e30}, 0}, {[]float32{0, math.MaxFloat32, math.MaxFloat32}, 2}, {[]float32{9, 5, 5, 5}, 3}} {
		if z := ordinalLogits(c.logits); !finite(z) || Argmax(z) != c.want {
			t.Errorf("%v: %v, expected class %d", c.logits, z, c.want)
		}
	}
}

// TestTrainOrdinal: a model learns classes in an order from data of a classification, and the kept one
// reaches what its evaluation reported.
func TestTrainOrdinal(t *testing.T) {
	train, val := splits(t, Classification)
	for _, by := range []string{"", byLoss, byMacroF1, byAUC, byMAE, OneStandardError} {
		settings := runSettings()
		settings.Epochs, settings.LearningRate, settings.Select, settings.TemperatureScaling = 20, 0.01, by, true
		var reports []EvaluationReport
		dir := t.TempDir()
		must.Succeed(t, trainNew(t, NewModel(ofTask(tinyConfig(), Ordinal), 1), settings, options(dir, keeping(&reports)), cpu.New(2), train, val))
		best := reports[0]
		for _, r := range reports {
			if r.Best {
				best = r
			}
		}
		m := must.Get(Load(dir))(t)
		s := newScorerOf(t, m, cpu.New(1))
		right, off := 0, 0.0
		for i := range val.Len() {
			e := must.Get(val.Example(i))(t)
			o := must.Get(s.Classify(t.Context(), e.A))(t)
			class := Argmax(o.Logits)
			if class == int(e.Label) {
				right++
			}
			off += math.Abs(float64(class - int(e.Label)))
		}
		n := float64(val.Len())
		if *best.Accuracy != float64(right)/n || *best.MAE != off/n || m.Config.Temperature != 0 {
			t.Errorf("selected by %q: %d right, off by %v of %v rows; reported %+v", by, right, off, n, best)
		}
		if by == byMAE && slices.ContainsFunc(reports, func(r EvaluationReport) bool { return *r.MAE < *best.MAE }) {
			t.Errorf("another evaluation has less than the kept %v", *best.MAE)
		}
		if last := reports[len(reports)-1]; !(last.Loss < reports[0].Loss) {
			t.Errorf("selected by %q: nothing was learned: loss %v, then %v", by, reports[0].Loss, last.Loss)
		}
	}
}

// TestOrdinalRefusals: what the task does not have is an error that says so.
func TestOrdinalRefusals(t *testing.T) {
	m := randomModel(ofTask(tinyConfig(), Ordinal), 1)
	for want, change := range map[string]func(s *Settings){
		`select is "r2"`:                    func(s *Settings) { s.Select = byR2 },
		"weights of classes, expected none": func(s *Settings) { s.ClassWeights = []float64{1, 2, 3} },
	} {
		settings := runSettings()
		change(&settings)
		must.Fail(t, want)(NewStepper(m, settings, cpu.New(1), 10, 0))
	}
	e := randomExamples(m.Config, rand.New(rand.NewPCG(1, 1)), 4)
	e[0].Label = 3
	must.Fail(t, "label 3, expected 0 to 2")(m.Gradient(t.Context(), cpu.New(1), e))
}
