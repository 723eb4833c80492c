package model

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestFeatureScales checks that the input layer reads the steps of a series standardised by the
// training split, and points in their own units.
func TestFeatureScales(t *testing.T) {
	rows := [][][]float32{{{5001, 7}, {5003, 7}}, {{4999, 7}, {4997, 7}, {5000, 7}}}
	c := configtest.TinyConfig()
	must.Succeed(t, c.DescribeDataset(configtest.SeriesSet(t, []string{"v", "same"}, rows...)))
	if want := []config.Number{{Name: "v", Mean: 5000, Deviation: 2},
		{Name: "same", Mean: 7, Deviation: 0}}; !slices.Equal(c.FeatureScales, want) {
		t.Fatalf("scales %+v, want %+v", c.FeatureScales, want)
	}
	p := &packed{position: make([]int32, 3), offset: []int32{0}}
	p.addFeatures(c, []seq.Example{{Features: rows[1]}}, 1)
	if want := []float32{-0.5, 0, -1.5, 0, 0, 0}; !slices.Equal(p.features, want) {
		t.Errorf("the input layer reads %v, want %v", p.features, want)
	}
	again := must.Get(config.Parse(must.Get(json.Marshal(c))(t)))(t)
	if !slices.Equal(again.FeatureScales, c.FeatureScales) {
		t.Errorf("the scales are read back as %+v, want %+v", again.FeatureScales, c.FeatureScales)
	}
	c.FeatureScales[0].Deviation = 1e-300
	must.Fail(t, "token 0: v is 1, which exceeds float32 when standardised with mean 5000")(struct{}{},
		c.CheckFeatures([][]float32{{1, 7}}))
	for want, change := range map[string]func(*config.Config){
		"1 scales, expected one for each of the 2": func(c *config.Config) { c.FeatureScales = c.FeatureScales[:1] },
		`"w", expected "v"`:                        func(c *config.Config) { c.FeatureScales[0].Name = "w" },
		"deviation -1, expected finite numbers":    func(c *config.Config) { c.FeatureScales[0].Deviation = -1 },
		"deviation NaN, expected finite numbers":   func(c *config.Config) { c.FeatureScales[0].Deviation = math.NaN() },
	} {
		bad := *again
		bad.FeatureScales = slices.Clone(again.FeatureScales)
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that contains %q", err, want)
		}
	}
	must.Succeed(t, c.DescribeDataset(configtest.SeriesSet(t, seq.PositionNames, [][]float32{{1, 2, 3}},
		[][]float32{{3, 2, 1}})))
	if c.FeatureScales != nil {
		t.Errorf("points are standardised by %+v, want nil", c.FeatureScales)
	}
}
