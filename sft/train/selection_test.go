package train

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// classSelections lists the selections of classification models, without [OneStandardError].
var classSelections = []string{byAccuracy, byLoss, byMacroF1, ScaledLoss, byAUC}

// TestSelection checks that the saved model is from the evaluation with the best value of the
// metric. With equal values, the lowest loss decides. The metrics must select at least three different
// steps.
func TestSelection(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	savedSteps := map[int]bool{}
	for _, by := range append([]string{""}, classSelections[1:]...) {
		s := runSettings()
		s.LearningRate, s.EvalEvery, s.Epochs, s.Select = 0.05, 1, 6, by
		dir := t.TempDir()
		var reports []EvaluationReport
		must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
			options(dir, collectReports(&reports)), cpu.New(1), train, val))
		best := 0
		value := func(r EvaluationReport) float64 {
			return map[string]func() float64{
				"": func() float64 { return *r.Accuracy }, "loss": func() float64 { return -r.Loss },
				"scaled-loss": func() float64 { return -*r.ScaledLoss },
				"macro-f1":    func() float64 { return *r.MacroF1 }, "auc": func() float64 { return *r.AUC },
			}[by]()
		}
		for i, r := range reports {
			better := i == 0 || value(r) > value(reports[best]) || value(r) == value(reports[best]) &&
				r.Loss < reports[best].Loss
			if better {
				best = i
			}
			if r.Best != better || (r.AUC != nil) != (by == "auc") || r.SelectedBy != by {
				t.Errorf("%q, evaluation %d: got %+v, want best %t", by, i, r, better)
			}
		}
		c := must.Get(LoadCheckpoint(dir))(t)
		if c.State.BestStep != reports[best].Step || c.State.Best != *reports[best].Accuracy || by != "" &&
			c.State.Selected != reports[best].value() {
			t.Errorf("%q: state %+v, the best is %+v", by, c.State, reports[best])
		}
		savedSteps[c.State.BestStep] = true
	}
	if len(savedSteps) < 3 {
		t.Errorf("the metrics select the steps %v, the test needs at least three different ones", savedSteps)
	}
}

// TestEqualEvaluations checks that, among evaluations with equal values of the metric, the first with the
// lowest loss is saved. It includes a state of an old run, which has no loss.
func TestEqualEvaluations(t *testing.T) {
	auc, score := 0.75, 0.75
	for _, by := range []string{"", byMacroF1, byAUC} {
		report := func(step int, loss float64) *EvaluationReport {
			return &EvaluationReport{Step: step, SelectedBy: by, Accuracy: &score,
				MacroF1: &score, AUC: &auc, Loss: loss}
		}
		var s State
		for step, loss := range []float64{0.5, 0.6, 0.4, 0.4, 0.7} {
			s.SinceBest++
			if r := report(step+1, loss); r.better(&s) {
				s.keep(r)
			}
		}
		if s.BestStep != 3 || s.BestLoss != 0.4 || s.SinceBest != 2 {
			t.Errorf("%q: the saved step is %d with loss %g, %d evaluations ago; want step 3 with 0.4, 2 ago", by,
				s.BestStep, s.BestLoss, s.SinceBest)
		}
		worse := report(6, 0.1)
		score, auc = 0.7, 0.7
		if worse.better(&s) {
			t.Errorf("%q: an evaluation with a lower loss and a worse value is better", by)
		}
		score, auc = 0.75, 0.75
		s.BestLoss = 0
		if report(7, 0.1).better(&s) {
			t.Errorf("%q: an equal evaluation replaces a state without a loss", by)
		}
	}
}

// TestSelectionNeedsTwoClasses checks that a validation split for which the AUC is undefined
// is refused before the first step.
func TestSelectionNeedsTwoClasses(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	for _, by := range classSelections {
		s.Select = by
		must.Check(t, checkSelection(&s, val), by)
	}
	one := oneClassSplit(t)
	must.Fail(t, "two classes", "auc of one class")(checkSelection(&s, one))
	if tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, cpu.New(1), train, one, nil,
		options(t.TempDir(), nil)); err == nil {
		t.Error("NewTrainer returns no error", tr.Close())
	}
	s.Select = "luck"
	must.Fail(t, strings.Join(Selections, ", "), "an unknown selection")(s.Validate())
}

// TestSelectionAfterResume checks that a resumed run remembers the best value of the metric.
func TestSelectionAfterResume(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.LearningRate, s.EvalEvery, s.Epochs, s.Select = 0.05, 1, 6, byLoss
	uninterrupted, dir := t.TempDir(), t.TempDir()
	var bests []int
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
		options(uninterrupted, func(event any) {
			if r, ok := event.(EvaluationReport); ok && r.Best {
				bests = append(bests, r.Step)
			}
		}), cpu.New(1), train, val))
	stop := bests[len(bests)-1] + 1 // after the best evaluation, so that later ones are compared with the stored value
	for from := (*Checkpoint)(nil); ; {
		ctx, cancel := context.WithCancel(t.Context())
		tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, cpu.New(1), train, val, from,
			options(dir, func(event any) {
				if r, ok := event.(EvaluationReport); ok && (r.Step == 1 || r.Step == stop) {
					cancel()
				}
			}))
		must.Succeed(t, err)
		err = errors.Join(tr.Run(ctx), tr.Close())
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		from = must.Get(LoadCheckpoint(dir))(t)
	}
	if slices.Max(bests) == 24 {
		t.Error("the last evaluation is the best: the test needs a worse one")
	}
	compareOutcomes(t, outcomeOf(t, dir), outcomeOf(t, uninterrupted))
}

// TestSelectionByMAE checks that the smallest mean absolute error is best, and of equal errors the
// lowest loss.
func TestSelectionByMAE(t *testing.T) {
	report := func(step int, mae, loss float64) *EvaluationReport {
		return &EvaluationReport{Step: step, SelectedBy: byMAE, MAE: &mae, Loss: loss}
	}
	var s State
	for _, c := range []struct {
		mae, loss float64
		want      bool
	}{{0.5, 1, true}, {0.6, 0.5, false}, {0.5, 1, false}, {0.5, 0.9, true}, {0.4, 2, true}, {0.41, 0.1, false}} {
		r := report(s.BestStep+1, c.mae, c.loss)
		if r.better(&s) != c.want {
			t.Errorf("MAE %v with loss %v after MAE %v with loss %v: expected better %v", c.mae, c.loss,
				s.Selected, s.BestLoss, c.want)
		}
		if c.want {
			s.keep(r)
		}
	}
}

// TestScaledLoss checks that an overconfident model replaces an earlier one if its logits have the
// lower loss at their best temperature.
func TestScaledLoss(t *testing.T) {
	model := configtest.TrainingConfig()
	settings := &Settings{Select: ScaledLoss}
	evaluate := func(logits ...[]float32) *EvaluationReport {
		m := classification{}.measure(model, settings)
		for row, z := range logits {
			m.add(z, seq.Example{Label: int32(row % 2)})
		}
		r := &EvaluationReport{Step: 1, SelectedBy: ScaledLoss}
		m.report(r)
		return r
	}
	early := evaluate([]float32{0.5, 0}, []float32{0, 0.5}, []float32{0, 0.5}, []float32{0, 0.5}, []float32{0.5, 0},
		[]float32{0.5, 0})
	late := evaluate([]float32{9, 0}, []float32{0, 9}, []float32{9, 0}, []float32{0, 9}, []float32{0, 9}, []float32{0, 9})
	if !(late.Loss > 2*early.Loss) || !(*late.ScaledLoss < *early.ScaledLoss) {
		t.Fatalf("losses %g, %g and scaled %g, %g: expected more than twice the loss and a lower scaled loss",
			early.Loss, late.Loss, *early.ScaledLoss, *late.ScaledLoss)
	}
	var s State
	s.keep(early)
	if !late.better(&s) {
		t.Error("the lower scaled loss is not better")
	}
	if s.keep(late); early.better(&s) {
		t.Error("the higher scaled loss is better")
	}
}

// TestScaledLossOfLabels checks that scaling the logits of several labels changes the loss, but not
// the scaled loss.
func TestScaledLossOfLabels(t *testing.T) {
	model := configtest.WithTask(configtest.TrainingConfig(), config.MultiLabel)
	evaluate := func(scale float32) *EvaluationReport {
		m := multiLabel{}.measure(model, &Settings{Select: ScaledLoss})
		for row := range 12 {
			logits := make([]float32, model.NumLabels)
			for i := range logits {
				logits[i] = -2 * scale
			}
			label := row % model.NumLabels
			if logits[label] = 2 * scale; row%3 == 0 { // a false label
				label = (label + 1) % model.NumLabels
			}
			m.add(logits, seq.Example{Labels: []int32{int32(label)}})
		}
		r := &EvaluationReport{SelectedBy: ScaledLoss}
		m.report(r)
		return r
	}
	one, three := evaluate(1), evaluate(3)
	if difference := math.Abs(*one.ScaledLoss - *three.ScaledLoss); difference > 1e-6 || !(one.Loss < three.Loss) ||
		!(*three.ScaledLoss < three.Loss) {
		t.Errorf("losses %g, %g and scaled %g, %g: expected a higher second loss, and equal scaled losses below it",
			one.Loss, three.Loss, *one.ScaledLoss, *three.ScaledLoss)
	}
}

// TestOneStandardError checks that an evaluation within one standard error of the best accuracy so far
// replaces a saved model that has a higher loss or falls outside of the standard error.
func TestOneStandardError(t *testing.T) {
	var s State
	for i, c := range []struct {
		accuracy, loss float64
		kept           bool
	}{
		{0.80, 0.50, true},  // first evaluation
		{0.90, 0.60, true},  // better by more than the standard error of 0.03
		{0.91, 1.80, false}, // within the standard error, three times the loss
		{0.885, 0.55, true}, // within the standard error, lower loss
		{0.86, 0.40, false}, // worse than 0.91 by more than the standard error
		{0.885, 0.55, false},
		{0.93, 2.00, true}, // 0.885 is outside its standard error
		{0.92, 1.90, true},
	} {
		r := &EvaluationReport{Step: i + 1, Rows: 100, Accuracy: &c.accuracy, Loss: c.loss,
			SelectedBy: OneStandardError}
		if got := r.better(&s); got != c.kept {
			t.Errorf("evaluation %d, accuracy %g and loss %g: kept %t, expected %t", i+1,
				c.accuracy, c.loss, got, c.kept)
		}
		s.updateBestAccuracy(r)
		if c.kept {
			s.keep(r)
		}
	}
	if s.Selected != 0.93 || s.Best != 0.92 || s.BestStep != 8 {
		t.Errorf("state %+v, want best accuracy 0.93, and the saved model of step 8 with accuracy 0.92", s)
	}
}
