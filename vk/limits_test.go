//go:build cgo

package vk

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// setMinimalLimits sets minimal limits of the device until the end of the test: kernels process
// blocks of as few rows as possible, a line of the grid has 7 workgroups, operands have the largest
// alignment that Vulkan allows, and table gradients have no window in shared memory.
func setMinimalLimits(t *testing.T, d *gpu) {
	limits, words, hidden := d.limits, blockWords, hiddenWords
	t.Cleanup(func() { d.limits, blockWords, hiddenWords = limits, words, hidden })
	blockWords, hiddenWords = 1, 1
	d.limits.maxGroups = [2]int{7, 1 << 20}
	d.limits.alignment = grain
	d.limits.sharedBytes = windowBytes(0)
}

// TestOperandTooLarge checks that kernels which process operands in blocks of rows have the same
// result as with whole operands. If an operand that must be bound whole is too large, the error
// states a length that fits. A dispatch with too many workgroups is an error, too.
func TestOperandTooLarge(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	random := rand.New(rand.NewPCG(8, 9))
	x := make([]int32, 1500)
	for i := range x {
		x[i] = random.Int32N(9)
	}
	score := func() (sft.Output, error) {
		s := must.Get(sft.NewScorer(m, d))(t)
		return s.Classify(t.Context(), x)
	}
	want := must.Get(score())(t)
	setMinimalLimits(t, d)
	got, err := score()
	if err != nil || !slices.Equal(got.Logits, want.Logits) || !slices.Equal(got.Embeddings[0], want.Embeddings[0]) {
		t.Errorf("output in blocks of rows %v, error %v; want %v", got, err, want)
	}
	d.limits.maxRange = 4 * 8 * 1024 // bytes of 8 channels of 1024 tokens
	_, err = score()
	must.Fail(t, "is limited to 0.0 MiB; up to ")(err)
	t.Log(err)
	d.limits.maxGroups[1] = 1
	if _, err = score(); err == nil || !strings.Contains(err.Error(), "more than the device") {
		t.Errorf("error %v, want one about the number of workgroups", err)
	}
	t.Log(err)
}

// TestManyShortInputs checks that inputs have the same logits if the device can bind each input but
// not all of them together, and therefore needs several passes.
func TestManyShortInputs(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	random := rand.New(rand.NewPCG(8, 9))
	examples := make([]seq.Example, 40)
	for i := range examples {
		examples[i].A = make([]int32, 100+random.IntN(200))
		for j := range examples[i].A {
			examples[i].A[j] = random.Int32N(9)
		}
	}
	score := func(examples []seq.Example) []sft.Output {
		s := must.Get(sft.NewScorer(m, d))(t)
		defer s.Close()
		return must.Get(s.Examples(t.Context(), examples))(t)
	}
	want := score(examples)
	setMinimalLimits(t, d)
	d.limits.maxRange = 64 << 10
	for i, o := range score(examples) {
		if !slices.Equal(o.Logits, want[i].Logits) {
			t.Errorf("example %d: logits %v, want %v", i, o.Logits, want[i].Logits)
		}
	}
}

// TestTrainingIsPlanned checks that training which exceeds a device's limits fails before the first
// step, and that training succeeds with the length that the error states.
func TestTrainingIsPlanned(t *testing.T) {
	d := open(t, Options{})
	m, _, _ := tinyModel(t)
	settings := train.Settings{Steps: 3, Batch: 2, LearningRate: 0.01, StepSize: 1, DecayRate: 0.5, MaxGradNorm: 1,
		Warmup: "3", LogEvery: 1, EvalEvery: 3}
	for name, limit := range map[string]func(l *limits){
		"operand": func(l *limits) { l.maxRange = 160 << 10 },
		"memory":  func(l *limits) { l.maxBlock = 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			saved := d.limits
			defer func() { d.limits = saved }()
			limit(&d.limits)
			_, err := train.NewStepper(m, settings, d, m.Config.MaxLength, 0)
			var memoryErr *config.MemoryError
			if !errors.As(err, &memoryErr) || memoryErr.Reason == nil || memoryErr.Fits < 100 ||
				memoryErr.Fits >= m.Config.MaxLength {
				t.Fatalf("error %v, want a MemoryError with a shorter length that fits", err)
			}
			t.Log(err)
			s := must.Get(train.NewStepper(m, settings, d, memoryErr.Fits, 0))(t)
			defer s.Close()
			var examples []seq.Example
			for range settings.Batch {
				examples = append(examples, seq.Example{A: make([]int32, memoryErr.Fits)})
			}
			if _, err := s.Step(t.Context(), examples); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCheckRequirements checks that checkRequirements names the feature that a device lacks.
func TestCheckRequirements(t *testing.T) {
	const operations, compute = 0xff, 0x20
	sufficient := physical{api: 1<<22 | 2<<12, limits: limits{maxInvocations: 256, sharedBytes: 32 << 10, buffers: 19}}
	for _, c := range []struct {
		change func(*physical)
		want   string
	}{
		{func(p *physical) {}, ""},
		{func(p *physical) { p.api = 1<<22 | 1<<12; p.info.API = "1.1.0" }, "it supports Vulkan 1.1.0, expected at least 1.2"},
		{func(p *physical) { p.limits.maxInvocations = 128 }, "128 invocations"},
		{func(p *physical) { p.limits.sharedBytes = 16 << 10 }, "16 KiB"},
		{func(p *physical) { p.limits.buffers = 8 }, "8 storage buffers"},
		{func(p *physical) { p.info.Missing = "it has no queue" }, "it has no queue"},
	} {
		p := sufficient
		c.change(&p)
		if p.checkRequirements(operations, compute); (p.info.Missing == "") != (c.want == "") ||
			!strings.Contains(p.info.Missing, c.want) {
			t.Errorf("missing %q, want %q", p.info.Missing, c.want)
		}
	}
	for _, s := range [][2]uint32{{0x3, compute}, {operations, 0x1f}} {
		p := sufficient
		if p.checkRequirements(s[0], s[1]); !strings.HasPrefix(p.info.Missing, "its subgroups") {
			t.Errorf("subgroup operations %#x in stages %#x: missing %q, want one about subgroups", s[0], s[1],
				p.info.Missing)
		}
	}
}
