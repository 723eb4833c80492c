package config_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestMultiLabelConfig checks that DescribeData takes the task and the number of labels from the data set and
// drops the thresholds of a model to start from. It also checks the errors for data of another task and for
// invalid values.
func TestMultiLabelConfig(t *testing.T) {
	spec := seq.Spec{Task: config.MultiLabel, VocabSize: 9, Tokenizer: json.RawMessage(`{"type":"listops"}`),
		LabelNames: []string{"a", "b"}}
	c := configtest.TinyConfig()
	c.Task, c.Thresholds = "", []float64{0.1, 0.2, 0.3}
	if err := c.DescribeData(spec); err != nil || c.Task != config.MultiLabel ||
		c.NumLabels != 2 || c.Thresholds != nil {
		t.Errorf("configuration %+v, want 2 labels without thresholds; error %v", c, err)
	}
	if c.Task != config.MultiLabel {
		t.Error("the task of multi-label data is not multi-label")
	}
	c.Task = config.Classification
	must.Fail(t, "", "classification on multi-label rows")(c.DescribeData(spec))
	spec.Task = config.Classification
	var refused *config.Error
	if c.Task = config.MultiLabel; !errors.As(c.DescribeData(spec), &refused) || refused.Key != "task" {
		t.Errorf("multi-label on rows with one class: error %v, want an error for the key task", refused)
	}
	for want, change := range map[string]func(c *config.Config){
		"thresholds: 0 thresholds, expected num_labels 3": func(c *config.Config) { c.Thresholds = []float64{} },
		"thresholds: 2 thresholds": func(c *config.Config) {
			c.Thresholds = []float64{0.5,
				0.5}
		},
		"thresholds[1]: NaN": func(c *config.Config) {
			c.Thresholds = []float64{0.5, math.NaN(),
				0.5}
		},
		"thresholds[0]: 1.5":   func(c *config.Config) { c.Thresholds = []float64{1.5, 0, 1} },
		"tie_embeddings: true": func(c *config.Config) { c.TieEmbeddings = true },
	} {
		c := configtest.WithTask(configtest.TinyConfig(), config.MultiLabel)
		change(c)
		must.Fail(t, want)(c.Validate())
	}
}

// TestPredictedLabels checks that the predicted labels are those with a probability of at least their
// threshold.
func TestPredictedLabels(t *testing.T) {
	c := configtest.WithTask(configtest.TinyConfig(), config.MultiLabel)
	labels, p := c.PredictedLabels([]float32{0, -1e-3, 90})
	if !slices.Equal(labels, []int32{0, 2}) || p[0] != 0.5 || p[2] != 1 {
		t.Errorf("labels %v, probabilities %v; want labels [0 2], probabilities 0.5 and 1", labels, p)
	}
	c.Thresholds = []float64{0.5001, 0.25, 1}
	if labels, _ := c.PredictedLabels([]float32{0, -1, -90}); !slices.Equal(labels, []int32{1}) {
		t.Errorf("labels %v, want [1]", labels)
	}
}
