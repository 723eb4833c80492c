package lra

// vocPaper is the published configuration.
var vocPaper = &Preset{
	Name:        "paper",
	Description: "published: 4 layers of 160, 600 epochs",
	Config:      featured(4, 160, 150, 0.3, 0),
	Settings:    stepped(600, 1e-3, 0.1, 0.9),
}

// vocQuick is a small version of the published model.
var vocQuick = &Preset{
	Name:        "quick",
	Description: "a small model",
	Config:      featuredQuick(2, 64),
	Settings:    falling(10, 0.01),
}
