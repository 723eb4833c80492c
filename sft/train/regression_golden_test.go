package train

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// regressionFolders lists the golden folders of models that predict numbers: logits and gradients,
// or training steps in "train_" folders.
var regressionFolders = map[string]func(c *config.Config){
	"regression":       func(c *config.Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_regression": func(c *config.Config) { c.NormPosition, c.RegressionLoss = "post", config.Squared },
	"ngrams":           func(c *config.Config) { c.NGrams = configtest.TokenNGrams() },
	"ngrams_bytes": func(c *config.Config) {
		c.VocabSize, c.NGrams, c.MaxLength = config.ByteVocabulary, configtest.ByteNGrams(), 128
		c.NGrams.MaxWords = 0
	},
}

// writeRegression writes a golden folder with results of the float64 reference.
func writeRegression(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GoldenConfig(config.Regression)
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(8, 1))
	for i := range examples {
		for _, n := range c.Numbers {
			examples[i].Numbers = append(examples[i].Numbers, float32(n.Mean+n.Deviation*random.NormFloat64()))
		}
	}
	writeGolden(t, dir, c, examples, modeltest.Reference.LossOfNumbers)
}
