package train

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// partsConfig returns the configuration of a tagging model for the parts of two categories.
func partsConfig() *config.Config {
	c := configtest.CloudConfig(configtest.WithTask(configtest.TinyConfig(), config.Tagging))
	c.FeatureNames, c.Input = seq.PositionNames, ""
	c.LabelNames, c.NumLabels = []string{"mug/body", "mug/handle", "bolt/head", "bolt/shaft"}, 4
	return c
}

// partsSplits returns splits of shapes with one part above z = 0 and the other part below. The second
// point of a shape has no label. The category is not an input.
func partsSplits(t *testing.T) (train, val *seq.File) {
	t.Helper()
	c := partsConfig()
	b, err := seq.CreateDataset(t.TempDir(), seq.Spec{Task: config.Tagging, Name: "parts", FeatureNames: c.FeatureNames,
		LabelNames: c.LabelNames}, false)
	must.Succeed(t, err)
	random := rand.New(rand.NewPCG(3, 8))
	for _, split := range []string{"train", "val"} {
		w := must.Get(b.Split(split))(t)
		for i := range 30 {
			e := configtest.RandomClouds(c, random, 4+random.IntN(9))[0]
			e.Index, e.Label = uint32(i), seq.NoLabel
			for p, row := range e.Features {
				label := int32(2 * (i % 2))
				if row[2] > 0 {
					label++
				}
				if p == 1 {
					label = seq.NoLabel
				}
				e.Labels = append(e.Labels, label)
			}
			must.Succeed(t, w.Write(e))
		}
		must.Succeed(t, w.Close())
	}
	return openSplits(t, b)
}

// TestTrainParts checks that instance IoU selects a model of parts. The IoU compares only the parts of
// the shape's category, and the saved model has the reported value.
func TestTrainParts(t *testing.T) { configtest.OnEveryKind(t, testTrainParts) }

func testTrainParts(t *testing.T, devices ...tensor.Device) {
	train, val := partsSplits(t)
	settings := runSettings()
	settings.Epochs, settings.LearningRate, settings.DecayRate = 12, 0.02, 1
	var best EvaluationReport
	dir := t.TempDir()
	must.Succeed(t, trainNew(t, sft.NewModel(partsConfig(), 1), settings, options(dir, func(event any) {
		if r, ok := event.(EvaluationReport); ok && r.Best {
			best = r
		}
	}), devices[0], train, val))
	if best.SelectedBy != byIoU || best.SpanF1 != nil || *best.InstanceIoU < 0.8 || *best.Accuracy > 0.7 {
		t.Errorf("selected by %s, want iou; accuracy %v among all parts, want at most 0.7; "+
			"instance IoU %v, want at least 0.8", best.SelectedBy,
			*best.Accuracy, *best.InstanceIoU)
	}
	m := must.Get(sft.Load(dir))(t)
	s, parts := modeltest.NewScorerOf(t, m, devices[0]), metrics.NewParts(m.Config.LabelNames)
	for i := range val.Len() {
		e := must.Get(val.Example(i))(t)
		parts.Add(e.Labels, parts.Predict(e.Labels, modeltest.Score(t, s, []seq.Example{e})[0].Logits))
	}
	if parts.InstanceIoU() != *best.InstanceIoU || parts.ClassIoU() != *best.ClassIoU {
		t.Errorf("the saved model has instance IoU %v and class IoU %v, but the metrics have %v and %v",
			parts.InstanceIoU(),
			parts.ClassIoU(), *best.InstanceIoU, *best.ClassIoU)
	}
}

// TestPartsSelection checks that only models of parts can be selected by IoU, and that models of
// points cannot be selected by span F1.
func TestPartsSelection(t *testing.T) {
	others := partsConfig()
	others.LabelNames = []string{"O", "B-X", "I-X", "B-Y"}
	text := configtest.WithTask(configtest.TinyConfig(), config.Tagging)
	text.LabelNames = []string{"a/b", "a/c", "b/d"}
	for _, s := range []struct {
		c        *config.Config
		by, want string
	}{
		{partsConfig(), "", byIoU}, {partsConfig(), byMacroF1, byMacroF1},
		{others, "", byMacroF1}, {text, "", byMacroF1},
		{partsConfig(), bySpanF1, "error: tokens with features have no order"},
		{others, byIoU, "error: expected tokens with features"}, {text, byIoU, "error: expected tokens with features"},
		{configtest.TinyConfig(), byIoU, "error: expected a metric of task classification"},
	} {
		settings := Settings{Select: s.by}
		err := trainingOf(s.c).settings(s.c, &settings)
		if wrong, refused := strings.CutPrefix(s.want, "error: "); refused {
			must.Fail(t, wrong, s.by, "of", s.c.LabelNames)(err)
		} else if err != nil || settings.Select != s.want {
			t.Errorf("select %q with tags %q: got %q, error %v; expected %s", s.by, s.c.LabelNames,
				settings.Select, err, s.want)
		}
	}
}
