package train

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestTaggingBatchingIsBitExact checks that an example's logits, embedding and loss are bitwise
// identical alone and in a batch, with different numbers of threads.
func TestTaggingBatchingIsBitExact(t *testing.T) {
	configtest.OnEveryKind(t, testTaggingBatchingIsBitExact)
}

func testTaggingBatchingIsBitExact(t *testing.T, devices ...tensor.Device) {
	for _, norm := range []string{"pre", "post"} {
		c := configtest.WithTask(configtest.TrainingConfig(), config.Tagging)
		c.NormPosition = norm
		m := modeltest.RandomModel(c, 2)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 4)), 50, 1, 70, 4096, 33, 900)
		together := modeltest.Score(t, modeltest.NewScorerOf(t, m, devices[len(devices)-1]), examples)
		_, all := gradientOf(t, m, 1, devices[0], examples, model.TrainMode)
		single := modeltest.NewScorerOf(t, m, devices[0])
		embeddings, err := single.Embeddings(t.Context(), [][]int32{examples[2].A})
		if err != nil || !slices.Equal(embeddings[0], together[2].Embeddings[0]) {
			t.Errorf("the embedding differs: %v", err)
		}
		for i, e := range examples {
			alone := modeltest.Score(t, single, examples[i:i+1])[0]
			if len(alone.Logits) != len(e.A)*c.NumLabels || !reflect.DeepEqual(alone, together[i]) {
				t.Errorf("example %d: the outputs differ alone and in a batch", i)
			}
			if _, one := gradientOf(t, m, 1, devices[0], examples[i:i+1], model.TrainMode); one.loss[0] != all.loss[i] {
				t.Errorf("example %d: loss %v alone, want %v as in a batch", i, one.loss[0], all.loss[i])
			}
		}
	}
}

// TestTaggingWithoutLabels checks that the loss and the gradient of examples without labelled tokens are 0,
// and that these examples do not change the gradient of other examples in the batch.
func TestTaggingWithoutLabels(t *testing.T) { configtest.OnEveryKind(t, testTaggingWithoutLabels) }

func testTaggingWithoutLabels(t *testing.T, devices ...tensor.Device) {
	for _, chunks := range []*config.Chunks{nil, {Rule: "content", Average: 256, Exports: 3, Layers: 1}} {
		c := configtest.WithTask(configtest.TrainingConfig(), config.Tagging)
		c.NumLayers, c.Chunks = 2, chunks
		checkTaggingWithoutLabels(t, c, devices[0])
	}
}

func checkTaggingWithoutLabels(t *testing.T, c *config.Config, device tensor.Device) {
	m := modeltest.RandomModel(c, 2)
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(4, 4)), 4096, 4096, 70)
	for i := range examples[:2] {
		examples[i].Labels = slices.Repeat([]int32{seq.NoLabel}, len(examples[i].A))
	}
	gradient, b := gradientOf(t, m, 2, device, examples[:2], model.TrainMode)
	if b.divisor != 1 || !slices.Equal(b.loss, []float32{0, 0}) {
		t.Errorf("losses %v, divisor %d; want zeros and 1", b.loss, b.divisor)
	}
	if i := slices.IndexFunc(gradient, func(v float32) bool { return v != 0 }); i >= 0 {
		t.Errorf("word %d of the gradient is %v, want 0", i, gradient[i])
	}
	beside, b := gradientOf(t, m, 2, device, examples, model.TrainMode)
	alone, a := gradientOf(t, m, 2, device, examples[2:], model.TrainMode)
	if b.divisor != a.divisor || !slices.Equal(beside, alone) {
		t.Error("tokens without a label change a gradient")
	}
}

// TestTaggingWeights checks that label weights multiply the losses that a step reports and their
// gradient.
func TestTaggingWeights(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.Tagging)
	m, weight := modeltest.RandomModel(c, 3), []float64{0.25, 1, 3}
	examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(8, 8)), 9, 3, 1, 40)
	sum, device := make([]float64, m.Parameters.Words), cpu.New(2)
	want := make([]float64, len(examples))
	for label, w := range weight { // weighted sum of the gradients of each label
		single := slices.Clone(examples)
		for i := range single {
			single[i].Labels = slices.Clone(single[i].Labels)
			for t, l := range single[i].Labels {
				if l != int32(label) {
					single[i].Labels[t] = seq.NoLabel
				}
			}
		}
		g, b := gradientOf(t, m, 1, device, single, model.EvaluateMode)
		for i, v := range g {
			sum[i] += w * float64(v)
		}
		for i, v := range b.loss {
			want[i] += w * float64(v)
		}
	}
	got, b := weightedGradient(t, m, 1, device, examples,
		model.Drawing{Mode: model.EvaluateMode, Seed: 11, Step: 3}, weight)
	for i, v := range got {
		if math.Abs(float64(v)-sum[i]) > 1e-4*(1+math.Abs(sum[i])) {
			t.Fatalf("word %d: %v, want %v", i, v, sum[i])
		}
	}
	for i, v := range b.loss {
		if math.Abs(float64(v)-want[i]) > 1e-4 {
			t.Errorf("example %d: loss %v, want %v", i, v, want[i])
		}
	}
}

// TestTrainTagging trains on tags that follow from the tokens. It checks that the saved model has the
// metrics of the best evaluation.
func TestTrainTagging(t *testing.T) {
	train, val := tinySplits(t, config.Tagging)
	for _, by := range []string{"", byMacroF1, byAccuracy} {
		settings := runSettings()
		settings.Epochs, settings.LearningRate, settings.Select = 12, 0.02, by
		var reports []EvaluationReport
		dir := t.TempDir()
		must.Succeed(t, trainNew(t, sft.NewModel(configtest.WithTask(configtest.TinyConfig(), config.Tagging), 1),
			settings,
			options(dir, collectReports(&reports)), cpu.New(2), train, val))
		last := 0
		for i, r := range reports {
			if r.Best {
				last = i
			}
		}
		best := reports[last]
		if by == "" && best.SelectedBy != bySpanF1 || *best.SpanF1 < 0.9 || *best.Accuracy < 0.9 {
			t.Errorf("selected by %s: accuracy %v, macro F1 %v, span F1 %v; want accuracy and span F1 of at least 0.9",
				best.SelectedBy, *best.Accuracy, *best.MacroF1, *best.SpanF1)
		}
		m := must.Get(sft.Load(dir))(t)
		s, tally, loss := modeltest.NewScorerOf(t, m, cpu.New(1)), metrics.NewTagging(m.Config.LabelNames, 3), 0.0
		for i := range val.Len() {
			e := must.Get(val.Example(i))(t)
			logits := modeltest.Score(t, s, []seq.Example{e})[0].Logits
			tally.Add(e.Labels, m.Config.TagsOf(logits))
			loss += m.Config.TaggingLossOf(logits, e)
		}
		if tally.Accuracy() != *best.Accuracy || tally.SpanF1() != *best.SpanF1 ||
			math.Abs(loss/float64(tally.Tokens())-best.Loss) > 1e-9 {
			t.Errorf("the saved model has accuracy %v and span F1 %v, but the report is %+v",
				tally.Accuracy(), tally.SpanF1(), best)
		}
	}
}

// TestTaggingRefusals checks the errors for examples, settings and data sets that the task does not
// support.
func TestTaggingRefusals(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.Tagging)
	for want, e := range map[string]seq.Example{
		"found no labels, expected one for each of the 2 tokens": {A: []int32{1, 2}},
		"found 1 labels, expected one for each of the 2 tokens":  {A: []int32{1, 2}, Labels: []int32{1}},
		"label 3 of token 1, expected 0 to 2, or -1 for none":    {A: []int32{1, 2}, Labels: []int32{1, 3}},
	} {
		if err := c.CheckLabelled(e); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for want, s := range map[string]Settings{`F1 of the classes, labels or tags), span-f1 (the F1 of spans)`: {Select: byAUC}, "found 2 class weights": {ClassWeights: []float64{1, 2}}} {
		must.Fail(t, want)(trainingOf(c).settings(c, &s))
	}
	spec := seq.Spec{Task: seq.Classification, VocabSize: 9, Tokenizer: []byte(`{"type":"listops"}`),
		LabelNames: []string{"a"}}
	must.Fail(t, "a label for each token")(c.DescribeData(spec))
	c.Task, spec.Task = config.Classification, seq.Tagging
	must.Fail(t, "the task of the data set")(c.DescribeData(spec))
	c.Task = ""
	if err := c.DescribeData(spec); err != nil || c.Task != config.Tagging {
		t.Error(err)
	}
	train, val := unlabelledTokens(t)
	for _, f := range [][2]*seq.File{{train, val}, {val, train}} {
		_, err := NewTrainer(sft.NewModel(configtest.WithTask(configtest.TinyConfig(), config.Tagging), 1),
			runSettings(),
			cpu.New(1), f[0], f[1], nil,
			options(t.TempDir(), nil))
		must.Fail(t, ".arrow: no token has a label in its 3 rows")(err)
	}
}

// unlabelledTokens returns a split of 3 rows without labels, and a split with labels.
func unlabelledTokens(t *testing.T) (without, with *seq.File) {
	b, err := seq.CreateDataset(t.TempDir(), seq.Spec{Task: config.Tagging, Name: "none", VocabSize: 9,
		LabelNames: []string{"O", "B-X", "I-X"}}, false)
	must.Succeed(t, err)
	for split, labels := range map[string][]int32{"train": {seq.NoLabel, seq.NoLabel}, "val": {1, seq.NoLabel}} {
		w := must.Get(b.Split(split))(t)
		for i := range 3 {
			must.Succeed(t, w.Write(seq.Example{Index: uint32(i), A: []int32{1, 2},
				Label: seq.NoLabel, Labels: labels}))
		}
		must.Succeed(t, w.Close())
	}
	return openSplits(t, b)
}

// openSplits finishes a data set and opens its splits train and val.
func openSplits(t *testing.T, b *seq.DatasetBuilder) (train, val *seq.File) {
	t.Helper()
	d := must.Get(b.Finish(nil))(t)
	var files []*seq.File
	for _, split := range []string{"train", "val"} {
		f := must.Get(d.Open(split))(t)
		t.Cleanup(func() { f.Close() })
		files = append(files, f)
	}
	return files[0], files[1]
}

// TestTaggingOfRanks checks that several ranks return the same outputs as one process, for examples with
// different lengths and therefore different numbers of logits.
func TestTaggingOfRanks(t *testing.T) {
	m := modeltest.RandomModel(configtest.WithTask(configtest.TinyConfig(), config.Tagging), 4)
	examples := configtest.RandomExamples(m.Config, rand.New(rand.NewPCG(1, 2)), 3, 40, 1, 17, 90)
	want := modeltest.Score(t, modeltest.NewScorerOf(t, m, cpu.New(1)), examples)
	got := make([][]sft.Output, 3)
	var group sync.WaitGroup
	for rank, c := range distributed.NewLocal(len(got)) {
		s := modeltest.NewScorerOf(t, m, cpu.New(1))
		group.Go(func() {
			var err error
			if got[rank], err = s.SharedExamples(t.Context(), c, examples); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for rank, out := range got {
		if !reflect.DeepEqual(out, want) {
			t.Errorf("rank %d has outputs that differ from a single process", rank)
		}
	}
}
