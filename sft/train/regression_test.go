package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestTrainRegression checks that loss or R² selects the best evaluation, and that the metrics of
// numbers are in the units of the data.
func TestTrainRegression(t *testing.T) {
	train, val := tinySplits(t, config.Regression)
	for _, by := range []string{"", byR2} {
		settings := runSettings()
		settings.Epochs, settings.LearningRate, settings.Select = 20, 0.01, by
		var reports []EvaluationReport
		dir := t.TempDir()
		must.Succeed(t, trainNew(t, sft.NewModel(configtest.WithTask(configtest.TinyConfig(), config.Regression), 1),
			settings,
			options(dir, collectReports(&reports)), cpu.New(2), train, val))
		best := 0
		for i, r := range reports {
			better := i == 0 || by == "" && r.Loss < reports[best].Loss || by == byR2 && *r.R2 > *reports[best].R2
			if r.Best != better || r.Accuracy != nil || len(r.Numbers) != 2 ||
				math.Abs(*r.R2-(*r.Numbers[0].R2+*r.Numbers[1].R2)/2) > 1e-12 {
				t.Errorf("evaluation %d: got %+v, want best %t, two numbers and their mean R²", i, r, better)
			}
			if better {
				best = i
			}
		}
		m := must.Get(sft.Load(dir))(t)
		s := modeltest.NewScorerOf(t, m, cpu.New(1))
		var absolute, squares, total, mean, loss float64
		var examples []seq.Example
		for i := range val.Len() {
			e := must.Get(val.Example(i))(t)
			examples = append(examples, e)
			mean += float64(e.Numbers[1]) / float64(val.Len())
		}
		outputs := must.Get(s.Examples(t.Context(), examples))(t)
		for i, o := range outputs {
			y := float64(examples[i].Numbers[1])
			d := float64(o.Numbers[1]) - y
			absolute, squares, total = absolute+math.Abs(d), squares+d*d, total+(y-mean)*(y-mean)
			loss += m.Config.LossOf(o.Logits, examples[i])
		}
		n, r := float64(val.Len()), reports[best].Numbers[1]
		for _, v := range [][2]float64{{r.MAE, absolute / n}, {r.RMSE, math.Sqrt(squares / n)},
			{*r.R2, 1 - squares/total}, {reports[best].Loss, loss / (2 * n)}} {
			if math.Abs(v[0]-v[1]) > 1e-6 {
				t.Errorf("selected by %q: got %v, want %v, in %+v", by, v[0], v[1], reports[best])
			}
		}
	}
}

// TestRegressionRefusals checks the errors for settings that the task does not support, and for rows
// without numbers.
func TestRegressionRefusals(t *testing.T) {
	m := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.Regression), 1)
	for want, change := range map[string]func(s *Settings){
		`select "auc"`:     func(s *Settings) { s.Select = "auc" },
		"no class weights": func(s *Settings) { s.ClassWeights = []float64{1, 2} },
	} {
		settings := runSettings()
		change(&settings)
		must.Fail(t, want)(NewStepper(m, settings, cpu.New(1), 10, 0))
	}
	settings := runSettings()
	settings.Select = byR2
	must.Fail(t, "expected a metric of task classification",
		"R² of classes")(NewStepper(modeltest.RandomModel(configtest.TinyConfig(), 1), settings, cpu.New(1), 10, 0))
	e := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(1, 1)), 4)
	e[0].Numbers = nil
	must.Fail(t, "no numbers")(Gradient(t.Context(), m, cpu.New(1), e))
}
