package sft

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

const golden = "testdata/golden"

// evaluationFolders hold logits and gradients computed in float64. The long
// sequence takes minutes under the race detector, where tests run with -short,
// and has nothing concurrent that the others lack.
func evaluationFolders() []string {
	folders := []string{"pre", "post", "lily", "standardized", "odd", "ties", "retrieval",
		"vanilla", "conv", "conv_post"}
	if !testing.Short() {
		folders = append(folders, "long")
	}
	return folders
}

type goldenLine struct {
	Tokens   []int32     `json:"tokens"`
	TokensA  []int32     `json:"tokens_a"`
	TokensB  []int32     `json:"tokens_b"`
	Label    int32       `json:"label"`
	Numbers  []float32   `json:"numbers"`
	Labels   []int32     `json:"labels"`
	Features [][]float32 `json:"features"`
	Edges    []seq.Edge  `json:"edges"`
	Logits   []float64   `json:"logits"`
}

func goldenLines(t *testing.T, path string) []goldenLine {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	var out []goldenLine
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		var l goldenLine
		must.Succeed(t, json.Unmarshal(s.Bytes(), &l))
		out = append(out, l)
	}
	if s.Err() != nil || len(out) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(out), s.Err())
	}
	return out
}

func goldenExamples(t *testing.T, dir string) []seq.Example {
	t.Helper()
	var out []seq.Example
	for i, l := range goldenLines(t, filepath.Join(dir, "inputs.jsonl")) {
		e := seq.Example{Index: uint32(i), A: l.Tokens, Label: l.Label, Numbers: l.Numbers, Labels: l.Labels,
			Features: l.Features, Edges: l.Edges}
		if l.Tokens == nil {
			e.A, e.B = l.TokensA, l.TokensB
		}
		out = append(out, e)
	}
	return out
}

func loadGolden(t *testing.T, name string) (*Model, []seq.Example) {
	t.Helper()
	dir := filepath.Join(golden, name)
	m := must.Get(Load(dir))(t)
	return m, goldenExamples(t, dir)
}

// onEveryDevice runs a test for each folder on each instruction set of this
// machine and on Vulkan. With -short it leaves out the instruction sets between the
// best and the kernels in Go, whose code they share, and Vulkan.
func onEveryDevice(t *testing.T, folders []string, f func(t *testing.T, name string, device tensor.Device)) {
	levels := simd.Levels()
	if testing.Short() && len(levels) > 2 {
		levels = []*simd.Kernels{levels[0], levels[len(levels)-1]}
	}
	for _, level := range levels {
		for _, name := range folders {
			t.Run(level.Name+"/"+name, func(t *testing.T) { f(t, name, cpu.NewLevel(2, level)) })
		}
	}
	t.Run("vulkan", func(t *testing.T) {
		testenv.Long(t, "takes long")
		device := vulkan(t)
		for _, name := range folders {
			t.Run(name, func(t *testing.T) { f(t, name, device) })
		}
	})
}

func TestGoldenLogits(t *testing.T) {
	onEveryDevice(t, append(evaluationFolders(), "regression", "multilabel", "tagging", "clouds", "max_pooling",
		"graphs"), func(t *testing.T, name string, device tensor.Device) {
		m, examples := loadGolden(t, name)
		s := must.Get(NewScorer(m, device))(t)
		out := must.Get(s.Examples(context.Background(), examples))(t)
		worst := 0.0
		for i, l := range goldenLines(t, filepath.Join(golden, name, "expected.jsonl")) {
			for c, want := range l.Logits {
				worst = max(worst, math.Abs(float64(out[i].Logits[c])-want))
			}
		}
		t.Logf("largest error %.1e", worst)
		if !(worst <= 1e-4) {
			t.Errorf("logits off by %.1e, at most 1e-4 allowed", worst)
		}
	})
}

func norms(got, want []float32) (diff, norm float64) {
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		diff += d * d
		norm += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff), math.Sqrt(norm)
}

// compareGradients checks ‖g − w‖ ≤ 1e-3·‖w‖ + 1e-6 for each tensor.
func compareGradients(t *testing.T, p *Parameters, got []float32, path string) {
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
			t.Errorf("%s: off by %.2e of norm %.2e", w.Name, diff, norm)
		}
	}
	t.Logf("largest error %.1e of the tolerance", worst)
}

func TestGoldenGradients(t *testing.T) {
	onEveryDevice(t, append(evaluationFolders(), "fill_mask", "regression", "multilabel", "tagging", "clouds",
		"max_pooling", "graphs"), func(t *testing.T, name string, device tensor.Device) {
		m, examples := loadGolden(t, name)
		g, _ := must.Get2(m.Gradient(context.Background(), device, examples))(t)
		compareGradients(t, m.Parameters, g, filepath.Join(golden, name, "grads.safetensors"))
	})
}

// TestGoldenTraining makes three optimizer steps with noise, drop token and
// every dropout.
func TestGoldenTraining(t *testing.T) {
	onEveryDevice(t, []string{"train", "train_retrieval", "train_conv", "train_fill_mask", "train_regression",
		"train_multilabel", "train_tagging", "train_clouds", "train_max_pooling", "train_graphs"}, testGoldenTraining)
}

func testGoldenTraining(t *testing.T, name string, device tensor.Device) {
	m, examples := loadGolden(t, name)
	dir := filepath.Join(golden, name)
	var expected goldenTraining
	text := must.Get(os.ReadFile(filepath.Join(dir, "expected.json")))(t)
	must.Succeed(t, json.Unmarshal(text, &expected))
	ctx, s := context.Background(), expected.Settings
	e := must.Get(newEngine(m.Config, m.Weights, device))(t)
	a := must.Get(newAccumulator(e, 2))(t)
	o := must.Get(newOptimizer(e, s.WeightDecay))(t)
	for step, want := range expected.Steps {
		b := must.Get(a.run(ctx, examples, drawing{trainMode, s.Seed, uint32(step)}))(t)
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
			what      string
			got, want float64
		}{{"loss", loss, want.Loss}, {"gradient norm", norm, want.GradNorm}} {
			if !(math.Abs(v.got-v.want) <= 1e-4*v.want) {
				t.Errorf("step %d: %s %v, expected %v", step, v.what, v.got, v.want)
			}
		}
	}
	after := make([]float32, m.Parameters.Words)
	must.Succeed(t, e.weights.Read(0, tensor.Bits(after)))
	compareChange(t, m, after, dir)
}

// compareChange compares the change of each weight tensor, in norm, where its
// gradient is not zero up to rounding.
func compareChange(t *testing.T, m *Model, after []float32, dir string) {
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
		before, now := m.Parameters.Slice(m.Weights, q), m.Parameters.Slice(after, q)
		if gradNorm[w.Name] < 1e-6 {
			continue
		}
		change, expected := make([]float32, len(before)), make([]float32, len(before))
		for i, b := range before {
			change[i], expected[i] = now[i]-b, w.Data[i]-b
		}
		diff, norm := norms(change, expected)
		if !(diff <= 1e-2*norm) {
			t.Errorf("%s: change off by %.2e of %.2e", w.Name, diff, norm)
		}
		compared++
	}
	if compared < len(want)*3/4 {
		t.Errorf("only %d of %d tensors compared", compared, len(want))
	}
}
