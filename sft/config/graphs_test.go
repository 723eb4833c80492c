package config_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestGraphConfig checks that errors for invalid configurations name the key, and that DescribeData
// configures a model for a data set of graphs.
func TestGraphConfig(t *testing.T) {
	for _, s := range []struct {
		change func(c *config.Config)
		want   string
	}{
		{func(c *config.Config) {}, ""},
		{func(c *config.Config) { c.Relative = config.NoRelation }, ""},
		{func(c *config.Config) { c.EdgeFeatureNames = []string{} }, ""},
		{func(c *config.Config) { c.EdgeFeatureNames = nil },
			"relative: edges, expected another value, because the tokens have no edges"},
		{func(c *config.Config) { c.EdgeFeatureNames = []string{"a", "a"} },
			`edge_feature_names: expected distinct names, found "a" twice`},
		{func(c *config.Config) { *c = *configtest.TinyConfig(); c.EdgeFeatureNames = []string{} },
			"edge_feature_names: [], expected none, because tokens have no features"},
	} {
		c := configtest.GraphConfig(configtest.TinyConfig())
		s.change(c)
		if got := fmt.Sprint(c.Validate()); !strings.HasPrefix(got, s.want) || (s.want == "") != (got == "<nil>") {
			t.Errorf("error %s, expected %s", got, s.want)
		}
	}
	for _, names := range [][]string{{}, {"order"}} {
		c := configtest.TinyConfig()
		c.Task = ""
		err := c.DescribeData(seq.Spec{Task: config.Classification, LabelNames: []string{"a", "b"},
			FeatureNames: []string{"x", "y", "z"}, EdgeFeatureNames: names})
		if err != nil || c.Relative != config.EdgeRelation || !c.Edged() {
			t.Errorf("edge features %q: got relation %q, edges %v, error %v; want %q, true, no error", names,
				c.Relative, c.Edged(), err, config.EdgeRelation)
		}
		text := must.Get(json.Marshal(c))(t)
		if again, err := config.Parse(text); err != nil || !again.Edged() ||
			!slices.Equal(again.EdgeFeatureNames, names) {
			t.Errorf("read back %+v, error %v; want edges with the features %q", again, err, names)
		}
	}
}
