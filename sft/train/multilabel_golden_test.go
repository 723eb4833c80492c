package train

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// multiLabelFolders lists the golden folders of multi-label models: "multilabel" holds logits and
// gradients, "train_multilabel" training steps.
var multiLabelFolders = map[string]func(c *config.Config){
	"multilabel": func(c *config.Config) {
		c.NumLayers, c.NumSampledTokens, c.Thresholds = 2, 7,
			[]float64{0.25, 0.5, 0.75}
	},
	"train_multilabel": func(c *config.Config) { c.NormPosition = "post" },
}

// writeMultiLabel writes a golden folder with results of the float64 reference.
func writeMultiLabel(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GoldenConfig(config.MultiLabel)
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(9, 1))
	for i := range examples {
		examples[i].Labels = []int32{}
		for label := range int32(c.NumLabels) {
			if random.IntN(2) == 0 {
				examples[i].Labels = append(examples[i].Labels, label)
			}
		}
	}
	writeGolden(t, dir, c, examples, modeltest.Reference.MultiLabelLoss)
}
