package train

import (
	"math"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func validSettings() Settings {
	return Settings{Epochs: 3, Batch: 4, LearningRate: 1e-3, WeightDecay: 0.01, StepSize: 20, DecayRate: 0.9,
		MaxGradNorm: 1, Warmup: "untuned", Seed: 1, LogEvery: 4}
}

func TestSettings(t *testing.T) {
	if s := validSettings(); s.Validate() != nil {
		t.Fatal(s.Validate())
	}
	nan, inf := math.NaN(), math.Inf(1)
	for name, change := range map[string]func(s *Settings){
		"epochs":           func(s *Settings) { s.Epochs = 0 },
		"steps":            func(s *Settings) { s.Steps = -1 },
		"batch":            func(s *Settings) { s.Batch = 0 },
		"lr":               func(s *Settings) { s.LearningRate = nan },
		"lr +Inf":          func(s *Settings) { s.LearningRate = inf },
		"lr -":             func(s *Settings) { s.LearningRate = -1 },
		"weight-decay":     func(s *Settings) { s.WeightDecay = -0.1 },
		"step-size":        func(s *Settings) { s.StepSize = 0 },
		"decay-rate":       func(s *Settings) { s.DecayRate = 1.1 },
		"decay-rate NaN":   func(s *Settings) { s.DecayRate = nan },
		`schedule "cosin"`: func(s *Settings) { s.Schedule = "cosin" },
		"final-rate 0.1":   func(s *Settings) { s.FinalRate = 0.1 },
		"step-size 20":     func(s *Settings) { s.Schedule = cosine },
		"decay-rate 0.9":   func(s *Settings) { s.Schedule, s.StepSize = linear, 0 },
		"final-rate 1.5": func(s *Settings) {
			s.Schedule, s.StepSize, s.DecayRate,
				s.FinalRate = cosine, 0, 0, 1.5
		},
		"final-rate NaN": func(s *Settings) {
			s.Schedule, s.StepSize, s.DecayRate,
				s.FinalRate = cosine, 0, 0, nan
		},
		"max-grad-norm":       func(s *Settings) { s.MaxGradNorm = inf },
		"log-every":           func(s *Settings) { s.LogEvery = 0 },
		"embedding-init":      func(s *Settings) { s.EmbeddingInit = "ones" },
		"token-deletion":      func(s *Settings) { s.TokenDeletion = 1 },
		"token-deletion 0":    func(s *Settings) { s.TokenDeletion = 0.99999999 },
		"token-deletion N":    func(s *Settings) { s.TokenDeletion = nan },
		"token-replacement":   func(s *Settings) { s.TokenReplacement = -0.1 },
		"eval-every":          func(s *Settings) { s.EvalEvery = -1 },
		"patience":            func(s *Settings) { s.Patience = -1 },
		"warmup":              func(s *Settings) { s.Warmup = "tuned" },
		`warmup ""`:           func(s *Settings) { s.Warmup = "" },
		"-5":                  func(s *Settings) { s.Warmup = "-5" },
		"stages not limited":  func(s *Settings) { s.Stages = []Stage{{Steps: 3, Length: 8}, {Steps: 3}} },
		"stages with 0 steps": func(s *Settings) { s.Stages = []Stage{{Length: 8}} },
		"at most -8 tokens":   func(s *Settings) { s.Stages = []Stage{{Steps: 3, Length: -8}} },
		"the first -4 rows":   func(s *Settings) { s.Stages = []Stage{{Steps: 3, Rows: -4}} },
		"the last -4 rows":    func(s *Settings) { s.Stages = []Stage{{Steps: 3, LastRows: -4}} },
		"with 2 limits":       func(s *Settings) { s.Stages = []Stage{{Steps: 3, Length: 8, Rows: 4}} },
		"with 3 limits":       func(s *Settings) { s.Stages = []Stage{{Steps: 3, Length: 8, Rows: 4, LastRows: 1}} },
	} {
		s := validSettings()
		change(&s)
		must.Fail(t, name, name)(s.Validate())
	}
}
