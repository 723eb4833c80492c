package sft

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// multiLabel tells which labels of a sequence hold, of which any number may, with u its pooled
// row and y_c = 1 where label c holds, 0 otherwise:
//
//	logits      = out(u)
//	probability = σ(logits)
//	loss        = −Σ_c w_c·y_c·log σ(logits_c) + (1 − y_c)·log(1 − σ(logits_c))
//
// divided by the labels of all examples of the batch. w_c is that of [Settings.ClassWeights], 1
// without. A label is answered where its probability reaches its threshold: [Config.Threshold].
type multiLabel struct{ ofRows }

func (multiLabel) sequences() int { return 1 }

func (multiLabel) describe(c *Config, s seq.Spec) error {
	if s.Task != MultiLabel {
		return &ConfigError{"task", c.Task, fmt.Sprintf("%s, as the rows of the data have one answer each", s.Task)}
	}
	return classification{}.describe(c, s)
}

func (multiLabel) validate(c *Config) error {
	if n := len(c.Thresholds); c.Thresholds != nil && n != c.NumLabels {
		return &ConfigError{"thresholds", fmt.Sprintf("%d thresholds", n), fmt.Sprintf("num_labels %d", c.NumLabels)}
	}
	for i, at := range c.Thresholds {
		if !(at >= 0 && at <= 1) {
			return &ConfigError{fmt.Sprintf("thresholds[%d]", i), fmt.Sprint(at), "a probability, 0 to 1"}
		}
	}
	return classification{}.validate(c)
}

func (multiLabel) settings(c *Config, s *Settings) error {
	s.Select = cmp.Or(s.Select, byLoss)
	if err := measured(c, s.Select, byLoss, byMacroF1, byMAP); err != nil {
		return err
	}
	if n := len(s.ClassWeights); n > 0 && n != c.NumLabels {
		return fmt.Errorf("%d weights of labels, the model has %d labels", n, c.NumLabels)
	}
	return nil
}

func (multiLabel) check(c *Config, e seq.Example) error { return c.CheckLabels(e.Labels) }

// CheckLabels reports labels that a row cannot have that a model of several labels is to learn or
// is measured on.
func (c *Config) CheckLabels(labels []int32) error {
	if labels == nil {
		return fmt.Errorf("the labels are not known, expected a list of those that hold, which may be empty")
	}
	for i, label := range labels {
		if label < 0 || int(label) >= c.NumLabels {
			return fmt.Errorf("label %d, expected 0 to %d", label, c.NumLabels-1)
		}
		if i > 0 && label <= labels[i-1] {
			return fmt.Errorf("label %d after %d, expected labels in ascending order, each once", label, labels[i-1])
		}
	}
	return nil
}

// Threshold is the probability from which on a label is answered by a model of several labels.
func (c *Config) Threshold(label int) float64 {
	if len(c.Thresholds) == 0 {
		return metrics.DefaultThreshold
	}
	return c.Thresholds[label]
}

// Holding are the labels that logits of a model of several labels answer with, in ascending order,
// and the probability of each label.
func (c *Config) Holding(logits []float32) (labels []int32, probabilities []float32) {
	labels, probabilities = []int32{}, make([]float32, len(logits))
	for i, z := range logits {
		probabilities[i] = metrics.Sigmoid(z)
		if float64(probabilities[i]) >= c.Threshold(i) {
			labels = append(labels, int32(i))
		}
	}
	return labels, probabilities
}

func (multiLabel) parameters(c *Config) []Parameter { return classification{}.parameters(c) }

func (multiLabel) readout(m *emitter, p *recordedPass) readout { return m.pooled(p) }

func (multiLabel) head(m *emitter) head { return &linearHead{emitter: m} }

func (multiLabel) loss(m *emitter, p *recordedPass) *tensor.Tensor {
	axis, rows, n := p.Logits.Rows, p.Logits.Shape[0], m.config.NumLabels
	p.Target = m.Input("target", axis, rows, n)
	p.Positive = m.Input("positive", tensor.Fixed, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, n)
	p.Loss = m.Temp("loss", axis, rows)
	dlogits := m.like(p.Logits, "logits.grad")
	m.Launch(tensor.BinaryCrossEntropy{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Target: p.Target,
		Positive: p.Positive, Scale: p.Scale})
	return dlogits
}

// holds has for each label 1 where it holds of an example, and 0 where it does not.
func (c *Config) holds(e seq.Example) []float32 {
	out := make([]float32, c.NumLabels)
	for _, label := range e.Labels {
		out[label] = 1
	}
	return out
}

func (multiLabel) divisor(c *Config, batch []seq.Example, _ drawing) int {
	return len(batch) * c.NumLabels
}

func (multiLabel) weight(*Settings, seq.Example) float64 { return 1 } // the kernel has them

func (multiLabel) evaluation() passMode { return inferMode }

func (multiLabel) measure(c *Config, s *Settings) measurement {
	return &labelsMeasurement{config: c, tally: metrics.NewMultiLabel(c.NumLabels), sample: newLogitSample(s)}
}

// labelsMeasurement is what a model of several labels reaches on a split, with the thresholds
// that are best there.
type labelsMeasurement struct {
	config *Config
	tally  *metrics.MultiLabel
	sample *metrics.LogitSample
}

func (m *labelsMeasurement) temperature() float64 { return m.sample.Temperature() }

// add counts each label as one of two classes, whose logits are 0 and its own.
func (m *labelsMeasurement) add(logits []float32, e seq.Example) {
	m.tally.Add(logits, e.Labels)
	if m.sample == nil {
		return
	}
	for i, y := range m.config.holds(e) {
		m.sample.Add(int(y), []float32{0, logits[i]})
	}
}

func (m *labelsMeasurement) report(r *EvaluationReport) {
	r.Thresholds = m.tally.Thresholds()
	x := m.tally.Report(r.Thresholds)
	r.Loss, r.MicroF1, r.MacroF1, r.MAP = x.Loss, x.MicroF1, x.MacroF1, x.MeanAveragePrecision
}

// keepDecision makes the thresholds, temperature and span decoding of an evaluation, if it has any, those of
// the model that is kept. The configuration is a copy: whoever has handed it over keeps its own.
func (t *Trainer) keepDecision(r *EvaluationReport) {
	if r.Thresholds == nil && r.Temperature == 0 && r.SpanDecoding == nil {
		return
	}
	c := *t.model.Config
	c.Thresholds, c.Temperature, c.SpanDecoding = r.Thresholds, r.Temperature, r.SpanDecoding
	t.model = &Model{Config: &c, Parameters: t.model.Parameters, Weights: t.model.Weights}
}

// configToWrite is the model's configuration, with the thresholds and the temperature of the weights that are in the
// directory: where a run was killed between an evaluation and its checkpoint, they are newer than
// those of the checkpoint, until that evaluation is made again.
func (t *Trainer) configToWrite() *Config {
	if !t.model.Config.decides() {
		return t.model.Config
	}
	stored, err := ReadConfig(filepath.Join(t.options.Dir, configFile))
	if err != nil || !stored.decides() { // as at the beginning, or it is damaged and written anew
		return t.model.Config
	}
	c := *t.model.Config
	c.Thresholds, c.Temperature, c.SpanDecoding = stored.Thresholds, stored.Temperature, stored.SpanDecoding
	return &c
}

// decides reports whether the model has what was chosen on a validation split.
func (c *Config) decides() bool {
	return c.Thresholds != nil || c.Temperature != 0 || c.SpanDecoding != nil
}

// writeDecision stores the configuration that has thresholds and temperature beside the weights they
// were chosen for.
func (t *Trainer) writeDecision() error {
	if !t.model.Config.decides() {
		return nil
	}
	return t.model.Config.Write(filepath.Join(t.options.Dir, configFile))
}

func (multiLabel) columns(c *Config) []arrow.Field {
	return []arrow.Field{
		{Name: "labels", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)},
		{Name: "logits", Type: vector(c.NumLabels)},
		{Name: "probabilities", Type: vector(c.NumLabels)},
	}
}

func (multiLabel) append(c *Config, b *array.RecordBuilder, logits []float32) {
	labels, probabilities := c.Holding(logits)
	list := b.Field(0).(*array.ListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Int32Builder).AppendValues(labels, nil)
	appendVector(b.Field(1), logits)
	appendVector(b.Field(2), probabilities)
}

// checkHolding reports a validation split of several labels a row that does not define what models
// are selected by.
func checkHolding(s *Settings, val *seq.File) error {
	if val.Spec().Task != MultiLabel {
		return nil
	}
	seen := map[int32]int{}
	for row := range val.Len() {
		e, err := val.Example(row)
		if err != nil {
			return err
		}
		for _, label := range e.Labels {
			seen[label]++
		}
	}
	for _, rows := range seen {
		if s.Select == byMacroF1 || rows < val.Len() {
			return nil
		}
	}
	return fmt.Errorf("select: %s needs a label that some of the %d rows of the validation split have and others do not, found none", s.Select, val.Len())
}

func (multiLabel) pack(p *packed, c *Config, e seq.Example, d drawing) []int32 {
	if d.mode.loss() {
		p.target = append(p.target, c.holds(e)...)
	}
	return classification{}.pack(p, c, e, d)
}

// lossFactors weighs the terms of the labels that a row has.
func (multiLabel) lossFactors(c *Config, scale float64, weight []float64) lossFactors {
	return lossFactors{lossScales(c.NumLabels, scale, nil), lossScales(c.NumLabels, 1, weight)}
}
