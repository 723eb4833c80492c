package sft

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
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

// regression predicts numbers of a sequence, with u its pooled row:
//
//	logits     = out(u)
//	prediction = mean + deviation·logits
//	loss       = Σ_c h(logits_c − (y_c − mean_c) / deviation_c)
//
// divided by the numbers of the batch, with h [SmoothL1] (Girshick, "Fast R-CNN", ICCV 2015) or
// [Squared].
type regression struct{ ofRows }

func (regression) sequences() int { return 1 }

func (regression) describe(c *Config, s seq.Spec) error {
	if s.NumberNames == nil {
		return ErrNoNumbers
	}
	c.Numbers = nil
	for _, name := range s.NumberNames {
		c.Numbers = append(c.Numbers, Number{Name: name, Deviation: 1})
	}
	c.LabelNames, c.NumLabels = nil, len(c.Numbers)
	c.dropMask()
	return nil
}

// ErrNoNumbers: a regression was asked for, and the data name no numbers.
var ErrNoNumbers = errors.New("the data have no names of numbers, so there are none to predict")

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

func (regression) validate(c *Config) error {
	if c.TieEmbeddings {
		return &ConfigError{"tie_embeddings", "true",
			"false: the output layer of the task " + c.Task + " has no row for each token"}
	}
	if len(c.Numbers) != c.NumLabels {
		return &ConfigError{"numbers", fmt.Sprintf("%d numbers", len(c.Numbers)),
			fmt.Sprintf("num_labels %d", c.NumLabels)}
	}
	var names []string
	for i, n := range c.Numbers {
		names = append(names, n.Name)
		if n.Mean-n.Mean != 0 || !(n.Deviation >= 0) || math.IsInf(n.Deviation, 0) {
			return &ConfigError{fmt.Sprintf("numbers[%d]", i), fmt.Sprintf("mean %v, deviation %v", n.Mean,
				n.Deviation), "a finite mean, and a finite deviation from 0 on"}
		}
	}
	if err := seq.CheckNumberNames(names); err != nil {
		return fmt.Errorf("numbers: %w", err)
	}
	if l := c.RegressionLoss; l != "" && l != SmoothL1 && l != Squared {
		return &ConfigError{"regression_loss", fmt.Sprintf("%q", l), SmoothL1 + ", " + Squared}
	}
	return nil
}

func (regression) settings(c *Config, s *Settings) error {
	s.Select = cmp.Or(s.Select, byLoss)
	if err := measured(c, s.Select, byLoss, byR2, byMAE); err != nil {
		return err
	}
	if len(s.ClassWeights) > 0 {
		return fmt.Errorf("weights of classes, expected none: the task %s has no classes", c.Task)
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
	for i, v := range c.standardised(e) {
		if v-v != 0 {
			return fmt.Errorf("number %q: %v is not within the reach of float32 once it is standardised by mean %v and deviation %v", c.Numbers[i].Name, e.Numbers[i], c.Numbers[i].Mean, c.Numbers[i].Deviation)
		}
	}
	return nil
}

// standardised are the numbers of an example as a model learns them.
func (c *Config) standardised(e seq.Example) []float32 {
	out := make([]float32, len(e.Numbers))
	for i, y := range e.Numbers {
		out[i] = float32((float64(y) - c.Numbers[i].Mean) / c.Numbers[i].deviation())
	}
	return out
}

// Deviations are the differences of the logits of a model of a regression and the numbers of a
// row, standardised: 1 is the deviation of the training split.
func (c *Config) Deviations(logits, numbers []float32) []float64 {
	out := make([]float64, len(numbers))
	for i, y := range c.standardised(seq.Example{Numbers: numbers}) {
		out[i] = float64(logits[i]) - float64(y)
	}
	return out
}

func (n Number) deviation() float64 {
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
		y := c.Numbers[i].Mean + float64(c.Numbers[i].deviation()*float64(v))
		out[i] = float32(min(max(y, -math.MaxFloat32), math.MaxFloat32))
	}
	return out
}

// standardiseAs has the last layer predict the same numbers in the units of the data as it did
// where they were standardised by the means μ and deviations σ of another model: with the own μ'
// and σ', its rows become w·σ/σ' and its biases (b·σ + μ − μ')/σ'.
func (m *Model) standardiseAs(other *Config) {
	slice := func(name string) []float32 {
		p, _ := m.Parameters.Lookup(name)
		return m.Parameters.Slice(m.Weights, p)
	}
	weight, bias := slice("head.out.weight"), slice("head.out.bias")
	width := len(weight) / len(bias)
	for i, to := range m.Config.Numbers {
		from := other.Numbers[i]
		if from.Mean == to.Mean && from.deviation() == to.deviation() {
			continue // with the same bits
		}
		bias[i] = float32((float64(bias[i])*from.deviation() + from.Mean - to.Mean) / to.deviation())
		row, scale := weight[i*width:(i+1)*width], from.deviation()/to.deviation()
		for j, w := range row {
			row[j] = float32(float64(w) * scale)
		}
	}
}

// NumberNames are those of what the model predicts.
func (c *Config) NumberNames() (names []string) {
	for _, n := range c.Numbers {
		names = append(names, n.Name)
	}
	return names
}

func (regression) parameters(c *Config) []Parameter { return classification{}.parameters(c) }

func (regression) readout(m *emitter, p *recordedPass) readout { return m.pooled(p) }

func (regression) head(m *emitter) head { return &linearHead{emitter: m} }

func (regression) loss(m *emitter, p *recordedPass) *tensor.Tensor {
	axis, rows, n := p.Logits.Rows, p.Logits.Shape[0], m.config.NumLabels
	p.Target = m.Input("target", axis, rows, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, n)
	p.Loss = m.Temp("loss", axis, rows)
	dlogits := m.like(p.Logits, "logits.grad")
	m.Launch(tensor.Huber{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Target: p.Target, Scale: p.Scale,
		Delta: float32(m.config.huberDelta())})
	return dlogits
}

// huberDelta is where the loss goes on linearly.
func (c *Config) huberDelta() float64 {
	if c.RegressionLoss == Squared {
		return math.MaxFloat32
	}
	return 1
}

func (regression) divisor(c *Config, batch []seq.Example, _ drawing) int {
	return len(batch) * c.NumLabels
}

func (regression) weight(*Settings, seq.Example) float64 { return 1 }

func (regression) evaluation() passMode { return inferMode }

func (regression) measure(c *Config, _ *Settings) measurement {
	return &numberMeasurement{config: c, tally: metrics.NewRegression(c.NumLabels)}
}

// numberMeasurement is what a regression reaches on a split.
type numberMeasurement struct {
	config *Config
	tally  *metrics.Regression
	loss   float64
	terms  int
}

func (m *numberMeasurement) add(logits []float32, e seq.Example) {
	m.loss += m.config.RegressionLossOf(logits, e)
	m.terms += len(logits)
	m.tally.Add(m.config.Predictions(logits), e.Numbers)
}

// RegressionLossOf is the loss of an example of a regression, summed over its numbers, which it
// must have.
func (c *Config) RegressionLossOf(logits []float32, e seq.Example) (loss float64) {
	for _, d := range c.Deviations(logits, e.Numbers) {
		g := min(max(d, -c.huberDelta()), c.huberDelta())
		loss += float64(g * (d - g/2))
	}
	return loss
}

func (m *numberMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.terms)
	for i, n := range m.tally.Numbers() {
		x := NumberReport{Name: m.config.Numbers[i].Name, MAE: n.MAE, RMSE: n.RMSE}
		if n.Defined {
			x.R2 = new(n.R2)
		}
		r.Numbers = append(r.Numbers, x)
	}
	r.MAE = new(m.tally.MAE())
	if r2, ok := m.tally.R2(); ok {
		r.R2 = new(r2)
	}
}

// NumberReport says how far predictions of a number are from it, in its own unit.
type NumberReport struct {
	Name string   `json:"name"`
	MAE  float64  `json:"mae"`          // mean absolute error
	RMSE float64  `json:"rmse"`         // root of the mean squared error
	R2   *float64 `json:"r2,omitempty"` // coefficient of determination; nil where all rows have the same number
}

func (regression) columns(c *Config) []arrow.Field {
	return []arrow.Field{{Name: seq.ColumnNumbers, Type: vector(c.NumLabels)}}
}

func (regression) append(c *Config, b *array.RecordBuilder, logits []float32) {
	appendVector(b.Field(0), c.Predictions(logits))
}

// checkVariance reports a validation split whose numbers define no R².
func checkVariance(val *seq.File) error {
	first, err := val.Example(0)
	if err != nil {
		return err
	}
	for row := range val.Len() {
		e, err := val.Example(row)
		if err != nil {
			return err
		}
		if !slices.Equal(e.Numbers, first.Numbers) {
			return nil
		}
	}
	return fmt.Errorf("select: R² (%s) needs rows of different numbers in the validation split, found %d rows of %v alone", byR2, val.Len(), first.Numbers)
}

func (regression) pack(p *packed, c *Config, e seq.Example, d drawing) []int32 {
	if d.mode.loss() {
		p.target = append(p.target, c.standardised(e)...)
	}
	return classification{}.pack(p, c, e, d)
}

func (regression) numbers(c *Config, logits []float32) []float32 { return c.Predictions(logits) }

func (regression) columnNames(c *Config) (key string, names []string) {
	return seq.KeyNumberNames, c.NumberNames()
}

// adopt standardises as the source does, whose head predicts in its units.
func (regression) adopt(m *Model, source *Config) { m.standardiseAs(source) }

func (regression) hasTemperature() bool { return false }
