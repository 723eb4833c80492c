package lra

import "github.com/sftseq/sftseq/sft"

// componentsPresets hold back what a model learns by heart: the series of a class are few, and those of
// the test are others. Each of their many heads weighs distances by its own scale.
var componentsPresets = []*Preset{
	componentsPreset("quick", "a model of one layer with 16 heads and much dropout, on clouds that training scales and moves", "82.32% of the test meshes of --seed 1 (moments and radii: 72.67%), some five minutes of two cores with AVX2"),
	componentsHour(),
}

// componentsHour are wider models, which err on other meshes if they begin with other seeds.
func componentsHour() *Preset {
	p := componentsPreset("hour", "two models of twice that width, of seeds 1 and 2, which answer together",
		"84.61% of the test meshes, the mean of three splits (moments and radii: 73.61%), some fifteen minutes a model of one core with AVX2")
	p.Seeds = "1,2"
	c := &p.Config
	c.HiddenSize, c.SinusoidDim, c.IntermediateSize = 128, 128, 256
	return p
}

func componentsPreset(name, description, measured string) *Preset {
	p := chosen(clouds(1886, 512), name, description, func(c *sft.Config, s *sft.Settings) {
		s.Epochs, s.WeightDecay = 18, 0.1
		s.PointScale, s.PointShift = []float64{0.8, 1.25}, 0.02
		c.NumLayers, c.NumHeads = 1, 16
		c.DropToken, c.AttentionDropout, c.EmbeddingDropout, c.FeedForward = 0.3, 0.2, 0.2, 0.3
	})
	p.Measured = measured
	return p
}

// componentPartsPresets are what train custom chooses, for fewer epochs.
var componentPartsPresets = []*Preset{
	componentPartsPreset("quick", "a small model, trained for 2 epochs", 2, "instance IoU 0.449 on the test meshes (most frequent part: 0.442)"),
	componentPartsPreset("hour", "the same model, trained for 12 epochs", 12, "instance IoU 0.477 on the test meshes (most frequent part: 0.442), some five minutes of one core with AVX-512"),
}

func componentPartsPreset(name, description string, epochs int, measured string) *Preset {
	p := chosen(clouds(4524, 256), name, description, func(_ *sft.Config, s *sft.Settings) { s.Epochs = epochs })
	p.Measured = measured
	return p
}
