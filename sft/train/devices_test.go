package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/tensor/lockstep"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// smallModel returns a model with sampler noise, dropped tokens and dropout, small enough to train on a
// software GPU.
func smallModel() *sft.Model {
	c := configtest.TrainingConfig()
	c.VocabSize, c.HiddenSize, c.NumHeads, c.IntermediateSize, c.NumLayers, c.NumSampledTokens,
		c.SinusoidDim = 16, 32, 4, 64, 2, 8, 16
	c.ResidualScale = false // with a residual scale, layers would be idle at first
	return sft.NewModel(c, 1)
}

// smallSettings returns the training settings of smallModel.
func smallSettings() Settings {
	s := runSettings()
	s.Batch, s.LearningRate, s.Warmup, s.StepSize = 8, 3e-3, "10", 1000
	return s
}

// smallBatch returns the batch of a step. A sequence's label is the most frequent of the
// tokens 0, 1 and 2. Most sequences are short, to save time.
func smallBatch(c *config.Config, step int) []seq.Example {
	random := rand.New(rand.NewPCG(9, uint64(step)))
	var lengths []int
	for range 8 {
		lengths = append(lengths, 1+int(200*math.Pow(random.Float64(), 6)))
	}
	examples := configtest.RandomExamples(c, random, lengths...)
	for i := range examples {
		var count [3]float32
		for _, token := range examples[i].A {
			if token < 3 {
				count[token]++
			}
		}
		examples[i].Index, examples[i].Label = uint32(8*step+i), int32(sft.Argmax(count[:]))
	}
	return examples
}

func newSmallStepper(t *testing.T, device tensor.Device) *Stepper {
	t.Helper()
	return must.Get(NewStepper(smallModel(), smallSettings(), device, 200, 0))(t)
}

// readWords returns all words of a block of device memory.
func readWords(t *testing.T, m tensor.Memory) []float32 {
	t.Helper()
	w := make([]float32, m.Words())
	must.Succeed(t, m.Read(0, tensor.Bits(w)))
	return w
}

// gradient returns the gradient and the mean loss of a step's batch.
func (s *Stepper) gradient(t *testing.T, examples []seq.Example, step int) (g []float32, loss float64) {
	t.Helper()
	b := must.Get(s.gradients.run(t.Context(), examples,
		model.Drawing{Mode: model.TrainMode, Seed: s.settings.Seed, Step: uint32(step)}))(t)
	defer s.gradients.blocks.release(b.gradient)
	for _, v := range b.loss {
		loss += float64(v) / float64(len(examples))
	}
	return readWords(t, b.gradient), loss
}

// choices returns the tokens that the sampler of each layer selects in a step.
func (s *Stepper) choices(t *testing.T, examples []seq.Example, step int) []*lockstep.Choice {
	t.Helper()
	l := s.gradients.groups[0][0]
	p := must.Get(l.Load(1, examples,
		model.Drawing{Mode: model.TrainMode, Seed: s.settings.Seed, Step: uint32(step)}))(t)
	var all []*lockstep.Choice
	must.Succeed(t, p.Inspect(t.Context(), l.Memory, 0, p.Program.SegmentIndex("readout"), func(k tensor.Kernel) error {
		sample, ok := k.(tensor.Sample)
		if !ok {
			return nil
		}
		c, err := lockstep.ReadChoice(p.Program, sample, l.Memory)
		all = append(all, c)
		return err
	}))
	return all
}

// flips lists the sequences for which two devices sampled different tokens, each with the first
// layer that differs: differences in later layers follow from it.
func flips(first, second []*lockstep.Choice) []lockstep.Flip {
	var all []lockstep.Flip
	for layer, c := range first {
		for _, f := range c.Flips(second[layer]) {
			if !slices.ContainsFunc(all, func(g lockstep.Flip) bool { return g.Sequence == f.Sequence }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// deviation is the difference of two devices' results as a multiple of the tolerance: 1e-5 for the
// mean loss, and 1e-3·‖g‖ + 1e-6 for the norm of the difference from a tensor's gradient g.
type deviation struct {
	loss, gradient float64
	tensor         string
}

func (s *Stepper) deviationFrom(t *testing.T, other *Stepper, examples []seq.Example, step int) (a deviation) {
	t.Helper()
	must.Succeed(t, other.engine.Weights.Write(0, tensor.Bits(readWords(t, s.engine.Weights))))
	g, loss := s.gradient(t, examples, step)
	h, otherLoss := other.gradient(t, examples, step)
	a.loss = math.Abs(loss-otherLoss) / 1e-5
	for _, q := range s.model.Parameters.List {
		diff, norm := norms(s.model.Parameters.Slice(h, q), s.model.Parameters.Slice(g, q))
		n := float64(len(examples)) // the gradient is a sum over the examples
		if off := diff / n / (1e-3*norm/n + 1e-6); off > a.gradient {
			a.gradient, a.tensor = off, q.Name
		}
	}
	return a
}

// TestLockStep starts each step on both devices with the CPU's weights and compares losses and
// gradients. They may differ only where rounding decides: which token is sampled last, or on which
// side of a kink of max or ReLU a score falls. The test reports such steps and requires them to be
// rare.
func TestLockStep(t *testing.T) {
	vulkan := configtest.Vulkan(t)
	onCPU, onVulkan := newSmallStepper(t, cpu.New(2)), newSmallStepper(t, vulkan)
	checked := newSmallStepper(t, lockstep.New(cpu.New(2), vulkan))
	steps := 80
	if testing.Short() {
		steps = 20
	}
	var worst deviation
	roundingSteps := 0
	for step := range steps {
		examples := smallBatch(onCPU.model.Config, step)
		a := onCPU.deviationFrom(t, onVulkan, examples, step)
		if a.loss <= 1 && a.gradient <= 1 {
			worst.loss, worst.gradient = max(worst.loss, a.loss), max(worst.gradient, a.gradient)
		} else {
			roundingSteps++
			found := flips(onCPU.choices(t, examples, step), onVulkan.choices(t, examples, step))
			for _, f := range found {
				t.Logf("step %d: %v", step, f)
				if !f.Rounding() {
					t.Errorf("step %d: rounding does not explain the difference", step)
				}
			}
			if len(found) == 0 {
				t.Logf("step %d: a kink in %s: %.1f of the tolerance", step, a.tensor, a.gradient)
				// lockstep checks each launch by itself and names a wrong one. Losses have no
				// kinks.
				if onCPU.deviationFrom(t, checked, examples, step); a.loss > 1 || a.gradient > 20 {
					t.Errorf("step %d: %+v, want a loss within 1 and a gradient within 20 tolerances", step, a)
				}
			}
		}
		must.Get(onCPU.Step(t.Context(), examples))(t)
	}
	t.Logf("%d steps: losses within %.2f, gradients within %.2f of the tolerance, except in %d steps that "+
		"rounding decided",
		steps, worst.loss, worst.gradient, roundingSteps)
	if roundingSteps > 2 {
		t.Errorf("rounding decided %d of %d steps, want at most 2", roundingSteps, steps)
	}
}

// TestFreeSteps trains on each device independently and compares the losses.
func TestFreeSteps(t *testing.T) {
	steps := 50
	if testing.Short() {
		steps = 10
	}
	var curves [2][]chart.Datum
	for i, device := range []tensor.Device{cpu.New(2), configtest.Vulkan(t)} {
		s := newSmallStepper(t, device)
		for step := range steps {
			loss := must.Get(s.Step(t.Context(), smallBatch(s.model.Config, step)))(t)
			curves[i] = append(curves[i], chart.Datum{X: float64(step), Y: loss})
		}
	}
	worst := 0.0
	for step, p := range curves[0] {
		worst = max(worst, math.Abs(p.Y-curves[1][step].Y))
	}
	t.Logf("%d steps: losses from %.3f to %.3f, off by at most %.1e", steps, curves[0][0].Y,
		curves[0][steps-1].Y, worst)
	if !(worst <= 1e-2) {
		t.Errorf("losses off by %.1e, want at most 1e-2", worst)
	}
	if dir := os.Getenv("SFTSEQ_PLOTS"); dir != "" {
		must.Check(t, plotDevices(filepath.Join(dir, "devices.svg"), curves))
	}
}

// plotDevices draws the CPU's curve as a wide line and Vulkan's curve on top.
func plotDevices(path string, curves [2][]chart.Datum) error {
	c := chart.Chart{X: chart.Axis{Label: "step"}, Y: chart.Axis{Label: "loss (nats)"}, Width: 640, Height: 340}
	for i, name := range []string{"CPU", "Vulkan"} {
		style := chart.StyleOf(i)
		style.Width, style.Dash, style.Shape = []float64{5, 1.2}[i], nil, chart.None
		c.Series = append(c.Series, chart.Series{Name: name, Style: style, Points: curves[i]})
	}
	return atomicfile.Write(path, chart.Figure{Title: "The same training on two devices",
		Charts: []chart.Chart{c}}.Scene().WriteSVG)
}

// TestSameSeedSameBits checks that two runs on Vulkan with several micro-batches in two slots have
// bitwise identical weights.
func TestSameSeedSameBits(t *testing.T) {
	testenv.Long(t, "takes a long time; TestGradientOfMicroBatches covers the slots")
	var runs [2][]float32
	for i := range runs {
		t.Run(fmt.Sprint("run ", i+1), func(t *testing.T) {
			runs[i] = must.Get(trainSteps(t, config.Classification, "pre", 2, configtest.Vulkan(t),
				model.MicroBatchTokens, 100, 30))(t)
		})
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Error("two runs with the same seed have different weights")
	}
}

// TestResumeElsewhere checks that a run resumed on another device warns and ends near the weights of an
// uninterrupted run.
func TestResumeElsewhere(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	s := runSettings()
	s.EvalEvery = 6
	uninterrupted := t.TempDir()
	must.Succeed(t, trainNew(t, modeltest.RandomModel(configtest.TrainingConfig(), 1), s,
		options(uninterrupted, nil), cpu.New(2), train, val))
	want := must.Get(LoadCheckpoint(uninterrupted))(t)
	vulkan := configtest.Vulkan(t)
	for name, devices := range map[string][2]tensor.Device{"to Vulkan": {cpu.New(2), vulkan},
		"from Vulkan": {vulkan, cpu.New(2)}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tr, err := NewTrainer(modeltest.RandomModel(configtest.TrainingConfig(), 1), s, devices[0], train, val, nil,
				options(dir, func(event any) {
					if state, ok := event.(State); ok && state.Step == 4 {
						cancel()
					}
				}))
			must.Succeed(t, err)
			err = tr.Run(ctx)
			tr.Close()
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			from := must.Get(LoadCheckpoint(dir))(t)
			if from.State.Step != 4 || from.Kernels != devices[0].Kernels() {
				t.Errorf("the checkpoint has step %d, kernels %q; want step 4 of the first device", from.State.Step,
					from.Kernels)
			}
			warned := false
			tr = must.Get(NewTrainer(nil, s, devices[1], train, val, from, options(dir, func(event any) {
				w, ok := event.(Warning)
				warned = warned || ok && strings.Contains(string(w), devices[1].Kernels())
			})))(t)
			defer tr.Close()
			must.Succeed(t, tr.Run(t.Context()))
			got := must.Get(LoadCheckpoint(dir))(t)
			m := modeltest.RandomModel(configtest.TrainingConfig(), 1)
			idle, _ := m.Parameters.Lookup("head.pool.bias") // its gradient is only rounding error
			for _, c := range []*Checkpoint{got, want} {
				copy(m.Parameters.Slice(c.weights, idle), m.Parameters.Slice(m.Weights, idle))
			}
			off, _ := norms(got.weights, want.weights)
			change, _ := norms(m.Weights, want.weights)
			t.Logf("weights changed by %.2e, off by %.1e", change, off)
			if !warned || got.State.Step != want.State.Step || !(off <= 1e-3*change) {
				t.Errorf("warned %v, want true; step %d, want %d; weights off by %.1e after a change of %.1e", warned,
					got.State.Step, want.State.Step, off, change)
			}
		})
	}
}
