package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestParameterShapes compares the names and shapes of all tensors with a table. Weight decay must apply
// only to the weights outside norms and to the gains of moving averages.
func TestParameterShapes(t *testing.T) {
	c := configtest.TinyConfig()
	c.NumLayers, c.Task, c.ResidualScale = 1, config.Retrieval, true
	c.Convolutions = []config.Convolution{{KernelSize: 5, Dilation: 1}, {KernelSize: 3, Dilation: 32}}
	c.MovingAverages = 2
	want := map[string][]int{"embed.weight": {9, 6}, "final_norm.weight": {6}, "final_norm.bias": {6},
		"head.pool.weight": {6}, "head.pool.bias": {1},
		"head.hidden.weight": {6, 24}, "head.hidden.bias": {6}, "head.out.weight": {3, 6}, "head.out.bias": {3}}
	for name, shape := range map[string][]int{"sampler.weight": {6}, "sampler.bias": {1}, "attn.q.weight": {6, 6},
		"attn.q.bias": {6}, "attn.k.weight": {6, 6},
		"attn.k.bias": {6}, "attn.v.weight": {6, 6}, "attn.v.bias": {6}, "attn.o.weight": {6, 6}, "attn.o.bias": {6},
		"attn.leak.weight": {2, 6}, "attn.leak.bias": {2},
		"attn.rel_mul.weight": {2, 4}, "attn.rel_mul.bias": {2}, "attn.rel_add.weight": {2, 4},
		"attn.rel_add.bias": {2}, "mlp.fc1.weight": {7, 6}, "mlp.fc1.bias": {7},
		"mlp.fc2.weight": {6, 7}, "mlp.fc2.bias": {6}, "norm1.weight": {6}, "norm1.bias": {6}, "norm2.weight": {6},
		"norm2.bias": {6}, "residual_scale": {1},
		"average.decay": {4, 6}, "average.gain": {4, 6}, "average.bias": {6}, "average.norm.weight": {6},
		"average.norm.bias": {6},
		"conv.0.weight":     {5, 6}, "conv.0.bias": {6}, "conv.0.norm.weight": {6}, "conv.0.norm.bias": {6},
		"conv.1.weight": {3, 6}, "conv.1.bias": {6}, "conv.1.norm.weight": {6}, "conv.1.norm.bias": {6}} {
		want["layers.0."+name] = shape
	}
	compare := func(c *config.Config) {
		t.Helper()
		p := NewParameters(c)
		if len(p.List) != len(want) {
			t.Errorf("%d tensors, expected %d", len(p.List), len(want))
		}
		for name, shape := range want {
			q, ok := p.Lookup(name)
			decay := strings.HasSuffix(name, ".weight") && !strings.Contains(name, "norm") ||
				strings.HasSuffix(name, "average.gain")
			if !ok || !slices.Equal(q.Shape, shape) || q.Decay != decay {
				t.Errorf("%s: found %v, %+v, expected shape %v, decay %v", name, ok, q, shape, decay)
			}
		}
	}
	compare(c)
	c.Relative, c.ResidualScale, c.NormPosition, c.Task, c.Convolutions = "none", false, "post",
		config.Classification, nil
	for name := range want {
		for _, removed := range []string{"rel_", "residual_scale", "final_norm", "head.hidden", "conv."} {
			if strings.Contains(name, removed) {
				delete(want, name)
			}
		}
	}
	compare(c)
}
