package train

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestTrainMultiLabel checks that training reduces the loss, and that the saved model has the
// weights and the thresholds of the best evaluation: its metrics equal the reported ones.
func TestTrainMultiLabel(t *testing.T) {
	train, val := tinySplits(t, config.MultiLabel)
	for _, by := range []string{"", byMacroF1, byMAP} {
		settings := runSettings()
		settings.Epochs, settings.LearningRate, settings.Select = 20, 0.01, by
		var reports []EvaluationReport
		dir := t.TempDir()
		config := configtest.WithTask(configtest.TinyConfig(), config.MultiLabel)
		must.Succeed(t, trainNew(t, sft.NewModel(config, 1), settings,
			options(dir, collectReports(&reports)), cpu.New(2), train, val))
		if config.Thresholds != nil {
			t.Error("the caller's configuration was changed")
		}
		best := 0
		for i, r := range reports {
			b := reports[best]
			var better bool
			switch by {
			case "":
				better = r.Loss < b.Loss
			case byMacroF1:
				better = *r.MacroF1 > *b.MacroF1 || *r.MacroF1 == *b.MacroF1 && r.Loss < b.Loss
			case byMAP:
				better = *r.MAP > *b.MAP || *r.MAP == *b.MAP && r.Loss < b.Loss
			}
			if better = better || i == 0; r.Best != better || r.Accuracy != nil || len(r.Thresholds) != 3 {
				t.Errorf("evaluation %d: got %+v, want best %t and three thresholds", i, r, better)
			}
			if better {
				best = i
			}
		}
		m := must.Get(sft.Load(dir))(t)
		if !slices.Equal(m.Config.Thresholds, reports[best].Thresholds) {
			t.Errorf("the model has the thresholds %v, want %v as its evaluation", m.Config.Thresholds,
				reports[best].Thresholds)
		}
		tally := metrics.NewMultiLabel(3)
		s := modeltest.NewScorerOf(t, m, cpu.New(1))
		for i := range val.Len() {
			e := must.Get(val.Example(i))(t)
			o := must.Get(s.Classify(t.Context(), e.A))(t)
			tally.Add(o.Logits, e.Labels)
		}
		got, want := tally.Report(m.Config.Thresholds), reports[best]
		if got.Loss != want.Loss || *got.MicroF1 != *want.MicroF1 || *got.MacroF1 != *want.MacroF1 ||
			*got.MeanAveragePrecision != *want.MAP {
			t.Errorf("selected by %q: the model has %+v, reported %+v", by, got, want)
		}
		if last := reports[len(reports)-1]; by == "" && !(last.Loss < reports[0].Loss && *got.MicroF1 > 0.7) {
			t.Errorf("training does not reduce the loss: first %v, last %v; micro F1 %v, want above 0.7",
				reports[0].Loss, last.Loss, *got.MicroF1)
		}
	}
}

// TestLabelWeights checks that the weight of a label multiplies the label's loss term in the rows that
// have the label, in the gradient and in the reported loss.
func TestLabelWeights(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.MultiLabel)
	c.NumLayers = 1
	m := modeltest.RandomModel(c, 3)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(8, 8)), 9, 3, 8)
	weight := []float64{0.25, 3, 1}
	got, b := weightedGradient(t, m, 1, cpu.New(1), examples,
		model.Drawing{Mode: model.EvaluateMode, Seed: c.SamplerSeed}, weight)
	r, terms := modeltest.NewReference(m), float64(b.divisor)
	lossOf := func() float64 { loss, _ := r.WeightedMultiLabelLoss(examples, weight); return loss }
	loss := 0.0
	for _, v := range b.loss {
		loss += float64(v) / terms
	}
	if want := lossOf(); math.Abs(loss-want) > 1e-5 {
		t.Errorf("loss %v, expected %v", loss, want)
	}
	want := r.Differences(lossOf)
	for _, p := range m.Parameters.List {
		var off, size float64
		for i, v := range m.Parameters.Slice(got, p) {
			d := float64(v)/terms - want[p.Name][i]
			off, size = off+d*d, size+want[p.Name][i]*want[p.Name][i]
		}
		if !(math.Sqrt(off) <= 1e-3*math.Sqrt(size)+1e-6) {
			t.Errorf("%s: error %g, want at most %g", p.Name, math.Sqrt(off), 1e-3*math.Sqrt(size)+1e-6)
		}
	}
}

// TestMultiLabelRefusals checks the errors for settings that the task does not support, for splits
// without the labels that a metric needs, and for rows on which the task cannot train.
func TestMultiLabelRefusals(t *testing.T) {
	m := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.MultiLabel), 1)
	for want, change := range map[string]func(s *Settings){
		`select "auc"`:          func(s *Settings) { s.Select = byAUC },
		"found 2 label weights": func(s *Settings) { s.ClassWeights = []float64{1, 2} },
	} {
		settings := runSettings()
		change(&settings)
		must.Fail(t, want)(NewStepper(m, settings, cpu.New(1), 10, 0))
	}
	settings := runSettings()
	settings.Select = byMAP
	must.Fail(t, "expected a metric of task classification",
		"average precision of classes")(NewStepper(modeltest.RandomModel(configtest.TinyConfig(), 1),
		settings, cpu.New(1), 10, 0))
	_, val := tinySplits(t, config.MultiLabel)
	for _, by := range []string{byLoss, byMacroF1, byMAP} {
		must.Check(t, checkSelection(&Settings{Select: by}, val), by)
		none := labelledSplit(t, []int32{}, []int32{})
		if err := checkSelection(&Settings{Select: by}, none); (err != nil) != (by != byLoss) {
			t.Errorf("selecting by %s on rows without labels: error %v", by, err)
		}
		all := labelledSplit(t, []int32{1}, []int32{1})
		if err := checkSelection(&Settings{Select: by}, all); (err != nil) != (by == byMAP) {
			t.Errorf("selecting by %s on rows that all have the same label: error %v", by, err)
		}
	}
	for want, labels := range map[string][]int32{"found no labels": nil, "label 3, expected 0 to 2": {0, 3}, "label -1": {-1},
		"label 1 after 1": {1, 1}} {
		e := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(1, 1)), 4)
		e[0].Labels = labels
		must.Fail(t, want)(Gradient(t.Context(), m, cpu.New(1), e))
	}
}

// labelledSplit returns a split whose rows have the given labels.
func labelledSplit(t *testing.T, rows ...[]int32) *seq.File {
	t.Helper()
	b := must.Get(seq.CreateDataset(t.TempDir(), seq.Spec{Task: config.MultiLabel, Name: "own",
		VocabSize: 9}, false))(t)
	w := must.Get(b.Split("val"))(t)
	for i, labels := range rows {
		must.Succeed(t, w.Write(seq.Example{Index: uint32(i), A: []int32{1, 2}, Label: seq.NoLabel, Labels: labels}))
	}
	must.Succeed(t, w.Close())
	d := must.Get(b.Finish(nil))(t)
	f := must.Get(d.Open("val"))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestThresholdsAfterAKill checks a run that was killed between an evaluation and its checkpoint.
// After a resume the saved weights must have the thresholds of their own evaluation, not those of
// the checkpoint.
func TestThresholdsAfterAKill(t *testing.T) {
	train, val := tinySplits(t, config.MultiLabel)
	run := func(dir string, from *Checkpoint, stopAt int) {
		t.Helper()
		s := runSettings()
		s.Epochs, s.Select = 20, byMAP
		o := options(dir, nil)
		o.StopAt = stopAt
		tr := must.Get(NewTrainer(sft.NewModel(configtest.WithTask(configtest.TinyConfig(), config.MultiLabel), 1), s,
			cpu.New(1), train, val, from, o))(t)
		defer tr.Close()
		must.Succeed(t, tr.Run(t.Context()))
	}
	config := func(dir string) *config.Config {
		return must.Get(config.Read(filepath.Join(dir, model.ConfigFile)))(t)
	}
	newer, killed := t.TempDir(), t.TempDir()
	run(newer, nil, 0)
	run(killed, nil, 4) // the run evaluates once
	if slices.Equal(config(newer).Thresholds, config(killed).Thresholds) {
		t.Fatal("both evaluations choose the same thresholds: the test needs different ones")
	}
	for _, name := range []string{model.ConfigFile, model.WeightsFile} {
		text, err := os.ReadFile(filepath.Join(newer, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(killed, name), text, 0o666)
		}
		must.Succeed(t, err)
	}
	from := must.Get(LoadCheckpoint(killed))(t)
	run(killed, from, 5) // the run stops before the next evaluation
	if got, want := config(killed).Thresholds, config(newer).Thresholds; !slices.Equal(got, want) {
		t.Errorf("thresholds %v, want those of the saved weights, %v", got, want)
	}
}
