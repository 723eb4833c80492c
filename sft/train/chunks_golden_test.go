package train

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// chunkFolders lists the golden folders of chunked models. Folders with the prefix train_ hold
// training steps, the others logits and gradients.
var chunkFolders = map[string]func(c *config.Config){
	"chunks": func(c *config.Config) {
		c.Chunks = &config.Chunks{Rule: "content", Average: 16, Exports: 3, Layers: 1}
	},
	"train_chunks": func(c *config.Config) {
		c.NormPosition, c.DropToken = "post", 0.2
		c.Chunks = &config.Chunks{Rule: "fixed", Average: 16, Exports: 4, Layers: 1}
	},
	"chunks_tagging": func(c *config.Config) {
		configtest.WithTask(c, config.Tagging).Tokenizer = []byte(taggingWords)
		c.Chunks = &config.Chunks{Rule: "content", Average: 16, Exports: 3, Layers: 1}
	},
	"train_chunks_fill_mask": func(c *config.Config) {
		configtest.WithTask(c, config.FillMask).DropToken = 0.2
		c.Chunks = &config.Chunks{Rule: "content", Average: 16, Exports: 4, Layers: 1}
	},
}

// writeChunks writes a golden folder with results of the float64 reference.
func writeChunks(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GoldenConfig(config.Classification)
	c.NumLayers = 2
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(9, 2))
	for i := range examples {
		if c.PerToken() {
			examples[i].Labels = goldenTags(c, random, len(examples[i].A), i)
			continue
		}
		examples[i].Label = random.Int32N(int32(c.NumLabels))
	}
	lossOf := modeltest.Reference.ClassificationLoss
	switch c.Kind() {
	case config.Tags:
		lossOf = modeltest.Reference.TaggingLoss
	case config.MaskedTokens:
		lossOf = modeltest.Reference.FillMaskLoss
	}
	writeGolden(t, dir, c, examples, lossOf)
}
