package train

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestTemperatureOfSavedModel checks that a saved model for classification or retrieval has the best
// temperature on the validation split, with unchanged weights, and that its scorer divides logits by
// the temperature. Calibrated logits have a lower loss, and their best temperature is 1 unless the
// fitted temperature is at the upper bound.
func TestTemperatureOfSavedModel(t *testing.T) {
	anyInterior := false
	for _, task := range []string{config.Classification, config.Retrieval} {
		train, val := tinySplits(t, task)
		var models []*sft.Model
		for _, scaling := range []bool{false, true} {
			s := runSettings()
			s.LearningRate, s.Epochs, s.TemperatureScaling = 0.05, 4, scaling
			dir := t.TempDir()
			config := configtest.TrainingConfig()
			config.Task = task
			must.Succeed(t, trainNew(t, modeltest.RandomModel(config, 1), s, options(dir, nil), cpu.New(1), train, val))
			models = append(models, must.Get(sft.Load(dir))(t))
		}
		plain, scaled := models[0], models[1]
		if !slices.Equal(plain.Weights, scaled.Weights) || plain.Config.Temperature != 0 ||
			scaled.Config.Temperature == 0 {
			t.Fatalf("%s: weights differ, or temperatures %g and %g; want 0 and nonzero", task,
				plain.Config.Temperature, scaled.Config.Temperature)
		}
		var loss [2]float64
		var calibrated metrics.LogitSample
		for i, m := range models {
			scorer := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
			for row := range val.Len() {
				e := must.Get(val.Example(row))(t)
				out := must.Get(scorer.Examples(context.Background(), []seq.Example{e}))(t)[0]
				loss[i] += metrics.CrossEntropy(out.Logits, int(e.Label))
				if m == scaled {
					calibrated.Add(int(e.Label), out.Logits)
				}
			}
			scorer.Close()
		}
		interior := scaled.Config.Temperature < 0.99*metrics.MaxTemperature
		anyInterior = anyInterior || interior
		if !(loss[1] < loss[0]) || interior && math.Abs(calibrated.Temperature()-1) > 1e-4 {
			t.Errorf("%s: loss %g with the temperature %g, want below %g; best temperature of the calibrated "+
				"logits %g, want 1 unless at the bound (%t)", task, loss[1], scaled.Config.Temperature, loss[0],
				calibrated.Temperature(), !interior)
		}
	}
	if !anyInterior {
		t.Error("every fitted temperature is at the upper bound: the test needs one below it")
	}
}

// TestTemperatureEverywhere checks that Examples, Compare and Explain of a scorer and Examples of an
// ensemble divide the logits by the temperature.
func TestTemperatureEverywhere(t *testing.T) {
	c := configtest.TrainingConfig()
	c.Task = config.Retrieval
	m := modeltest.RandomModel(c, 1)
	warm := *m.Config
	warm.Temperature = 4
	hot := &sft.Model{Config: &warm, Parameters: m.Parameters, Weights: m.Weights}
	x := []seq.Example{{A: []int32{1, 2, 3}, B: []int32{3, 1}}}
	allLogits := func(m *sft.Model) (logits [][]float32) {
		s := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
		defer s.Close()
		ctx := context.Background()
		ensemble := must.Get(sft.NewEnsemble([]*sft.Model{m, m}, cpu.New(1)))(t)
		defer ensemble.Close()
		a, b := must.Get(s.Embeddings(ctx, [][]int32{x[0].A}))(t), must.Get(s.Embeddings(ctx, [][]int32{x[0].B}))(t)
		logits = append(logits, must.Get(s.Examples(ctx, x))(t)[0].Logits, must.Get(s.Compare(ctx, a, b))(t),
			must.Get(s.Explain(ctx, x))(t)[0].Logits)
		for _, p := range metrics.Softmax(must.Get(ensemble.Examples(ctx, x))(t)[0].Logits) {
			logits = append(logits, []float32{float32(p)})
		}
		return logits
	}
	cold, got := allLogits(m), allLogits(hot)
	for i := range 3 {
		for j, z := range cold[i] {
			if got[i][j] != z/4 {
				t.Errorf("method %d: logit %g, expected a quarter of %g", i, got[i][j], z)
			}
		}
	}
	for i, p := range metrics.Softmax(got[0]) {
		if d := math.Abs(float64(got[3+i][0]) - p); d > 1e-6 {
			t.Errorf("the ensemble's probability is off by %g", d)
		}
	}
}

// TestCalibratedThresholds checks the thresholds that calibrate converts: they select the same rows
// after the logits have been divided by the temperature.
func TestCalibratedThresholds(t *testing.T) {
	r := &EvaluationReport{Thresholds: []float64{0, 0.5, 0.8, 1}}
	r.calibrate(2)
	for i, want := range []float64{0, 0.5, 2. / 3, 1} { // odds of 4 become 2
		if math.Abs(r.Thresholds[i]-want) > 1e-15 {
			t.Errorf("threshold %d: %g, expected %g", i, r.Thresholds[i], want)
		}
	}
	if r.Temperature != 2 {
		t.Errorf("temperature %g, want 2", r.Temperature)
	}
}

// TestTemperatureOfLabels checks that a multi-label model also gets a temperature, and that its
// thresholds predict the same labels.
func TestTemperatureOfLabels(t *testing.T) {
	train, val := tinySplits(t, config.MultiLabel)
	var models []*sft.Model
	for _, scaling := range []bool{false, true} {
		s := runSettings()
		s.LearningRate, s.Epochs, s.TemperatureScaling = 0.05, 4, scaling
		dir := t.TempDir()
		must.Succeed(t, trainNew(t,
			modeltest.RandomModel(configtest.WithTask(configtest.TrainingConfig(), config.MultiLabel), 1), s,
			options(dir, nil), cpu.New(1), train, val))
		models = append(models, must.Get(sft.Load(dir))(t))
	}
	plain, scaled := models[0], models[1]
	if !slices.Equal(plain.Weights, scaled.Weights) || plain.Config.Temperature != 0 || scaled.Config.Temperature == 0 {
		t.Fatalf("weights differ, or temperatures %g and %g; want 0 and nonzero", plain.Config.Temperature,
			scaled.Config.Temperature)
	}
	var labels [2][][]int32
	for i, m := range models {
		scorer := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
		for row := range val.Len() {
			e := must.Get(val.Example(row))(t)
			found, _ := m.Config.PredictedLabels(must.Get(scorer.Examples(t.Context(), []seq.Example{e}))(t)[0].Logits)
			labels[i] = append(labels[i], found)
		}
		scorer.Close()
	}
	if !reflect.DeepEqual(labels[0], labels[1]) {
		t.Errorf("labels %v with a temperature, want %v as without", labels[1], labels[0])
	}
}
