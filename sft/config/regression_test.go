package config_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestRegressionConfig checks that the names of the numbers come from the data set, and that invalid values
// are errors.
func TestRegressionConfig(t *testing.T) {
	spec := seq.Spec{Task: config.Regression, VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`),
		NumberNames: []string{"a", "b"}}
	c := configtest.TinyConfig()
	c.Task, c.LabelNames = "", []string{"x", "y", "z"}
	if err := c.DescribeData(spec); err != nil || c.Task != config.Regression ||
		c.NumLabels != 2 || c.LabelNames != nil ||
		c.Numbers[1] != (config.Number{Name: "b", Mean: 0, Deviation: 1}) {
		t.Errorf("got task %q, %d labels, label names %q, numbers %+v, error %v; want task %q, 2 labels, label names "+
			"nil, the second number b with mean 0 and deviation 1", c.Task, c.NumLabels, c.LabelNames, c.Numbers, err,
			config.Regression)
	}
	if c.Task != config.Regression {
		t.Error("the task of regression data is not regression")
	}
	spec.Task, spec.NumberNames = config.Classification, nil
	if err := c.DescribeData(spec); err != config.ErrNoNumbers {
		t.Errorf("data without numbers: error %v, want ErrNoNumbers", err)
	}
	for want, change := range map[string]func(c *config.Config){
		"numbers: 1 numbers":    func(c *config.Config) { c.Numbers = c.Numbers[:1] },
		"numbers[0]: mean NaN":  func(c *config.Config) { c.Numbers[0].Mean = math.NaN() },
		"numbers[1]: mean -100": func(c *config.Config) { c.Numbers[1].Deviation = -1 },
		`found "mass" twice`:    func(c *config.Config) { c.Numbers[1].Name = "mass" },
		"regression_loss: \"l1": func(c *config.Config) { c.RegressionLoss = "l1" },
		"tie_embeddings: true":  func(c *config.Config) { c.TieEmbeddings = true },
	} {
		c := configtest.WithTask(configtest.TinyConfig(), config.Regression)
		change(c)
		must.Fail(t, want)(c.Validate())
	}
}

// TestPredictions checks that predictions are in the units of the data and within float32.
func TestPredictions(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.Regression)
	c.Numbers[1].Deviation = 0 // all rows have the same number
	if got := c.Predictions([]float32{-2, 3}); !slices.Equal(got, []float32{-0.5, -97}) {
		t.Errorf("predictions %v, want [-0.5 -97]", got)
	}
	c.Numbers[0].Deviation = 1e300
	if got := c.Predictions([]float32{-2, 0}); got[0] != -math.MaxFloat32 {
		t.Errorf("predictions %v, want -MaxFloat32 first", got)
	}
	e := seq.Example{A: []int32{1}, Numbers: []float32{3.5, -99}}
	if got := c.Standardised(e); got[0] != 0 || got[1] != 1 {
		t.Errorf("standardised numbers %v, want [0 1]", got)
	}
	for want, numbers := range map[string][]float32{"no numbers, expected 2": nil, "1 numbers, expected 2": {1},
		`number "mass" is 1e+30, which exceeds float32`: {1e30, 1}} {
		c.Numbers[0].Deviation = 1e-30
		must.Fail(t, want)(c.CheckLabelled(seq.Example{A: []int32{1}, Numbers: numbers}))
	}
}
