//go:build cgo

package vk

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// tinyModel returns a tiny model with its training and validation data.
func tinyModel(t *testing.T) (m *sft.Model, train, val *seq.File) {
	t.Helper()
	c := &sft.Config{
		ModelType: "sft",
		Task:      config.Classification,
		Inputs:    config.Inputs{VocabSize: 9, MaxLength: 4096, Tokenizer: json.RawMessage(`{"type":"listops"}`)},
		Encoder: config.Encoder{HiddenSize: 8, NumLayers: 1, IntermediateSize: 8, NormPosition: "pre",
			LayerNormEps: 1e-5, Convolutions: []config.Convolution{{KernelSize: 5, Dilation: 60},
				{KernelSize: 3, Dilation: 1}}, MovingAverages: 5},
		Attention: config.Attention{NumHeads: 2, SinusoidDim: 4, SinusoidBase: 100, Score: "maxout",
			Probability: "leaky_relu", Relative: "sinusoid_hadamard"},
		Sampler: config.Sampler{NumSampledTokens: 5, SamplerSeed: 7, SamplerNoise: "train"},
		Head:    config.Head{NumLabels: 3},
	}
	must.Succeed(t, c.Validate())
	b, err := seq.CreateDataset(t.TempDir(), seq.Spec{Task: c.Task, Name: "tiny", VocabSize: c.VocabSize}, false)
	must.Succeed(t, err)
	random := rand.New(rand.NewPCG(1, 7))
	for _, split := range []string{"train", "val"} {
		w := must.Get(b.Split(split))(t)
		for i := range 12 {
			e := seq.Example{Index: uint32(i), Label: random.Int32N(3), A: make([]int32, 1+random.IntN(20))}
			for j := range e.A {
				e.A[j] = random.Int32N(9)
			}
			must.Succeed(t, w.Write(e))
		}
		must.Succeed(t, w.Close())
	}
	d := must.Get(b.Finish(nil))(t)
	file := func(name string) *seq.File {
		f := must.Get(d.Open(name))(t)
		t.Cleanup(func() { f.Close() })
		return f
	}
	return sft.NewModel(c, 1), file("train"), file("val")
}

// TestLost checks that a training run ends with a LostError if the device is lost during the run.
// The last checkpoint is valid, and another device can resume from it.
func TestLost(t *testing.T) {
	d := open(t, Options{})
	m, rows, val := tinyModel(t)
	dir := filepath.Join(t.TempDir(), "run")
	s := train.Settings{Epochs: 3, Batch: 4, LearningRate: 0.01, StepSize: 1, DecayRate: 0.5,
		MaxGradNorm: 1, Warmup: "3", Seed: 5,
		LogEvery: 1, EvalEvery: 3}
	options := train.Options{Dir: dir, SaveEvery: time.Hour, Data: "tiny", Observe: func(event any) {
		if r, ok := event.(train.StepReport); ok && r.Step == 5 {
			waits := 0
			d.fault = func(call string, r int32) int32 {
				if call == "wait" {
					if waits++; waits == 2 {
						return deviceLost
					}
				}
				return r
			}
		}
	}}
	tr := must.Get(train.NewTrainer(m, s, d, rows, val, nil, options))(t)
	var lost *LostError
	if err := tr.Run(context.Background()); !errors.As(err, &lost) || lost.Silent {
		t.Fatalf("Run returned %v, want a LostError", err)
	}
	must.Check(t, tr.Close())
	if m, err := d.Allocate(1); err == nil {
		if err := m.Read(0, make([]uint32, 1)); !errors.As(err, &lost) {
			t.Errorf("reading from a lost device returned %v, want a LostError", err)
		}
	}
	from := must.Get(train.LoadCheckpoint(dir))(t)
	if from.State.Step != 3 {
		t.Fatalf("checkpoint of step %d, want 3", from.State.Step)
	}
	options.Observe = nil
	tr = must.Get(train.NewTrainer(nil, s, cpu.New(1), rows, val, from, options))(t)
	must.Check(t, tr.Run(context.Background()))
	if step := tr.State().Step; step != 9 {
		t.Errorf("the resumed run ended at step %d, want 9", step)
	}
	must.Check(t, tr.Close())
}

// TestMemoryIsFreed checks that the device's memory is free after a completed run, and after NewTrainer
// refuses a run that needs too much memory.
func TestMemoryIsFreed(t *testing.T) {
	d := open(t, Options{})
	m, rows, val := tinyModel(t)
	s := train.Settings{Steps: 3, Batch: 4, LearningRate: 0.01, StepSize: 1, DecayRate: 0.5,
		MaxGradNorm: 1, Warmup: "3", Seed: 5,
		LogEvery: 1, EvalEvery: 3}
	round := func() (bytes int64, blocks int) {
		tr := must.Get(train.NewTrainer(m, s, d, rows, val, nil,
			train.Options{Dir: t.TempDir(), SaveEvery: time.Hour}))(t)
		must.Succeed(t, errors.Join(tr.Run(context.Background()), tr.Close()))
		var memoryErr *config.MemoryError
		if _, err := train.NewTrainer(m, s, d, rows, val, nil,
			train.Options{Dir: t.TempDir(), Memory: 1 << 10}); !errors.As(err, &memoryErr) {
			t.Fatalf("NewTrainer returned %v, want a MemoryError", err)
		}
		if len(d.recordings) != 0 {
			t.Errorf("%d recordings remain, want none", len(d.recordings))
		}
		return usedBytes(d), len(d.heap.blocks)
	}
	bytes, blocks := round() // includes the constants of programs, which the device keeps
	if b, n := round(); b != bytes || n != blocks {
		t.Errorf("%d bytes in %d blocks are in use, want %d in %d as before", b, n, bytes, blocks)
	}
}
