package train

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

func TestGoldenLogits(t *testing.T) {
	configtest.OnEveryDevice(t, append(modeltest.EvaluationFolders(), "regression", "multilabel",
		"tagging", "clouds", "max_pooling",
		"graphs", "ngrams", "ngrams_bytes", "chunks",
		"chunks_tagging", "averages"), func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		s := must.Get(sft.NewScorer(m, device))(t)
		out := must.Get(s.Examples(context.Background(), examples))(t)
		worst := 0.0
		for i, l := range modeltest.GoldenLines(t, filepath.Join(modeltest.GoldenDir, name, "expected.jsonl")) {
			for c, want := range l.Logits {
				worst = max(worst, math.Abs(float64(out[i].Logits[c])-want))
			}
		}
		t.Logf("largest error %.1e", worst)
		if !(worst <= 1e-4) {
			t.Errorf("logits off by %.1e, want at most 1e-4", worst)
		}
	})
}

// compareGradients checks ‖g − w‖ ≤ 1e-3·‖w‖ + 1e-6 for the gradient g of each tensor and the expected
// gradient w in the file.
func compareGradients(t *testing.T, p *config.Parameters, got []float32, path string) {
	t.Helper()
	want, _ := must.Get2(safetensors.Read(path))(t)
	if len(want) != len(p.List) {
		t.Errorf("%d tensors, expected %d", len(p.List), len(want))
	}
	worst := 0.0
	for _, w := range want {
		q, ok := p.Lookup(w.Name)
		if !ok {
			t.Errorf("no tensor %q", w.Name)
			continue
		}
		diff, norm := norms(p.Slice(got, q), w.Data)
		worst = max(worst, diff/(1e-3*norm+1e-6))
		if !(diff <= 1e-3*norm+1e-6) {
			t.Errorf("%s: error %.2e, want at most %.2e", w.Name, diff, 1e-3*norm+1e-6)
		}
	}
	t.Logf("largest error %.1e of the tolerance", worst)
}

func TestGoldenGradients(t *testing.T) {
	configtest.OnEveryDevice(t, append(modeltest.EvaluationFolders(), "fill_mask", "regression",
		"multilabel", "tagging", "clouds",
		"max_pooling", "graphs", "ngrams", "ngrams_bytes",
		"chunks", "chunks_tagging", "averages"), func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		g, _ := must.Get2(Gradient(context.Background(), m, device, examples))(t)
		compareGradients(t, m.Parameters, g, filepath.Join(modeltest.GoldenDir, name, "grads.safetensors"))
	})
}

// TestGoldenTraining compares three optimizer steps with the golden folders. The steps have sampler
// noise and, depending on the folder, dropped tokens and dropout.
func TestGoldenTraining(t *testing.T) {
	configtest.OnEveryDevice(t, []string{"train", "train_retrieval", "train_conv",
		"train_fill_mask", "train_regression",
		"train_multilabel", "train_tagging", "train_clouds", "train_max_pooling", "train_graphs",
		"train_chunks", "train_chunks_fill_mask", "train_averages"}, testGoldenTraining)
}

func testGoldenTraining(t *testing.T, name string, device tensor.Device) {
	m, examples := modeltest.LoadGolden(t, name)
	dir := filepath.Join(modeltest.GoldenDir, name)
	var expected goldenTraining
	text := must.Get(os.ReadFile(filepath.Join(dir, "expected.json")))(t)
	must.Succeed(t, json.Unmarshal(text, &expected))
	ctx, s := context.Background(), expected.Settings
	e := must.Get(model.NewEngine(m.Config, m.Weights, device))(t)
	a := must.Get(newAccumulator(e, 2))(t)
	o := must.Get(newOptimizer(e, s.WeightDecay))(t)
	for step, want := range expected.Steps {
		b := must.Get(a.run(ctx, examples, model.Drawing{Mode: model.TrainMode, Seed: s.Seed, Step: uint32(step)}))(t)
		if step == 0 {
			g := make([]float32, m.Parameters.Words)
			must.Succeed(t, b.gradient.Read(0, tensor.Bits(g)))
			for i := range g {
				g[i] /= float32(b.divisor)
			}
			compareGradients(t, m.Parameters, g, filepath.Join(dir, "grads_step0.safetensors"))
		}
		norm := must.Get(o.apply(ctx, b.gradient, b.divisor, step+1, s.LearningRate, s.MaxGradNorm))(t)
		a.blocks.release(b.gradient)
		var loss float64
		for _, v := range b.loss {
			loss += float64(v) / float64(b.divisor)
		}
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"loss", loss, want.Loss}, {"gradient norm", norm, want.GradNorm}} {
			if !(math.Abs(v.got-v.want) <= 1e-4*v.want) {
				t.Errorf("step %d: %s %v, expected %v", step, v.name, v.got, v.want)
			}
		}
	}
	after := make([]float32, m.Parameters.Words)
	must.Succeed(t, e.Weights.Read(0, tensor.Bits(after)))
	compareChange(t, m, after, dir)
}

// compareChange compares the change of each weight tensor with the golden change, by the norm of their
// difference. It skips tensors whose gradient is zero up to rounding.
func compareChange(t *testing.T, m *sft.Model, after []float32, dir string) {
	t.Helper()
	want, _ := must.Get2(safetensors.Read(filepath.Join(dir, "model_after.safetensors")))(t)
	grads, _ := must.Get2(safetensors.Read(filepath.Join(dir, "grads_step0.safetensors")))(t)
	gradNorm := map[string]float64{}
	for _, g := range grads {
		_, gradNorm[g.Name] = norms(g.Data, g.Data)
	}
	compared := 0
	for _, w := range want {
		q, _ := m.Parameters.Lookup(w.Name)
		before, current := m.Parameters.Slice(m.Weights, q), m.Parameters.Slice(after, q)
		if gradNorm[w.Name] < 1e-6 {
			continue
		}
		change, expected := make([]float32, len(before)), make([]float32, len(before))
		for i, b := range before {
			change[i], expected[i] = current[i]-b, w.Data[i]-b
		}
		diff, norm := norms(change, expected)
		if !(diff <= 1e-2*norm) {
			t.Errorf("%s: change off by %.2e, want at most %.2e", w.Name, diff, 1e-2*norm)
		}
		compared++
	}
	if compared < len(want)*3/4 {
		t.Errorf("compared %d of %d tensors, want at least three quarters", compared, len(want))
	}
}

// norms returns the norms of got − want and of want.
func norms(got, want []float32) (diff, norm float64) {
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		diff += d * d
		norm += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff), math.Sqrt(norm)
}
