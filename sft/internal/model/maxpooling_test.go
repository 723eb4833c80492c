package model

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestMaxPoolingSample checks that the sample of the pooling has the configured size and its own
// rows, and that its random numbers differ from those of the layers.
func TestMaxPoolingSample(t *testing.T) {
	c := configtest.TinyConfig()
	c.VocabSize, c.NumLayers, c.NumSampledTokens, c.Pooling, c.PoolingSamples = 2, 1, 6, config.MaxPooling, 9
	p := must.Get(newPass(c, NewParameters(c), wholeModel.shapeFor(c, 64, 1, 6, 0), TrainMode))(t)
	var samples []tensor.Sample
	for _, k := range p.Program.Launches {
		if s, ok := k.(tensor.Sample); ok {
			samples = append(samples, s)
		}
	}
	if len(samples) != 2 || samples[0].K != 6 || samples[1].K != 9 || samples[1].Layer != 1 || !samples[1].Noise ||
		samples[1].Top.Rows != tensor.Pooled {
		t.Errorf("samples %+v, want 6 tokens in the layer, and 9 with noise and layer index 1 in the pooling", samples)
	}
}
