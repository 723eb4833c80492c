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

// TestTemperatureIsChecked checks the errors for invalid temperatures, and that DescribeData drops
// the temperature of a model to start from.
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
		t.Errorf("temperature is read back as %g, want 2", again.Temperature)
	}
	must.Succeed(t, c.DescribeData(seq.Spec{Task: config.Classification, VocabSize: 9,
		Tokenizer: []byte(`{"type":"ids","vocab":9}`), LabelNames: []string{"a", "b"}}))
	if c.Temperature != 0 {
		t.Errorf("DescribeData: got temperature %g, want 0, not that of the model to start from", c.Temperature)
	}
}
