package config_test

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestMaxPoolingConfig checks valid poolings, and that the errors for invalid ones name the key.
func TestMaxPoolingConfig(t *testing.T) {
	for _, s := range []struct {
		change func(c *config.Config)
		want   string
	}{
		{func(c *config.Config) {}, ""},
		{func(c *config.Config) { c.Pooling = config.SoftmaxPooling }, ""},
		{func(c *config.Config) { c.Pooling = config.MaxPooling }, ""},
		{func(c *config.Config) { c.Pooling, c.PoolingSamples = config.MaxPooling, 1<<24 }, ""},
		{func(c *config.Config) { c.Pooling = "mean" }, `pooling: "mean", expected softmax, max`},
		{func(c *config.Config) { c.PoolingSamples = 512 },
			"pooling_samples: 512, expected 0: only max pooling samples tokens"},
		{func(c *config.Config) { c.Pooling, c.PoolingSamples = config.SoftmaxPooling, 3 },
			"pooling_samples: 3, expected 0: only"},
		{func(c *config.Config) { c.Pooling, c.PoolingSamples = config.MaxPooling, -1 },
			"pooling_samples: -1, expected 0 to 16777216"},
		{func(c *config.Config) { c.Pooling, c.PoolingSamples = config.MaxPooling, 1<<24+1 },
			"pooling_samples: 16777217, expected 0 to 16777216"},
		{func(c *config.Config) { *c = *configtest.WithTask(c, config.Tagging); c.Pooling = config.MaxPooling },
			`pooling: "max", expected none, because task tagging`},
		{func(c *config.Config) {
			*c = *configtest.WithTask(c, config.FillMask)
			c.Pooling = config.SoftmaxPooling
		},
			`pooling: "softmax", expected none, because task fill-mask`},
	} {
		c := configtest.TinyConfig()
		s.change(c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if (s.want == "") != (got == "") || !strings.HasPrefix(got, s.want) {
			t.Errorf("error %q, expected %q", got, s.want)
		}
	}
}
