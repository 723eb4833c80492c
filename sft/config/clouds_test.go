package config_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestCloudConfig checks that errors for invalid configurations name the key, and that DescribeData
// configures a model for a data set of clouds.
func TestCloudConfig(t *testing.T) {
	for _, s := range []struct {
		change func(c *config.Config)
		want   string
	}{
		{func(c *config.Config) {}, ""},
		{func(c *config.Config) { c.Relative = config.NoRelation }, ""},
		{func(c *config.Config) { c.FeatureNames = []string{"x", "y"} },
			"relative: distance, expected another value, because the tokens lack some of the features x, y, z"},
		{func(c *config.Config) { c.VocabSize = 5 }, "vocab_size: 5, expected 0"},
		{func(c *config.Config) { c.Input = "zeros" }, `input: "zeros", expected features, ones`},
		{func(c *config.Config) { c.Task = config.Retrieval }, `task: "retrieval", expected a task that supports features`},
		{func(c *config.Config) { *c = *configtest.TinyConfig(); c.Input = config.OnesInput },
			"input: \"ones\", expected none"},
		{func(c *config.Config) { *c = *configtest.TinyConfig(); c.Relative = config.DistanceRelation },
			"relative: distance, expected another value"},
	} {
		c := configtest.CloudConfig(configtest.TinyConfig())
		s.change(c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if (s.want == "") != (got == "") || len(got) < len(s.want) || got[:len(s.want)] != s.want {
			t.Errorf("error %s, expected %s", got, s.want)
		}
	}
	c := configtest.TinyConfig()
	c.Task = ""
	err := c.DescribeData(seq.Spec{Task: config.Classification, LabelNames: []string{"a", "b"},
		FeatureNames: []string{"x", "y", "z"}})
	if err != nil || c.Relative != config.DistanceRelation || c.VocabSize != 0 || !c.HasFeatures() {
		t.Errorf("DescribeData: got relation %q, vocabulary %d, features %v, error %v; want %q, 0, true, no error",
			c.Relative, c.VocabSize, c.HasFeatures(), err, config.DistanceRelation)
	}
	text := must.Get(json.Marshal(c))(t)
	if again, err := config.Parse(text); err != nil || !slices.Equal(again.FeatureNames, c.FeatureNames) {
		t.Errorf("read back %+v, error %v; want feature names %q", again, err, c.FeatureNames)
	}
}
