package config

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/seq"
)

// The features of a series' steps are in the units of the user, such as volts or hectopascals. The
// input layer reads them standardised, (x − mean) / deviation, with mean and deviation of the
// training split: at usual learning rates, a layer cannot learn from values near 0.01 or 1,000.
// Points keep their units, because distances are computed from them. Nodes of graphs keep their units,
// too.

// describeScales computes mean and deviation of each feature of a series from the training split.
func (c *Config) describeScales(set *seq.Dataset) error {
	if c.FeatureScales = nil; !c.HasFeatures() || c.Edged() || seq.Points(c.FeatureNames) != nil {
		return nil
	}
	if _, ok := set.Manifest.Splits["train"]; !ok {
		return nil
	}
	r, err := set.Reader("train")
	if err != nil {
		return err
	}
	defer r.Close()
	scales := make([]runningMoments, len(c.FeatureNames))
	for rows, err := range r.All() {
		if err != nil {
			return err
		}
		for i := range rows.Len() {
			for _, step := range rows.Example(i).Features {
				for j, x := range step {
					scales[j].add(float64(x))
				}
			}
		}
	}
	for j, name := range c.FeatureNames {
		c.FeatureScales = append(c.FeatureScales, Number{Name: name, Mean: scales[j].mean,
			Deviation: scales[j].deviation()})
	}
	return nil
}

// runningMoments computes the mean of a stream of numbers, and the sum of squared differences from the
// mean.
//
// Source: Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products",
// Technometrics 1962.
type runningMoments struct{ n, mean, squares float64 }

func (r *runningMoments) add(x float64) {
	r.n++
	before := x - r.mean
	r.mean += before / r.n
	r.squares += before * (x - r.mean)
}

func (r *runningMoments) deviation() float64 { return math.Sqrt(r.squares / max(1, r.n)) }

// validateScales returns an error if the scales do not match the features or are invalid.
func (c *Config) validateScales() error {
	bad := func(found any, expected string) error {
		return &Error{"feature_scales", fmt.Sprint(found), expected}
	}
	if c.FeatureScales == nil {
		return nil
	}
	if len(c.FeatureScales) != len(c.FeatureNames) {
		return bad(fmt.Sprintf("%d scales", len(c.FeatureScales)),
			fmt.Sprintf("one for each of the %d feature_names", len(c.FeatureNames)))
	}
	for j, s := range c.FeatureScales {
		if s.Name != c.FeatureNames[j] {
			return bad(fmt.Sprintf("%q", s.Name), fmt.Sprintf("%q, in the order of feature_names", c.FeatureNames[j]))
		}
		if s.Mean-s.Mean != 0 || !(s.Deviation >= 0 && s.Deviation <= math.MaxFloat64) {
			return bad(fmt.Sprintf("mean %v, deviation %v", s.Mean, s.Deviation),
				"finite numbers and a deviation ≥ 0")
		}
	}
	return nil
}

// ScaledFeature returns feature j of a token as the input layer reads it.
func (c *Config) ScaledFeature(j int, x float32) float32 {
	if c.FeatureScales == nil {
		return x
	}
	s := &c.FeatureScales[j]
	return float32((float64(x) - s.Mean) / s.Divisor())
}
