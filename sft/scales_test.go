package sft

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// seriesSet is a data set of series, whose numbers have names.
func seriesSet(t *testing.T, names []string, rows ...[][]float32) *seq.Dataset {
	t.Helper()
	b := must.Get(seq.CreateDataset(t.TempDir(), seq.Spec{Task: Classification, Name: "series", FeatureNames: names,
		LabelNames: []string{"a", "b"}}, false))(t)
	for _, split := range []string{"train", "val"} {
		w := must.Get(b.Split(split))(t)
		for i, features := range rows {
			if split == "val" {
				features = [][]float32{slices.Repeat([]float32{1e6}, len(names))}
			}
			must.Succeed(t, w.Write(seq.Example{Features: features, Label: int32(i % 2)}))
		}
		must.Succeed(t, w.Close())
	}
	return must.Get(b.Finish(nil))(t)
}

// TestFeatureScales: the input layer reads the steps of a series standardised by the training split,
// whatever their unit, and points in their units.
func TestFeatureScales(t *testing.T) {
	rows := [][][]float32{{{5001, 7}, {5003, 7}}, {{4999, 7}, {4997, 7}, {5000, 7}}}
	c := tinyConfig()
	must.Succeed(t, c.DescribeDataset(seriesSet(t, []string{"v", "same"}, rows...)))
	if want := []Number{{"v", 5000, 2}, {"same", 7, 0}}; !slices.Equal(c.FeatureScales, want) {
		t.Fatalf("%+v, want %+v", c.FeatureScales, want)
	}
	p := &packed{position: make([]int32, 3), offset: []int32{0}}
	p.addFeatures(c, []seq.Example{{Features: rows[1]}}, 1)
	if want := []float32{-0.5, 0, -1.5, 0, 0, 0}; !slices.Equal(p.features, want) {
		t.Errorf("read %v, want %v", p.features, want)
	}
	again := must.Get(ParseConfig(must.Get(json.Marshal(c))(t)))(t)
	if !slices.Equal(again.FeatureScales, c.FeatureScales) {
		t.Errorf("read back %+v", again.FeatureScales)
	}
	c.FeatureScales[0].Deviation = 1e-300
	must.Fail(t, "token 0: v is 1, expected a number within float32 once it is standardised by mean 5000")(struct{}{},
		c.CheckFeatures([][]float32{{1, 7}}))
	for want, change := range map[string]func(*Config){
		"1 of them, expected one for each of the 2": func(c *Config) { c.FeatureScales = c.FeatureScales[:1] },
		`"w", expected "v"`:                         func(c *Config) { c.FeatureScales[0].Name = "w" },
		"deviation -1, expected finite numbers":     func(c *Config) { c.FeatureScales[0].Deviation = -1 },
		"deviation NaN, expected finite numbers":    func(c *Config) { c.FeatureScales[0].Deviation = math.NaN() },
	} {
		bad := *again
		bad.FeatureScales = slices.Clone(again.FeatureScales)
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	must.Succeed(t, c.DescribeDataset(seriesSet(t, seq.PositionNames, [][]float32{{1, 2, 3}}, [][]float32{{3, 2, 1}})))
	if c.FeatureScales != nil {
		t.Errorf("points are standardised by %+v", c.FeatureScales)
	}
}

// TestCopiedScales: a model that begins with the weights of another reads features as that one does.
func TestCopiedScales(t *testing.T) {
	make := func(scale float32) *Model {
		c := tinyConfig()
		must.Succeed(t, c.DescribeDataset(seriesSet(t, []string{"v"}, [][]float32{{scale}}, [][]float32{{-scale}})))
		return NewModel(c, 1)
	}
	from, to := make(3), make(500)
	must.Get(to.CopyFrom(from))(t)
	if want := []Number{{"v", 0, 3}}; !slices.Equal(to.Config.FeatureScales, want) {
		t.Errorf("%+v, want %+v", to.Config.FeatureScales, want)
	}
}

// TestScalesOfDamagedData: a training split that is missing, or damaged, is an error, and not a model
// with other scales.
func TestScalesOfDamagedData(t *testing.T) {
	rows := [][][]float32{{{5001, 7}, {5003, 7}}, {{4999, 7}}}
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, must.Get(os.Stat(path))(t).Size()/2) },
	} {
		set := seriesSet(t, []string{"v", "same"}, rows...)
		must.Succeed(t, damage(filepath.Join(set.Dir, "train.arrow")))
		if err := tinyConfig().DescribeDataset(set); err == nil || !strings.Contains(err.Error(), "train.arrow") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
