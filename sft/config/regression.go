package config

import (
	"errors"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/seq"
)

// Losses of a regression, where d is the standardised difference of number and prediction.
const (
	SmoothL1 = "smooth_l1" // d²/2 where |d| ≤ 1, |d| − 1/2 beyond
	Squared  = "squared"   // d²/2
)

// Number is a number that a regression predicts, or a feature of a series. The model uses the
// standardised number (y − mean) / deviation, with mean and standard deviation of the training split.
// A deviation of 0 means 1.
type Number struct {
	Name      string  `json:"name"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// regression is the task of predicting numbers for a sequence.
type regression struct{ defaultTraits }

func (regression) kind() Kind { return Numbers }

func (regression) loss() Loss { return Huber }

func (regression) targets(c *Config, e seq.Example) []float32 { return c.Standardised(e) }

func (regression) describe(c *Config, s seq.Spec) error {
	if s.NumberNames == nil {
		return ErrNoNumbers
	}
	c.Numbers = nil
	for _, name := range s.NumberNames {
		c.Numbers = append(c.Numbers, Number{Name: name, Deviation: 1})
	}
	c.LabelNames, c.NumLabels = nil, len(c.Numbers)
	c.Masking = Masking{} // c may come from a model of masked tokens
	return nil
}

// ErrNoNumbers is the error for a regression on data without names of numbers.
var ErrNoNumbers = errors.New("the data set has no number names, so there are no numbers to predict")

func (regression) validate(c *Config) error {
	if c.TieEmbeddings {
		return &Error{"tie_embeddings", "true",
			"false, because the output layer of task " + c.Task + " does not have one row per token"}
	}
	if len(c.Numbers) != c.NumLabels {
		return &Error{"numbers", fmt.Sprintf("%d numbers", len(c.Numbers)),
			fmt.Sprintf("num_labels %d", c.NumLabels)}
	}
	var names []string
	for i, n := range c.Numbers {
		names = append(names, n.Name)
		if n.Mean-n.Mean != 0 || !(n.Deviation >= 0) || math.IsInf(n.Deviation, 0) {
			return &Error{fmt.Sprintf("numbers[%d]", i), fmt.Sprintf("mean %v, deviation %v", n.Mean,
				n.Deviation), "a finite mean and a finite deviation ≥ 0"}
		}
	}
	if err := seq.CheckNumberNames(names); err != nil {
		return fmt.Errorf("numbers: %w", err)
	}
	if l := c.RegressionLoss; l != "" && l != SmoothL1 && l != Squared {
		return &Error{"regression_loss", fmt.Sprintf("%q", l), SmoothL1 + ", " + Squared}
	}
	return nil
}

func (regression) check(c *Config, e seq.Example) error {
	switch {
	case e.Numbers == nil:
		return fmt.Errorf("found no numbers, expected %d", c.NumLabels)
	case len(e.Numbers) != c.NumLabels:
		return fmt.Errorf("found %d numbers, expected %d", len(e.Numbers), c.NumLabels)
	}
	for i, v := range c.Standardised(e) {
		if v-v != 0 {
			return fmt.Errorf("number %q is %v, which exceeds float32 when standardised with mean %v and deviation %v",
				c.Numbers[i].Name, e.Numbers[i], c.Numbers[i].Mean, c.Numbers[i].Deviation)
		}
	}
	return nil
}

// Standardised returns the standardised numbers of an example.
func (c *Config) Standardised(e seq.Example) []float32 {
	out := make([]float32, len(e.Numbers))
	for i, y := range e.Numbers {
		out[i] = float32((float64(y) - c.Numbers[i].Mean) / c.Numbers[i].Divisor())
	}
	return out
}

// Deviations returns the logits of a regression minus the standardised numbers of a row, in standard
// deviations of the training split.
func (c *Config) Deviations(logits, numbers []float32) []float64 {
	out := make([]float64, len(numbers))
	for i, y := range c.Standardised(seq.Example{Numbers: numbers}) {
		out[i] = float64(logits[i]) - float64(y)
	}
	return out
}

// Divisor returns the deviation, or 1 if the deviation is 0.
func (n Number) Divisor() float64 {
	if n.Deviation == 0 {
		return 1
	}
	return n.Deviation
}

// Predictions converts the logits of a regression to numbers in the units of the data, limited to
// ±[math.MaxFloat32].
func (c *Config) Predictions(logits []float32) []float32 {
	out := make([]float32, len(logits))
	for i, v := range logits {
		y := c.Numbers[i].Mean + float64(c.Numbers[i].Divisor()*float64(v))
		out[i] = float32(min(max(y, -math.MaxFloat32), math.MaxFloat32))
	}
	return out
}

// NumberNames returns the names of the numbers that the model predicts.
func (c *Config) NumberNames() (names []string) {
	for _, n := range c.Numbers {
		names = append(names, n.Name)
	}
	return names
}

// HuberDelta returns the difference beyond which the loss is linear.
func (c *Config) HuberDelta() float64 {
	if c.RegressionLoss == Squared {
		return math.MaxFloat32
	}
	return 1
}

// DescribeDataset is [Config.DescribeData] for a data set. For each number of a regression and each
// feature of a series it also sets the mean and the deviation over the training split.
func (c *Config) DescribeDataset(set *seq.Dataset) error {
	if err := c.DescribeData(set.Spec()); err != nil {
		return err
	}
	if err := c.describeScales(set); err != nil || c.Kind() != Numbers {
		return err
	}
	for i, n := range set.Manifest.Splits["train"].Numbers {
		c.Numbers[i].Mean, c.Numbers[i].Deviation = n.Mean, n.Deviation
	}
	return c.Validate()
}
