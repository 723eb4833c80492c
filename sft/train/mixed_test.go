package train

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/lockstep"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
	"github.com/sftseq/sftseq/vk"
)

// runMixedPrecision runs f for each folder on Vulkan in mixed precision. It skips the test on
// devices without cooperative matrices.
func runMixedPrecision(t *testing.T, folders []string, f func(t *testing.T, name string, device tensor.Device)) {
	device := vulkanMixed(t)
	t.Log(device.Name())
	for _, name := range folders {
		t.Run(name, func(t *testing.T) { f(t, name, device) })
	}
}

// withCPUChoices runs compute on the CPU in float32, and then on d with the tokens that the CPU
// sampled.
func withCPUChoices[T any](t *testing.T, d tensor.Device, compute func(d tensor.Device) (T, error)) T {
	t.Helper()
	var c lockstep.Choices
	must.Get(compute(c.Record(cpu.New(2))))(t)
	got := must.Get(compute(c.Give(d)))(t)
	for _, f := range c.Flips() {
		t.Log("without the CPU's choices: ", f)
	}
	return got
}

// TestMixedGoldenLogits checks that logits in mixed precision, with the CPU's sampled tokens, differ
// from the golden logits, but by at most 2e-2.
func TestMixedGoldenLogits(t *testing.T) {
	runMixedPrecision(t, modeltest.EvaluationFolders(), func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		out := withCPUChoices(t, device, func(d tensor.Device) ([]sft.Output, error) {
			s, err := sft.NewScorer(m, d)
			if err != nil {
				return nil, err
			}
			return s.Examples(context.Background(), examples)
		})
		worst := 0.0
		for i, l := range modeltest.GoldenLines(t, filepath.Join(modeltest.GoldenDir, name, "expected.jsonl")) {
			for c, want := range l.Logits {
				worst = max(worst, math.Abs(float64(out[i].Logits[c])-want))
			}
		}
		t.Logf("largest error %.1e", worst)
		if !(worst <= 2e-2) {
			t.Errorf("logits off by %.1e, want at most 2e-2", worst)
		}
		if worst < 1e-6 {
			t.Error("the logits are exact: the products were not in half precision")
		}
	})
}

// Tolerances of gradients relative to their norm, for the whole gradient and for each tensor. An
// operand in bfloat16 has a relative error of up to 2⁻⁸. A gradient depends on about 30 consecutive
// products of two such operands. Their errors are independent and add up to √60·2⁻⁸/√3 ≈ 1.7e-2. The
// operations between the products increase the error: the gradients of attn.q and attn.k pass through
// max(q, k), whose derivative jumps where rounding changes which operand is larger. Measured errors are
// 2.3e-2 and 9.2e-2 with bfloat16 operands, 1.2e-3 and 1.2e-2 with float16.
const (
	mixedGradientTolerance = 5e-2
	mixedTensorTolerance   = 0.2
)

// compareMixedGradients compares a gradient with the golden gradient in the file path: the whole gradient
// relative to its norm, and each tensor relative to its own norm plus a thousandth of the whole norm,
// because errors of large gradients propagate to small gradients.
func compareMixedGradients(t *testing.T, m *sft.Model, got []float32, path string) {
	t.Helper()
	want, _ := must.Get2(safetensors.Read(path))(t)
	var wantNorm, difference float64
	for _, w := range want {
		_, norm := norms(w.Data, w.Data)
		wantNorm = math.Hypot(wantNorm, norm)
	}
	worst, worstTensor := 0.0, ""
	for _, w := range want {
		p, ok := m.Parameters.Lookup(w.Name)
		if !ok {
			t.Fatalf("no tensor %q", w.Name)
		}
		diff, norm := norms(m.Parameters.Slice(got, p), w.Data)
		difference = math.Hypot(difference, diff)
		relative := diff / (norm + 1e-3*wantNorm)
		if !(relative <= mixedTensorTolerance) {
			t.Errorf("%s: off by %.2e of norm %.2e, relative error %.2e, want at most %g", w.Name, diff, norm, relative,
				mixedTensorTolerance)
		}
		if relative > worst {
			worst, worstTensor = relative, w.Name
		}
	}
	t.Logf("the gradient is off by %.1e, %s by %.1e", difference/wantNorm, worstTensor, worst)
	if !(difference <= mixedGradientTolerance*wantNorm) {
		t.Errorf("the gradient is off by %.2e of norm %.2e", difference, wantNorm)
	}
}

func TestMixedGoldenGradients(t *testing.T) {
	runMixedPrecision(t, modeltest.EvaluationFolders(), func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		g := withCPUChoices(t, device, func(d tensor.Device) ([]float32, error) {
			g, _, err := Gradient(context.Background(), m, d, examples)
			return g, err
		})
		compareMixedGradients(t, m, g, filepath.Join(modeltest.GoldenDir, name, "grads.safetensors"))
	})
}

// TestMixedTraining performs the golden training steps in mixed precision and compares the losses.
func TestMixedTraining(t *testing.T) {
	runMixedPrecision(t, []string{"train", "train_retrieval"}, func(t *testing.T, name string, device tensor.Device) {
		m, examples := modeltest.LoadGolden(t, name)
		var expected struct {
			Settings Settings                 `json:"settings"`
			Steps    []struct{ Loss float64 } `json:"steps"`
		}
		text := must.Get(os.ReadFile(filepath.Join(modeltest.GoldenDir, name, "expected.json")))(t)
		must.Succeed(t, json.Unmarshal(text, &expected))
		s := expected.Settings
		s.Batch, s.Epochs, s.StepSize, s.DecayRate, s.Warmup, s.LogEvery = len(examples), 1, 1, 1, "0", 1
		losses := withCPUChoices(t, device, func(d tensor.Device) (losses []float64, err error) {
			st, err := NewStepper(m, s, d, 300, 0)
			if err != nil {
				return nil, err
			}
			for range expected.Steps {
				loss, err := st.Step(context.Background(), examples)
				if err != nil {
					return nil, err
				}
				losses = append(losses, loss)
			}
			if st.updates != st.steps {
				t.Errorf("%d updates in %d steps, want an update per step; the loss scale is %v", st.updates, st.steps,
					st.scale.value())
			}
			return losses, nil
		})
		for i, want := range expected.Steps {
			t.Logf("step %d: loss %.5f, expected %.5f", i, losses[i], want.Loss)
			if !(math.Abs(losses[i]-want.Loss) <= 1e-2*want.Loss) {
				t.Errorf("step %d: loss %v, expected %v", i, losses[i], want.Loss)
			}
		}
	})
}

// TestMixedOverflow checks that a float16 overflow is detected, not clamped, and that the scale is
// halved until no value overflows.
func TestMixedOverflow(t *testing.T) {
	device := vulkanMixed(t)
	if !scalesLoss(device) {
		t.Skip(device.Name(), ": its operands have the range of float32")
	}
	m, examples := modeltest.LoadGolden(t, "train")
	s := runSettings()
	s.Batch = len(examples)
	st := must.Get(NewStepper(m, s, device, 300, 0))(t)
	st.scale = lossScale{Factor: 1 << 40}
	weights := make([]float32, m.Parameters.Words)
	for st.updates == 0 {
		must.Get(st.Step(t.Context(), examples))(t)
		must.Succeed(t, st.engine.Weights.Read(0, tensor.Bits(weights)))
		if slices.Equal(weights, m.Weights) != (st.updates == 0) {
			t.Fatalf("after %d updates: weights unchanged %t, want %t", st.updates, st.updates > 0, st.updates == 0)
		}
	}
	if st.scale.Factor > 1<<25 || st.scale.Factor < 1<<10 {
		t.Errorf("the first update has a scale of %v, want 1<<10 to 1<<25", st.scale.Factor)
	}
	t.Logf("%d steps without an update, then a scale of %v", st.steps-1, st.scale.Factor)
}

// TestGivenChoices checks that a model attends to the sampled tokens that a replay provides.
func TestGivenChoices(t *testing.T) {
	m, examples := modeltest.LoadGolden(t, "pre")
	other := &sft.Model{Config: m.Config, Parameters: m.Parameters, Weights: slices.Clone(m.Weights)}
	for _, p := range m.Parameters.List {
		if strings.HasSuffix(p.Name, "sampler.weight") {
			for i := range other.Parameters.Slice(other.Weights, p) {
				other.Weights[p.Offset+i] *= -1
			}
		}
	}
	logits := func(m *sft.Model, d tensor.Device) (all []float32) {
		s := must.Get(sft.NewScorer(m, d))(t)
		out := must.Get(s.Examples(t.Context(), examples))(t)
		for _, o := range out {
			all = append(all, o.Logits...)
		}
		return all
	}
	var own, others, again lockstep.Choices
	want := logits(m, own.Record(cpu.New(2)))
	logits(other, others.Record(cpu.New(2)))
	if own.Len() == 0 || own.Equal(&others) {
		t.Fatalf("%d choices, equal for both models: %t; want at least 1, false", own.Len(), own.Equal(&others))
	}
	if got := logits(m, own.Give(cpu.New(1))); !slices.Equal(got, want) || len(own.Flips()) != 0 {
		t.Errorf("replaying the model's own choices: %d flips, logits %v; want 0, %v", len(own.Flips()), got, want)
	}
	if got := logits(m, again.Record(others.Give(cpu.New(1)))); slices.Equal(got, want) ||
		len(others.Flips()) == 0 || !again.Equal(&others) {
		t.Errorf("replaying other choices: same logits %t, %d flips, same choices %t; want false, at least 1, true",
			slices.Equal(got, want), len(others.Flips()), again.Equal(&others))
	}
}

// vulkanMixed opens the machine's best device with mixed precision.
func vulkanMixed(t testing.TB) tensor.Device {
	t.Helper()
	return testenv.NeedMixed(t, vk.Open, vk.Options{Mixed: true}).(tensor.Device)
}
