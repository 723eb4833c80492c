package train

import (
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// taggingFolders lists the golden folders of tagging models: "tagging" holds logits and gradients,
// "train_tagging" training steps.
var taggingFolders = map[string]func(c *config.Config){
	"tagging":       func(c *config.Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_tagging": func(c *config.Config) { c.NormPosition = "post" },
}

// taggingWords is the tokenizer of the folders. It splits a text into words with positions.
const taggingWords = `{"type":"words","words":["the","old","man","and","ann","lee","met","zoë","in","new","york","went","to","sea",".",","]}`

// writeTagging writes a golden folder with results of the float64 reference. The tokens of the second
// sequence and about a third of the other tokens have no label.
func writeTagging(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GoldenConfig(config.Tagging)
	c.Tokenizer = []byte(taggingWords)
	change(c)
	examples := goldenSequences()
	random := rand.New(rand.NewPCG(8, 2))
	for i := range examples {
		examples[i].Labels = goldenTags(c, random, len(examples[i].A), i)
	}
	writeGolden(t, dir, c, examples, modeltest.Reference.TaggingLoss)
}

// goldenTags returns labels for the n tokens of sequence i.
func goldenTags(c *config.Config, random *rand.Rand, n, i int) (labels []int32) {
	for range n {
		label := random.Int32N(int32(c.NumLabels))
		if random.IntN(3) == 0 || i == 1 {
			label = seq.NoLabel
		}
		labels = append(labels, label)
	}
	return labels
}
