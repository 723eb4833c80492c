package lra

import "github.com/sftseq/sftseq/sft"

// peptidesFuncPaper is the published configuration.
var peptidesFuncPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 4 layers of 144, 600 epochs",
	Config:      featured(4, 144, 75, 0.3, 0),
	Settings:    with(peptides(stepped(600, 8e-4, 0.17, 0.8)), func(s *sft.Settings) { s.Select = "map" }),
}

// peptidesFuncQuick is a small model of the same kind.
var peptidesFuncQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      featuredQuick(2, 64),
	Settings:    with(falling(30, 0.01), func(s *sft.Settings) { s.Select = "map" }),
}

// peptidesStructPaper is the published configuration.
var peptidesStructPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 4 layers of 144, 600 epochs",
	Config:      featured(4, 144, 75, 0.3, 0),
	Settings:    with(peptides(stepped(600, 3e-4, 0.12, 0.8)), func(s *sft.Settings) { s.Select = "mae" }),
}

// peptidesStructQuick is a small model of the same kind.
var peptidesStructQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      featuredQuick(2, 64),
	Settings:    with(falling(30, 0.01), func(s *sft.Settings) { s.Select = "mae" }),
}

// peptides clips gradients where the paper's runs on peptides do.
func peptides(s sft.Settings) sft.Settings {
	s.MaxGradNorm = 16
	return s
}
