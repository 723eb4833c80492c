package lra

import (
	"encoding/json"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// Pathfinder is the task of deciding whether two marks in an image are on the same dashed contour
// (Linsley et al. 2018). A row is the 1,024 gray pixels of the image, row by row.
var Pathfinder = &Task{
	Name:        "pathfinder",
	Description: "Whether two marks are on one dashed contour, in 32×32 pixels.",
	Kind:        seq.Classification,
	Tokenizer:   json.RawMessage(`{"type":"pixel"}`),
	Labels:      []string{"apart", "joined"},
	Presets: []*Preset{pathfinderQuick, pathfinderHour, pathfinderNight, pathfinderGPU,
		pathfinderPaper},
	Import: &Importer{
		Usage: "convert the official folders of images and metadata",
		Description: `Reads one of the official folders, such as curv_contour_length_14. Its files
metadata/*.npy, in the order of their numbers, list the images and labels. Leaves out
files of zero bytes, which exist in the release. The first 80% are for training, the next
10% for validation, the last for testing.`,
		Example: "sftseq data convert pathfinder --from lra_release/pathfinder32/curv_contour_length_14 --to data/pathfinder",
		convert: convertPathfinder,
	},
	Generator: &Generator{
		Usage: "generate Pathfinder with the rules of the Long Range Arena",
		Description: `Draws images of 32×32 pixels with two long dashed contours, short distractors,
and two marks, which are at the two ends of one contour (joined) or at one end of each
(apart). The same flags produce the same files on every machine. Published results usually use
contours of 14 dashes; contours of 9 and 6 dashes are easier.`,
		Example: "sftseq data generate pathfinder --out data/pathfinder --train 20000 --val 2000 --test 2000",
		Rule:    func() Rule { rule := LRAPathfinder; return &rule },
	},
}

// pathfinderPaper is the published configuration.
var pathfinderPaper = &Preset{
	Name:        "paper",
	Description: "published: 6 layers of 128 channels, 200 epochs",
	Config: modified(encoderConfig(6, 128, 512, 256), func(c *sft.Config) {
		c.EmbeddingDropout,
			c.FeedForward = 0.1, 0.2
	}),
	Settings: paperSettings(200, 64, 0.01),
	Data:     GenerateOptions{Train: 160000, Val: 20000, Test: 20000, Seed: 1},
	DataName: "pathfinder-2",
}

// pathfinderQuick trains on the easiest of the three official rules. It begins with shorter
// contours, because a model that begins with long contours stays at chance level.
var pathfinderQuick = &Preset{
	Name:        "quick",
	Description: "contours of 6 dashes, the easiest split",
	Config:      pathfinderTracer(),
	Settings:    pathfinderQuickSettings(),
	Data: GenerateOptions{Train: 60000, Val: 2000, Test: 2000, Seed: 1,
		Rule: &PathfinderRule{Contour: 6, Distractors: 5, Shortest: 1}},
	DataName: "pathfinder-quick-3",
	Result:   &Result{73.35, "nearest class mean", 50.10, 26},
}

// pathfinderTracer returns a model whose convolutions read, around each pixel, its row, its column
// and both diagonals. The dilations are 1, the width of the image, and the width plus and minus
// one.
func pathfinderTracer() sft.Config {
	c := encoderConfig(6, 64, 128, 16)
	c.Relative = "none"
	for _, dilation := range []int{1, size, size - 1, size + 1} {
		c.Convolutions = append(c.Convolutions, config.Convolution{KernelSize: 7, Dilation: dilation})
	}
	return c
}

func pathfinderQuickSettings() train.Settings {
	s := quickSettings(1, 16, 0.01)
	SetSchedule(&s, "cosine")
	s.EvalEvery, s.LogEvery = 1000, 100
	s.Stages = []train.Stage{{Steps: 1800, Rows: 30000}}
	return s
}

// pathfinderHour is the model of pathfinderQuick on more images, to reduce overfitting.
var pathfinderHour = &Preset{
	Name:        "hour",
	Description: "the same on more images",
	Config:      pathfinderTracer(),
	Settings: modified(pathfinderQuickSettings(),
		func(s *train.Settings) {
			s.Stages = []train.Stage{{Steps: 1800, Rows: 34000}, {Steps: 2000, Rows: 67000}}
		}),
	Data: GenerateOptions{Train: 100000, Val: 2000, Test: 2000, Seed: 1,
		Rule: &PathfinderRule{Contour: 6, Distractors: 5, Shortest: 1}},
	DataName: "pathfinder-hour-1",
	Result:   &Result{78.65, "nearest class mean", 49.75, 47},
}

// pathfinderNight trains on the hardest split in eight hours on two cores: its stages have 1.4 billion
// tokens, at 50,000 tokens per second.
var pathfinderNight = pathfinderHard("night", "contours of 14 dashes, the hardest split, in about 8 hours", 32, 1e-3,
	14000, 16000)

// pathfinderGPU is pathfinderNight with larger batches, a higher learning rate and more steps. Training takes
// half an hour on a large GPU.
var pathfinderGPU = pathfinderHard("gpu", "the same in about half an hour on a large GPU", 64, 1.5e-3, 20000, 30000)

// pathfinderHard returns a preset for the hardest split. Training begins with contours of one to three
// dashes. It draws new images in every epoch, because a model of this size memorises 120,000 images. The
// last two parameters are the numbers of steps on contours of all lengths and, at the end, on contours of
// 14 dashes only.
func pathfinderHard(name, description string, batch int, rate float64, all, hardest int) *Preset {
	s := quickSettings(1, batch, 0.01)
	SetSchedule(&s, "cosine")
	s.LearningRate, s.Fresh, s.EvalEvery, s.LogEvery = rate, true, 2000, 100
	s.Stages = pathfinderHardStages(4000, 3000, 3000, 4000, all, hardest)
	s.Steps = s.StageSteps()
	return &Preset{Name: name, Description: description, Config: pathfinderDeepTracer(), Settings: s,
		Data: pathfinderHardData(), DataName: "pathfinder-" + name + "-1"}
}

// pathfinderDeepTracer is pathfinderTracer with more layers and more sampled tokens, for longer contours.
func pathfinderDeepTracer() sft.Config {
	return modified(pathfinderTracer(), func(c *sft.Config) { c.NumLayers, c.NumSampledTokens = 8, 32 })
}

// pathfinderHardData has 15,000 training images of each length from 1 to 14 dashes, short contours
// first.
func pathfinderHardData() GenerateOptions {
	rule := LRAPathfinder
	rule.Shortest = 1
	return GenerateOptions{Train: 210000, Val: 4000, Test: 20000, Seed: 1, Rule: &rule}
}

// pathfinderHardStages returns stages with these numbers of steps on contours of up to 3, 5, 7, 10 and
// 14 dashes, and on contours of exactly 14 dashes, for the rows of pathfinderHardData.
func pathfinderHardStages(three, five, seven, ten, all, hardest int) []train.Stage {
	return []train.Stage{
		{Steps: three, Rows: 3 * 15000}, {Steps: five, Rows: 5 * 15000}, {Steps: seven, Rows: 7 * 15000},
		{Steps: ten, Rows: 10 * 15000}, {Steps: all, Rows: 14 * 15000}, {Steps: hardest, LastRows: 15000},
	}
}
