package config

import (
	"errors"
	"fmt"
	"math"

	"github.com/sftseq/sftseq/seq"
)

// Losses of a regression, of the difference d of a standardised number and its prediction.
const (
	SmoothL1 = "smooth_l1" // d²/2 where |d| ≤ 1, |d| − 1/2 beyond
	Squared  = "squared"   // d²/2
)

// Number is a number that a model of a regression predicts. It learns it standardised,
// (y − mean) / deviation, with those of the training split; a deviation of 0 stands for 1.
type Number struct {
	Name      string  `json:"name"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}

// regression is the task of predicting numbers of a sequence.
type regression struct{ ofRows }

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
	c.Masking = Masking{} // a model of masked tokens may be the start
	return nil
}

// ErrNoNumbers: a regression was asked for, and the data name no numbers.
var ErrNoNumbers = errors.New("the data have no names of numbers, so there are none to predict")

func (regression) validate(c *Config) error {
	if c.TieEmbeddings {
		return &Error{"tie_embeddings", "true",
			"false: the output layer of the task " + c.Task + " has no row for each token"}
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
				n.Deviation), "a finite mean, and a finite deviation from 0 on"}
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
		return fmt.Errorf("no numbers, expected %d to learn from", c.NumLabels)
	case len(e.Numbers) != c.NumLabels:
		return fmt.Errorf("%d numbers, expected %d", len(e.Numbers), c.NumLabels)
	}
	for i, v := range c.Standardised(e) {
		if v-v != 0 {
			return fmt.Errorf("number %q: %v is not within the reach of float32 once it is standardised by mean %v and deviation %v", c.Numbers[i].Name, e.Numbers[i], c.Numbers[i].Mean, c.Numbers[i].Deviation)
		}
	}
	return nil
}

// Standardised are the numbers of an example as a model learns them.
func (c *Config) Standardised(e seq.Example) []float32 {
	out := make([]float32, len(e.Numbers))
	for i, y := range e.Numbers {
		out[i] = float32((float64(y) - c.Numbers[i].Mean) / c.Numbers[i].Divisor())
	}
	return out
}

// Deviations are the differences of the logits of a model of a regression and the numbers of a
// row, standardised: 1 is the deviation of the training split.
func (c *Config) Deviations(logits, numbers []float32) []float64 {
	out := make([]float64, len(numbers))
	for i, y := range c.Standardised(seq.Example{Numbers: numbers}) {
		out[i] = float64(logits[i]) - float64(y)
	}
	return out
}

func (n Number) Divisor() float64 {
	if n.Deviation == 0 {
		return 1
	}
	return n.Deviation
}

// Predictions are the numbers, in the units of the data, that the logits of a model of a
// regression stand for. What is beyond float32 is its largest number.
func (c *Config) Predictions(logits []float32) []float32 {
	out := make([]float32, len(logits))
	for i, v := range logits {
		y := c.Numbers[i].Mean + float64(c.Numbers[i].Divisor()*float64(v))
		out[i] = float32(min(max(y, -math.MaxFloat32), math.MaxFloat32))
	}
	return out
}

// NumberNames are those of what the model predicts.
func (c *Config) NumberNames() (names []string) {
	for _, n := range c.Numbers {
		names = append(names, n.Name)
	}
	return names
}

// HuberDelta is where the loss goes on linearly.
func (c *Config) HuberDelta() float64 {
	if c.RegressionLoss == Squared {
		return math.MaxFloat32
	}
	return 1
}

// DescribeDataset is [Config.DescribeData] for a data set, of whose training split it also takes the
// mean and the deviation of each number, of a regression and of the steps of a series.
func (c *Config) DescribeDataset(set *seq.Dataset) error {
	if err := c.DescribeData(set.Spec()); err != nil {
		return err
	}
	if err := c.describeScales(set); err != nil || c.Task != Regression {
		return err
	}
	for i, n := range set.Manifest.Splits["train"].Numbers {
		c.Numbers[i].Mean, c.Numbers[i].Deviation = n.Mean, n.Deviation
	}
	return c.Validate()
}
