package lra

import "github.com/sftseq/sftseq/sft"

// pathfinderPaper is the published configuration.
var pathfinderPaper = &Preset{
	Name:        "paper",
	Description: "the published configuration: 6 layers of 128, 200 epochs",
	Config:      pathfinderPaperConfig(),
	Settings:    published(200, 64, 0.01),
	Data:        GenerateOptions{Train: 160000, Val: 20000, Test: 20000, Seed: 1},
	DataName:    "pathfinder-2",
}

func pathfinderPaperConfig() sft.Config {
	c := encoder(6, 128, 512, 256)
	c.EmbeddingDropout, c.FeedForward = 0.1, 0.2
	return c
}

// pathfinderQuick learns the easiest of the three official splits, from shorter contours
// on: a model that begins with long ones stays at chance.
var pathfinderQuick = &Preset{
	Name:        "quick",
	Description: "contours of 6 dashes, the easiest split, in minutes on two cores",
	Config:      pathfinderTracer(),
	Settings:    pathfinderQuickSettings(),
	Data: GenerateOptions{Train: 60000, Val: 2000, Test: 2000, Seed: 1,
		Pathfinder: &PathfinderRule{Contour: 6, Distractors: 5}, PathfinderShortest: 1},
	DataName: "pathfinder-quick-3",
}

// pathfinderTracer reads around each pixel its row and its column, which is a dilation
// of the images' width, and both diagonals, one pixel more and less.
func pathfinderTracer() sft.Config {
	c := encoder(6, 64, 128, 16)
	c.Relative = "none"
	for _, dilation := range []int{1, size, size - 1, size + 1} {
		c.Convolutions = append(c.Convolutions, sft.Convolution{KernelSize: 7, Dilation: dilation})
	}
	return c
}

func pathfinderQuickSettings() sft.Settings {
	s := quick(1, 16, 0.01)
	SetSchedule(&s, "cosine")
	s.EvalEvery, s.LogEvery = 1000, 100
	s.Stages = []sft.Stage{{Steps: 1800, Rows: 30000}}
	return s
}
