package config_test

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

func withNGrams(c *config.Config) *config.Config {
	c.NGrams = configtest.TokenNGrams()
	return c
}

// TestNGramConfig checks the errors for invalid values.
func TestNGramConfig(t *testing.T) {
	for want, change := range map[string]func(c *config.Config){
		"ngrams.slots: expected a power of two from 1024 to 16777216, found 1099511627776": func(c *config.Config) {
			c.NGrams.Slots = 1 << 40
		},
		"ngrams.slots: 16777216, expected at most 1048576 for hidden_size 1024": func(c *config.Config) {
			c.NGrams.Slots, c.HiddenSize = 1<<24, 1024
		},
		"ngrams.max_n: expected 1 (min_n) to 8, found 0": func(c *config.Config) { c.NGrams.MaxN = 0 },
		"ngrams.units: words":                            func(c *config.Config) { c.NGrams.Units = ngram.Words },
		"ngrams.units: bytes, expected tokens, because the vocabulary has 9": func(c *config.Config) {
			c.NGrams.Units = ngram.Bytes
		},
		"ngrams.max_features: 1025, expected 0 to 1024, the number of slots": func(c *config.Config) {
			c.NGrams.Slots, c.NGrams.MaxFeatures = 1024, 1025
		},
		"ngrams.max_features: 9, expected 0 for task retrieval": func(c *config.Config) {
			*c = *withNGrams(configtest.WithTask(configtest.TinyConfig(), config.Retrieval))
			c.NGrams.MaxFeatures = 9
		},
		"ngrams.bits: 4, expected 8, or 0 for floats": func(c *config.Config) { c.NGrams.Bits = 4 },
		"ngrams.bits: 8, expected 0, because hidden_size 6": func(c *config.Config) {
			c.NGrams.Bits, c.HiddenSize, c.SinusoidDim, c.NumHeads = 8, 6, 6, 2
		},
		"ngrams.dropout: 1, expected 0": func(c *config.Config) { c.NGrams.Dropout = 1 },
		"none for task fill-mask": func(c *config.Config) {
			*c = *withNGrams(configtest.WithTask(configtest.TinyConfig(), config.FillMask))
		},
	} {
		c := configtest.TinyConfig()
		c.NGrams = configtest.TokenNGrams()
		must.Succeed(t, c.Validate())
		change(c)
		must.Fail(t, want)(c.Validate())
	}
}

// TestParseNGrams checks the values that ParseNGrams returns, and that it parses the result of String
// to the same values. It also checks the errors for malformed texts.
func TestParseNGrams(t *testing.T) {
	for text, want := range map[string]config.NGrams{
		"tokens:1-2:2^18":     {"tokens", 1, 2, 1 << 18, 2, 0, 0, 0, 0.1},
		"tokens:3:4096:1":     {"tokens", 3, 3, 4096, 1, 0, 0, 0, 0.1},
		"bytes:3-6+2:2^20:5":  {"bytes", 3, 6, 1 << 20, 5, 2, 0, 0, 0.1},
		"bytes:3-6:2^20:1:50": {"bytes", 3, 6, 1 << 20, 1, 0, 50, 0, 0.1},
	} {
		n := must.Get(config.ParseNGrams(text))(t)
		if *n != want {
			t.Errorf("%s: %+v, expected %+v", text, n, want)
		}
		if again := must.Get(config.ParseNGrams(n.String()))(t); *again != want {
			t.Errorf("%s is parsed as %+v, expected %+v", n, again, want)
		}
	}
	for _, text := range []string{"", "tokens", "tokens:1-2", "tokens:1-x:2^18", "tokens:1-2:2^", "bytes:3-6+:2^18",
		"tokens:1-2:2^18:2:0", "tokens:1-2:2^18:2:2:2", "tokens:1-2:2^99", "tokens:1-2:2^-1"} {
		must.Fail(t, "expected UNITS:LENGTHS")(config.ParseNGrams(text))
	}
	must.Fail(t, "slots: expected a power of two")(config.ParseNGrams("tokens:1-2:2^30"))
}
