package train

import (
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestClassWeightsOfTheGradient checks that the gradient of a batch with class weights is the weighted
// sum of one gradient per class, computed from the rows of the class, and that weights of 1 do not
// change the gradient. The batch has several micro-batches.
func TestClassWeightsOfTheGradient(t *testing.T) {
	train, _ := tinySplits(t, config.Classification)
	m := modeltest.RandomModel(configtest.TrainingConfig(), 1)
	var examples []seq.Example
	for row := range train.Len() {
		e := must.Get(train.Example(row))(t)
		examples = append(examples, e)
	}
	gradient := func(examples []seq.Example, weight []float64) []float64 {
		t.Helper()
		words, _ := weightedGradient(t, m, 2, cpu.New(2), examples,
			model.Drawing{Mode: model.EvaluateMode, Seed: 3, Step: 0}, weight)
		out := make([]float64, len(words))
		for i, v := range words {
			out[i] = float64(v)
		}
		return out
	}
	weight := []float64{0.25, 3, 1}
	want := make([]float64, m.Parameters.Words)
	for c, w := range weight {
		var alone []seq.Example
		for _, e := range examples {
			if int(e.Label) == c {
				alone = append(alone, e)
			}
		}
		for i, v := range gradient(alone, nil) {
			want[i] += w * v
		}
	}
	var off, size float64
	for i, v := range gradient(examples, weight) {
		off += (v - want[i]) * (v - want[i])
		size += want[i] * want[i]
	}
	if off := math.Sqrt(off / size); !(off < 1e-5) {
		t.Errorf("the relative error of the gradient is %g, want below 1e-5", off)
	}
	if !slices.Equal(gradient(examples, nil), gradient(examples, []float64{1, 1, 1})) {
		t.Error("the gradient differs with weights of 1, want the same as without weights")
	}
}

// TestClassWeightsOfTheLoss checks that a line of training metrics has the weighted loss, and an
// evaluation the unweighted loss.
func TestClassWeightsOfTheLoss(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.LearningRate, s.Steps, s.LogEvery, s.EvalEvery = 0, 4, 1, 4
	type losses struct{ train, val []float64 }
	loss := func(weight []float64) (l losses) {
		t.Helper()
		s.ClassWeights = weight
		must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
			options(t.TempDir(), func(event any) {
				switch r := event.(type) {
				case StepReport:
					l.train = append(l.train, r.Loss)
				case EvaluationReport:
					l.val = append(l.val, r.Loss)
				}
			}), cpu.New(1), train, val))
		return l
	}
	plain := loss(nil)
	var sum []float64
	for c := range 3 {
		alone := make([]float64, 3)
		alone[c] = 1
		l := loss(alone)
		if !slices.Equal(l.val, plain.val) {
			t.Errorf("the validation loss is %v with weights, %v without", l.val, plain.val)
		}
		if sum == nil {
			sum = make([]float64, len(l.train))
		}
		for i, v := range l.train {
			sum[i] += v
		}
	}
	for i, v := range plain.train {
		if math.Abs(sum[i]-v) > 1e-12*v {
			t.Errorf("step %d: the classes' losses add up to %v, expected %v", i+1, sum[i], v)
		}
	}
}

// TestClassWeightsRefuses checks the errors for invalid class weights.
func TestClassWeightsRefuses(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	for want, weight := range map[string][]float64{
		"expected one for each of the 3 classes": {1, 2},
		"class-weights -1 for class 1":           {1, -1, 1},
		"class-weights +Inf for class 2":         {1, 1, math.Inf(1)},
	} {
		s := runSettings()
		s.ClassWeights = weight
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, cpu.New(1), train, val, nil,
			options(t.TempDir(), nil))
		if err == nil {
			tr.Close()
		}
		must.Fail(t, want, weight)(err)
		if _, err := NewStepper(modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
			cpu.New(1), 8, 0); err == nil {
			t.Errorf("%v: NewStepper returns no error", weight)
		}
	}
}
