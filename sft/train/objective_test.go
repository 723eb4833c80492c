package train

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// manyTerms is a classification whose loss is divided by termsPerExample times the number of examples,
// as if each example had several predictions.
type manyTerms struct{ model.Objective }

const termsPerExample = 4 // a power of two: dividing by it is exact

func (manyTerms) Divisor(_ *config.Config, batch []seq.Example, _ model.Drawing) int {
	return termsPerExample * len(batch)
}

// TestDivisor checks that loss and gradient are divided by the objective's divisor, and the number of
// correct predictions by the number of examples.
func TestDivisor(t *testing.T) {
	train, val := tinySplits(t, config.Classification)
	linesOf := func() (lines []StepReport) {
		config, settings := configtest.TrainingConfig(), runSettings()
		settings.LearningRate = 0
		must.Succeed(t, trainNew(t, modeltest.RandomModel(config, 1), settings, options(t.TempDir(), func(event any) {
			if r, ok := event.(StepReport); ok {
				lines = append(lines, r)
			}
		}), cpu.New(2), train, val))
		return lines
	}
	one, original := linesOf(), model.Objectives[config.Classes]
	model.Objectives[config.Classes] = manyTerms{original}
	t.Cleanup(func() { model.Objectives[config.Classes] = original })
	many := linesOf()
	if len(one) < 2 || len(many) != len(one) {
		t.Fatalf("got %d lines, then %d, want the same number, at least 2", len(one), len(many))
	}
	for i, r := range many {
		if *r.Accuracy != *one[i].Accuracy || r.Loss != one[i].Loss/termsPerExample ||
			math.Abs(r.GradNorm/one[i].GradNorm*termsPerExample-1) > 1e-6 {
			t.Errorf("line %d: accuracy %v, loss %v, norm %v; want %v, %v, about %v", i, *r.Accuracy, r.Loss,
				r.GradNorm, *one[i].Accuracy, one[i].Loss/termsPerExample, one[i].GradNorm/termsPerExample)
		}
	}
}

// TestOldInterval checks that LoadCheckpoint sets a missing divisor to the number of examples. Every task
// had this divisor when checkpoints did not store it. A stored divisor does not change.
func TestOldInterval(t *testing.T) {
	for divisor, want := range map[int]int{0: 3, 12: 12} {
		dir := t.TempDir()
		config := configtest.TrainingConfig()
		m := modeltest.RandomModel(config, 1)
		c := &Checkpoint{Settings: runSettings(), Config: config, weights: m.Weights,
			moment1: m.Weights, moment2: m.Weights,
			State: State{Step: 1, Update: 1, Interval: interval{Examples: 3, Divisor: divisor, Steps: 1}}}
		must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, model.CheckpointFile)), 0o777))
		must.Succeed(t, c.save(dir, m.Parameters))
		got, err := LoadCheckpoint(dir)
		if err != nil || got.State.Interval.Divisor != want {
			t.Errorf("stored divisor %d: got %+v, error %v, expected the divisor %d", divisor,
				got.State.Interval, err, want)
		}
	}
}
