package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// SameInputsAndOutputs returns an error for the first difference in inputs or outputs that prevents
// two models from predicting together, or if c predicts only masked tokens.
func (c *Config) SameInputsAndOutputs(other *Config) error {
	window := func(c *Config) InputWindow {
		if c.InputWindow == nil {
			return InputWindow{}
		}
		return *c.InputWindow
	}
	if err := c.SameData(other); err != nil {
		return err
	}
	switch {
	case window(c) != window(other):
		return differenceError("input window", window(c), window(other))
	case c.InputWindowTail != other.InputWindowTail:
		return differenceError("input_window_tail", c.InputWindowTail, other.InputWindowTail)
	}
	return nil
}

const sameTraining = "expected models trained on the same data"

// differenceError returns the error for a property whose values in two models differ. The parameter
// first is the value of the first model, and found is the value of the other model.
func differenceError(property string, first, found any) error {
	return fmt.Errorf("%s: expected %v as in the first model, found %v", property, first, found)
}

// SameData is like SameInputsAndOutputs, but ignores the input windows.
func (c *Config) SameData(other *Config) error {
	if err := c.CheckHasPredictions(); err != nil {
		return err
	}
	switch {
	case !c.samePredictions(other):
		return differenceError("task", c.Task, other.Task)
	case c.NumLabels != other.NumLabels:
		return differenceError("number of labels", c.NumLabels, other.NumLabels)
	case !c.SameOutputs(other):
		return errors.New("its label or number names differ from those of the first model")
	case !slices.EqualFunc(c.Numbers, other.Numbers, sameNumber):
		return errors.New("its numbers differ in mean or deviation from the first model's: " + sameTraining)
	case c.VocabSize != other.VocabSize:
		return differenceError("vocab_size", c.VocabSize, other.VocabSize)
	case !sameJSON(c.Tokenizer, other.Tokenizer):
		return errors.New("its tokenizer differs from that of the first model")
	case !slices.Equal(c.FeatureNames, other.FeatureNames):
		return differenceError("feature_names", c.FeatureNames, other.FeatureNames)
	case !slices.Equal(c.FeatureScales, other.FeatureScales):
		return errors.New("its features differ in mean or deviation from the first model's: " + sameTraining)
	case c.Edged() != other.Edged():
		return differenceError("edges between tokens", c.Edged(), other.Edged())
	case !slices.Equal(c.EdgeFeatureNames, other.EdgeFeatureNames):
		return differenceError("edge_feature_names", c.EdgeFeatureNames, other.EdgeFeatureNames)
	}
	return nil
}

// sameJSON reports whether two JSON values are equal except for white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// SameOutputs reports whether predictions of two models have the same meaning: the same kind,
// number of sequences, mask targets, and labels or numbers in the same order. If a model has no label
// names, only the number of labels is compared.
func (c *Config) SameOutputs(other *Config) bool {
	named := c.LabelNames != nil && other.LabelNames != nil
	return c.samePredictions(other) && c.NumLabels == other.NumLabels &&
		(!named || slices.Equal(c.LabelNames, other.LabelNames)) && c.MaskTargets.same(other.MaskTargets) &&
		slices.Equal(c.NumberNames(), other.NumberNames())
}

func (c *Config) samePredictions(other *Config) bool {
	return c.Kind() == other.Kind() && c.Sequences() == other.Sequences()
}

// numberTolerance is the relative tolerance for means and deviations of the same rows, which may be
// summed in different orders.
const numberTolerance = 1e-9

// sameNumber reports whether two models standardise a number in the same way.
func sameNumber(a, b Number) bool {
	scale := a.Divisor()
	return a.Name == b.Name && math.Abs(scale-b.Divisor()) <= numberTolerance*scale &&
		math.Abs(a.Mean-b.Mean) <= numberTolerance*(scale+math.Abs(a.Mean))
}
