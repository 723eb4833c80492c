package config_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestTemperatureIsChecked: of a configuration, and not kept by a model that starts from it.
func TestTemperatureIsChecked(t *testing.T) {
	c := configtest.TrainingConfig()
	for _, bad := range []float64{-1, 0.01, 1000, math.NaN(), math.Inf(1)} {
		c.Temperature = bad
		must.Fail(t, "temperature: ", "temperature", bad)(c.Validate())
	}
	c.Temperature = 2
	path := filepath.Join(t.TempDir(), "config.json")
	must.Succeed(t, c.Write(path))
	if again := must.Get(config.Read(path))(t); again.Temperature != 2 {
		t.Errorf("temperature %g", again.Temperature)
	}
	must.Succeed(t, c.DescribeData(seq.Spec{Task: config.Classification, VocabSize: 9,
		Tokenizer: []byte(`{"type":"ids","vocab":9}`), LabelNames: []string{"a", "b"}}))
	if c.Temperature != 0 {
		t.Errorf("a model that starts from another keeps its temperature %g", c.Temperature)
	}
}
