package sft

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// classification tells the class of a sequence, with u its pooled row:
//
//	logits = out(u)
//	loss   = log Σ_c exp(logits_c) − logits_label
type classification struct{ ofRows }

func (classification) sequences() int { return 1 }

func (classification) describe(c *Config, s seq.Spec) error {
	if has, takes := len(s.TokenColumns()), c.Sequences(); has != takes {
		return &ConfigError{"task", fmt.Sprintf("%s of %d sequences", c.Task, takes),
			fmt.Sprintf("one of %d, as the rows of the data have", has)}
	}
	if s.ListsLabels() && c.Task != s.Task {
		return &ConfigError{"task", c.Task, s.Task + ", as the rows of the data have lists of labels"}
	}
	if len(s.LabelNames) == 0 {
		return ErrNoLabels
	}
	c.LabelNames, c.NumLabels = s.LabelNames, len(s.LabelNames)
	c.Numbers, c.RegressionLoss = nil, "" // of a model that it starts from
	c.dropMask()
	return nil
}

// dropMask forgets the mask of a model of masked tokens that another one starts from.
func (c *Config) dropMask() {
	c.MaskTokenID, c.MaskRate, c.MaskSpan, c.MaskTargets, c.TieEmbeddings = nil, 0, 0, nil, false
}

func (classification) check(c *Config, e seq.Example) error {
	if e.Label < 0 || int(e.Label) >= c.NumLabels {
		return fmt.Errorf("label %d, expected 0 to %d", e.Label, c.NumLabels-1)
	}
	return nil
}

func (classification) validate(c *Config) error {
	if c.MaskTargets != nil {
		return &ConfigError{"mask_targets", SpectrumTargets, "none, as the task is " + c.Task}
	}
	if c.TieEmbeddings {
		return &ConfigError{"tie_embeddings", "true",
			"false: the output layer of the task " + c.Task + " has no row for each token"}
	}
	return nil
}

func (classification) settings(c *Config, s *Settings) error {
	if s.Select != "" {
		if err := measured(c, s.Select, byAccuracy, byLoss, byMacroF1, byAUC, OneStandardError); err != nil {
			return err
		}
	}
	if n := len(s.ClassWeights); n > 0 && n != c.NumLabels {
		return fmt.Errorf("%d weights of classes, the model has %d classes", n, c.NumLabels)
	}
	return nil
}

func (classification) parameters(c *Config) []Parameter {
	return append(poolingParameters(c), linearParameters(PartHead, "head.out", c.NumLabels, c.HiddenSize)...)
}

func (classification) readout(m *emitter, p *recordedPass) readout { return m.pooled(p) }

func (classification) head(m *emitter) head { return &linearHead{emitter: m} }

// linearHead is one linear layer.
type linearHead struct {
	*emitter
	x *tensor.Tensor
}

func (h *linearHead) forward(x *tensor.Tensor) *tensor.Tensor {
	h.x = x
	return h.linear("head.out", x)
}

func (h *linearHead) backward(dlogits *tensor.Tensor) *tensor.Tensor {
	dx := h.like(h.x, "head.out.grad")
	h.linearBackward("head.out", dx, dlogits, h.x, false)
	return dx
}

func (classification) loss(m *emitter, p *recordedPass) *tensor.Tensor { return crossEntropy(m, p) }

// crossEntropy is the loss of each row of logits.
func crossEntropy(m *emitter, p *recordedPass) (dlogits *tensor.Tensor) {
	axis, n := p.Logits.Rows, p.Logits.Shape[0]
	p.Label = m.Input("label", axis, n)
	p.Scale = m.Input("loss.scale", tensor.Fixed, m.config.NumLabels)
	p.Loss = m.Temp("loss", axis, n)
	dlogits = m.like(p.Logits, "logits.grad")
	m.Launch(tensor.CrossEntropy{Loss: p.Loss, DLogits: dlogits, Logits: p.Logits, Label: p.Label, Scale: p.Scale})
	return dlogits
}

func (classification) divisor(_ *Config, batch []seq.Example, _ drawing) int { return len(batch) }

func (classification) weight(s *Settings, e seq.Example) float64 {
	if len(s.ClassWeights) == 0 {
		return 1
	}
	return s.ClassWeights[e.Label]
}

func (classification) answered(logits []float32, e seq.Example) bool {
	return Argmax(logits) == int(e.Label)
}

func (classification) evaluation() passMode { return inferMode }

func (classification) measure(c *Config, s *Settings) measurement {
	return &classMeasurement{tally: metrics.NewValidation(c.NumLabels, s.Select == byAUC), sample: newLogitSample(s)}
}

type classMeasurement struct {
	tally  *metrics.Validation
	loss   float64
	rows   int
	sample *metrics.LogitSample
}

func (m *classMeasurement) temperature() float64 { return m.sample.Temperature() }

func (m *classMeasurement) add(logits []float32, e seq.Example) {
	m.loss += metrics.CrossEntropy(logits, int(e.Label))
	m.tally.Add(int(e.Label), logits)
	m.sample.Add(int(e.Label), logits)
	m.rows++
}

func (m *classMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.rows)
	r.Accuracy, r.MacroF1 = new(m.tally.Accuracy()), new(m.tally.MacroF1())
	if auc, ok := m.tally.AUC(); ok {
		r.AUC = &auc
	}
}

func (classification) columns(c *Config) []arrow.Field {
	return []arrow.Field{
		{Name: "label", Type: arrow.PrimitiveTypes.Int32},
		{Name: "logits", Type: vector(c.NumLabels)},
		{Name: "probabilities", Type: vector(c.NumLabels)},
	}
}

func (classification) append(_ *Config, b *array.RecordBuilder, logits []float32) {
	b.Field(0).(*array.Int32Builder).Append(int32(Argmax(logits)))
	appendVector(b.Field(1), logits)
	appendVector(b.Field(2), Probabilities(logits))
}

// Argmax is the index of the largest value, the first of equals.
func Argmax(x []float32) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Probabilities is the softmax of an example's logits, computed in float64 and
// rounded.
func Probabilities(logits []float32) []float32 {
	p := make([]float32, len(logits))
	for i, v := range metrics.Softmax(logits) {
		p[i] = float32(v)
	}
	return p
}

func (classification) pack(p *packed, _ *Config, e seq.Example, _ drawing) []int32 {
	p.label = append(p.label, e.Label)
	return e.A
}
