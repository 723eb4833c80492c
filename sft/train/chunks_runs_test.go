package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/model"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// TestChunkGradientsOfRuns compares gradients with the slope of the loss along them, for documents that take several
// runs of chunks. It checks that a document has the same loss alone and in a batch.
func TestChunkGradientsOfRuns(t *testing.T) {
	for _, task := range []string{config.Tagging, config.FillMask, config.Classification} {
		c := configtest.WithTask(configtest.TrainingConfig(), task)
		c.NumLayers, c.Chunks = 2, &config.Chunks{Rule: "content", Average: 256, Exports: 3, Layers: 1}
		c.MaxLength = 1 << 14
		m := modeltest.RandomModel(c, 3)
		examples := configtest.RandomExamples(c, rand.New(rand.NewPCG(8, 8)), 4000, 10_000)
		d := model.Drawing{Mode: model.EvaluateMode, Seed: c.SamplerSeed}
		g, b := weightedGradient(t, m, 1, cpu.New(2), examples, d, nil)
		if _, alone := weightedGradient(t, m, 1, cpu.New(2), examples[:1], d, nil); alone.loss[0] != b.loss[0] {
			t.Errorf("%s: a loss of %v alone, %v with another document, want equal losses", task, alone.loss[0],
				b.loss[0])
		}
		for _, name := range []string{"head.context.weight", "layers.1.mlp.fc2.weight", "head.out.weight"} {
			p, ok := m.Parameters.Lookup(name)
			if !ok {
				continue // only models with outputs per token have head.context
			}
			var direction []float64
			norm := 0.0
			for _, v := range m.Parameters.Slice(g, p) {
				direction = append(direction, float64(v)/float64(b.divisor))
				norm += direction[len(direction)-1] * direction[len(direction)-1]
			}
			norm = math.Sqrt(norm)
			lossAt := func(h float64) float64 {
				w := m.Parameters.Slice(m.Weights, p)
				for i, v := range direction {
					w[i] += float32(h * v / norm)
				}
				_, b := weightedGradient(t, m, 1, cpu.New(2), examples, d, nil)
				return float64(b.loss[0]+b.loss[1]) / float64(b.divisor)
			}
			const h = 3e-2
			above := lossAt(h)
			if slope := (above - lossAt(-2*h)) / (2 * h); !(math.Abs(slope-norm) <= 1e-3*norm) {
				t.Errorf("%s: %s: slope %g, want the gradient's norm %g", task, name, slope, norm)
			}
			lossAt(h) // restores the weights
		}
	}
}
