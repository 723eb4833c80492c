package train

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// averageFolders lists the golden folders of models with moving averages: "averages" holds logits
// and gradients, the other folder training steps.
var averageFolders = map[string]func(c *config.Config){
	"averages": func(c *config.Config) { c.NumLayers, c.NumSampledTokens, c.MovingAverages = 2, 7, 3 },
	"train_averages": func(c *config.Config) {
		c.NormPosition, c.DropToken, c.MovingAverages = "post", 0.2, 2
		c.Convolutions = []config.Convolution{{KernelSize: 3, Dilation: 2}}
	},
}

// writeAverages writes a golden folder with results of the float64 reference. Its last sequence has 150
// tokens, more than the longest initial half-life of an average, 128 tokens.
func writeAverages(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GoldenConfig(config.Classification)
	change(c)
	random := rand.New(rand.NewPCG(9, 3))
	long := seq.Example{Index: 5}
	for range 150 {
		long.A = append(long.A, 1+random.Int32N(16))
	}
	examples := append(goldenSequences(), long)
	for i := range examples {
		examples[i].Label = random.Int32N(int32(c.NumLabels))
	}
	writeGolden(t, dir, c, examples, modeltest.Reference.ClassificationLoss)
}
