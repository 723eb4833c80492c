package lra

import "github.com/sftseq/sftseq/sft/train"

// peptidesPresets returns the presets of a peptide task. The published configurations differ in the
// learning rate and the weight decay. The task's metric selects the saved model.
func peptidesPresets(rate, weightDecay float64, measure string) []*Preset {
	selected := func(s *train.Settings) { s.Select = measure }
	return []*Preset{{
		Name:        "quick",
		Description: "a small model",
		Config:      featuredQuick(2, 64),
		Settings:    with(falling(30, 0.01), selected),
	}, {
		Name:        "paper",
		Description: "published: 4 layers of 144, 600 epochs",
		Config:      featured(4, 144, 75, 0.3, 0),
		Settings: with(with(stepped(600, rate, weightDecay, 0.8), selected),
			func(s *train.Settings) { s.MaxGradNorm = 16 }),
	}}
}
