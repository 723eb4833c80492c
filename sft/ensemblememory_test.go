package sft

import (
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// TestEnsembleMemory checks that each of two models plans its passes for half of a device's memory.
func TestEnsembleMemory(t *testing.T) {
	m := NewModel(configtest.TrainingConfig(), 1)
	card := func(budget int64) configtest.Card { return configtest.Card{Device: cpu.New(1), Limit: budget} }
	limits := func(s *Scorer) model.PassLimits { return *s.runner.Limits(model.InferMode) }
	const budget = 4 << 20
	alone := func(budget int64) model.PassLimits {
		s := must.Get(NewScorer(m, card(budget)))(t)
		defer s.Close()
		return limits(s)
	}
	s := must.Get(NewEnsemble([]*Model{m, m}, card(budget)))(t)
	defer s.Close()
	whole, half := alone(budget), alone(budget/2)
	if whole == half {
		t.Fatalf("the limits do not depend on the budget: %+v", whole)
	}
	for _, one := range []*Scorer{s, s.others[0]} {
		if got := limits(one); got != half {
			t.Errorf("limits %+v, expected %+v", got, half)
		}
	}
}
