package sft

import (
	"math"
	"strings"
	"testing"
)

func validSettings() Settings {
	return Settings{Epochs: 3, Batch: 4, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9, MaxGradNorm: 1, Warmup: "untuned", Seed: 1, LogEvery: 4}
}

func TestLearningRate(t *testing.T) {
	for _, c := range []struct {
		warmup   string
		epoch, t int
		want     float64
	}{
		{"untuned", 0, 1, 1e-3 * 0.0005}, {"untuned", 0, 1000, 1e-3 * 0.5}, {"untuned", 0, 2000, 1e-3}, {"untuned", 0, 9000, 1e-3},
		{"10", 0, 1, 1e-4}, {"10", 0, 10, 1e-3}, {"10", 0, 11, 1e-3}, {"0", 0, 1, 1e-3}, {"1", 0, 1, 1e-3},
		{"0", 19, 5, 1e-3}, {"0", 20, 5, 0.9e-3}, {"0", 39, 5, 0.9e-3}, {"0", 40, 5, 0.81e-3}, {"10", 20, 5, 0.45e-3},
	} {
		s := validSettings()
		s.Warmup = c.warmup
		if got := s.learningRate(c.epoch, c.t); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("warmup %s, epoch %d, update %d: %v, expected %v", c.warmup, c.epoch, c.t, got, c.want)
		}
	}
}

func TestSettings(t *testing.T) {
	if s := validSettings(); s.Validate() != nil {
		t.Fatal(s.Validate())
	}
	nan, inf := math.NaN(), math.Inf(1)
	for name, change := range map[string]func(s *Settings){
		"epochs":        func(s *Settings) { s.Epochs = 0 },
		"steps":         func(s *Settings) { s.Steps = -1 },
		"batch":         func(s *Settings) { s.Batch = 0 },
		"lr":            func(s *Settings) { s.LearningRate = nan },
		"lr is +Inf":    func(s *Settings) { s.LearningRate = inf },
		"lr is -":       func(s *Settings) { s.LearningRate = -1 },
		"weight decay":  func(s *Settings) { s.WeightDecay = -0.1 },
		"step size":     func(s *Settings) { s.StepSize = 0 },
		"decay rate":    func(s *Settings) { s.DecayRate = 1.1 },
		"decay rate is": func(s *Settings) { s.DecayRate = nan },
		"max grad norm": func(s *Settings) { s.MaxGradNorm = inf },
		"log-every":     func(s *Settings) { s.LogEvery = 0 },
		"eval-every":    func(s *Settings) { s.EvalEvery = -1 },
		"patience":      func(s *Settings) { s.Patience = -1 },
		"warmup":        func(s *Settings) { s.Warmup = "tuned" },
		`warmup is ""`:  func(s *Settings) { s.Warmup = "" },
		"-5":            func(s *Settings) { s.Warmup = "-5" },
		"0 tokens":      func(s *Settings) { s.Stages = []Stage{{3, 8}, {3, 0}} },
		"0 steps":       func(s *Settings) { s.Stages = []Stage{{0, 8}} },
	} {
		s := validSettings()
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
