package sft

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestRegressionConfig: the data name the numbers, and what no model can have is an error.
func TestRegressionConfig(t *testing.T) {
	spec := seq.Spec{Task: Regression, VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`),
		NumberNames: []string{"a", "b"}}
	c := tinyConfig()
	c.Task, c.LabelNames = "", []string{"x", "y", "z"}
	if err := c.DescribeData(spec); err != nil || c.Task != Regression || c.NumLabels != 2 || c.LabelNames != nil ||
		c.Numbers[1] != (Number{"b", 0, 1}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Task != Regression {
		t.Error("a regression answers with labels")
	}
	spec.Task, spec.NumberNames = Classification, nil
	if err := c.DescribeData(spec); err != ErrNoNumbers {
		t.Errorf("no numbers: %v", err)
	}
	for want, change := range map[string]func(c *Config){
		"numbers: 1 numbers":    func(c *Config) { c.Numbers = c.Numbers[:1] },
		"numbers[0]: mean NaN":  func(c *Config) { c.Numbers[0].Mean = math.NaN() },
		"numbers[1]: mean -100": func(c *Config) { c.Numbers[1].Deviation = -1 },
		`"mass" occurs twice`:   func(c *Config) { c.Numbers[1].Name = "mass" },
		"regression_loss: \"l1": func(c *Config) { c.RegressionLoss = "l1" },
		"tie_embeddings: true":  func(c *Config) { c.TieEmbeddings = true },
	} {
		c := ofTask(tinyConfig(), Regression)
		change(c)
		must.Fail(t, want)(c.Validate())
	}
}

// TestPredictions: what a model says is in the units of the data, and stays within float32.
func TestPredictions(t *testing.T) {
	c := ofTask(tinyConfig(), Regression)
	c.Numbers[1].Deviation = 0 // all rows had one number
	if got := c.Predictions([]float32{-2, 3}); !slices.Equal(got, []float32{-0.5, -97}) {
		t.Errorf("%v", got)
	}
	c.Numbers[0].Deviation = 1e300
	if got := c.Predictions([]float32{-2, 0}); got[0] != -math.MaxFloat32 {
		t.Errorf("%v", got)
	}
	e := seq.Example{A: []int32{1}, Numbers: []float32{3.5, -99}}
	if got := c.standardised(e); got[0] != 0 || got[1] != 1 {
		t.Errorf("%v", got)
	}
	for want, numbers := range map[string][]float32{"no numbers, expected 2": nil, "1 numbers, expected 2": {1},
		`number "mass": 1e+30 is not within the reach`: {1e30, 1}} {
		c.Numbers[0].Deviation = 1e-30
		must.Fail(t, want)(c.checkLabelled(seq.Example{A: []int32{1}, Numbers: numbers}))
	}
}

// TestTrainRegression: a model learns numbers, its best evaluation is kept, by the loss or by R²,
// and its reports are in the units of the data.
func TestTrainRegression(t *testing.T) {
	train, val := splits(t, Regression)
	for _, by := range []string{"", byR2} {
		settings := runSettings()
		settings.Epochs, settings.LearningRate, settings.Select = 20, 0.01, by
		var reports []EvaluationReport
		dir := t.TempDir()
		must.Succeed(t, trainNew(t, NewModel(ofTask(tinyConfig(), Regression), 1), settings,
			options(dir, keeping(&reports)), cpu.New(2), train, val))
		best := 0
		for i, r := range reports {
			better := i == 0 || by == "" && r.Loss < reports[best].Loss || by == byR2 && *r.R2 > *reports[best].R2
			if r.Best != better || r.Accuracy != nil || len(r.Numbers) != 2 ||
				math.Abs(*r.R2-(*r.Numbers[0].R2+*r.Numbers[1].R2)/2) > 1e-12 {
				t.Errorf("%d: %+v", i, r)
			}
			if better {
				best = i
			}
		}
		m := must.Get(Load(dir))(t)
		s := newScorerOf(t, m, cpu.New(1))
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
			loss += m.Config.RegressionLossOf(o.Logits, examples[i])
		}
		n, r := float64(val.Len()), reports[best].Numbers[1]
		for _, v := range [][2]float64{{r.MAE, absolute / n}, {r.RMSE, math.Sqrt(squares / n)},
			{*r.R2, 1 - squares/total}, {reports[best].Loss, loss / (2 * n)}} {
			if math.Abs(v[0]-v[1]) > 1e-6 {
				t.Errorf("selected by %q: %+v, want %v", by, reports[best], v[1])
			}
		}
	}
}

// TestRegressionRefusals: what the task does not have is an error that says so.
func TestRegressionRefusals(t *testing.T) {
	m := randomModel(ofTask(tinyConfig(), Regression), 1)
	for want, change := range map[string]func(s *Settings){
		`select is "auc"`:    func(s *Settings) { s.Select = "auc" },
		"weights of classes": func(s *Settings) { s.ClassWeights = []float64{1, 2} },
	} {
		settings := runSettings()
		change(&settings)
		must.Fail(t, want)(NewStepper(m, settings, cpu.New(1), 10, 0))
	}
	settings := runSettings()
	settings.Select = byR2
	must.Fail(t, "does not measure", "R² of classes")(NewStepper(randomModel(tinyConfig(), 1),
		settings, cpu.New(1), 10, 0))
	e := randomExamples(m.Config, rand.New(rand.NewPCG(1, 1)), 4)
	e[0].Numbers = nil
	must.Fail(t, "no numbers")(m.Gradient(t.Context(), cpu.New(1), e))
}
