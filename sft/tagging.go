package sft

import (
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// tagging tells the label of each token, its tag, with x_t the last layer's row of token t:
//
//	logits_t = out(final_norm(x_t))    (no final_norm under post-norm)
//	loss     = Σ_t w_tag · (log Σ_c exp(logits_tc) − logits_t,tag)
//
// over the tokens that have a tag, divided by their number in the batch, or by 1 if there are
// none; w are [Settings.ClassWeights]. A token of [seq.NoLabel] is read as any other, and has no
// loss. A whole sequence is embedded as the mean of final_norm(x_t) over its tokens.
//
// Source: Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional
// Transformers for Language Understanding", NAACL 2019, section 5.3.
type tagging struct{ ofRows }

func (tagging) sequences() int { return 1 }

func (tagging) describe(c *Config, s seq.Spec) error {
	switch {
	case s.Task != Tagging:
		return fmt.Errorf("the data are of the task %s, expected %s: they have no label for each token", s.Task,
			Tagging)
	case len(s.LabelNames) == 0:
		return ErrNoLabels
	}
	c.LabelNames, c.NumLabels = s.LabelNames, len(s.LabelNames)
	c.Numbers, c.RegressionLoss = nil, ""
	c.dropMask()
	return nil
}

func (tagging) validate(c *Config) error { return classification{}.validate(c) }

func (tagging) settings(c *Config, s *Settings) error {
	parts := c.parts() != nil
	if s.Select == "" {
		s.Select = byMacroF1
		switch {
		case parts:
			s.Select = byIoU
		case !c.Featured() && metrics.NewTags(c.LabelNames, c.NumLabels).BIO():
			s.Select = bySpanF1
		}
	}
	some := []string{byAccuracy, byLoss, byMacroF1}
	switch {
	case parts:
		some = append(some, byIoU)
	case s.Select == byIoU:
		return fmt.Errorf("select is %q: expected tokens with features, whose tags are all called CATEGORY/PART", byIoU)
	}
	switch {
	case !c.Featured():
		some = append(some, bySpanF1)
	case s.Select == bySpanF1:
		return fmt.Errorf("select is %q: tokens with features have no order, and make no spans", bySpanF1)
	}
	if err := measured(c, s.Select, some...); err != nil {
		return err
	}
	if n := len(s.ClassWeights); n > 0 && n != c.NumLabels {
		return fmt.Errorf("%d weights of classes, the model has %d tags", n, c.NumLabels)
	}
	return nil
}

func (tagging) check(c *Config, e seq.Example) error {
	switch {
	case e.Labels == nil:
		return fmt.Errorf("no labels, expected one for each of the %d tokens", e.First())
	case len(e.Labels) != e.First():
		return fmt.Errorf("%d labels, expected one for each of the %d tokens", len(e.Labels), e.First())
	}
	for i, label := range e.Labels {
		if label != seq.NoLabel && (label < 0 || int(label) >= c.NumLabels) {
			return fmt.Errorf("label %d of token %d, expected 0 to %d, or %d for none", label, i,
				c.NumLabels-1, seq.NoLabel)
		}
	}
	return nil
}

func (tagging) parameters(c *Config) []Parameter { return fillMask{}.parameters(c) }

func (tagging) readout(m *emitter, p *recordedPass) readout {
	if m.mode.loss() {
		return &targetRows{emitter: m, pass: p}
	}
	return &tokenRows{emitter: m, pass: p}
}

// tokenRows reads the rows of all tokens, for a pass without a loss, and their mean beside.
type tokenRows struct {
	*emitter
	pass *recordedPass
}

func (t *tokenRows) forward(x *tensor.Tensor) *tensor.Tensor {
	if t.config.NormPosition == "pre" {
		x, _ = t.norm("final_norm", x)
	}
	score := t.tokens("pool.equal", 1)
	t.Launch(tensor.Zero{Y: score})
	t.pass.Pooled = t.Temp("pooled", tensor.Sequences, t.shape.Sequences, t.config.HiddenSize)
	t.Launch(tensor.Pool{Y: t.pass.Pooled, A: t.tokens("pool.weights", 1), X: x, Score: score, Batch: t.batch})
	t.Keep(t.pass.Pooled)
	return x
}

func (t *tokenRows) backward(*tensor.Tensor) *tensor.Tensor {
	panic("sft: a pass without a loss has no backward")
}

func (tagging) head(m *emitter) head { return &linearHead{emitter: m} }

func (tagging) loss(m *emitter, p *recordedPass) *tensor.Tensor { return crossEntropy(m, p) }

func (tagging) divisor(_ *Config, batch []seq.Example, _ drawing) (n int) {
	for _, e := range batch {
		n += tagged(e)
	}
	return max(1, n)
}

// tagged is how many tokens of an example have a tag.
func tagged(e seq.Example) (n int) {
	for _, label := range e.Labels {
		if label != seq.NoLabel {
			n++
		}
	}
	return n
}

// weight is 1: the losses of tokens have their weights already (weigh).
func (tagging) weight(*Settings, seq.Example) float64 { return 1 }

func (tagging) evaluation() passMode { return inferMode }

func (tagging) measure(c *Config, s *Settings) measurement {
	m := &tagMeasurement{config: c, tally: metrics.NewTagging(c.LabelNames, c.NumLabels), parts: c.parts(),
		sample: newLogitSample(s)}
	if s.SpanDecoding && s.Select == bySpanF1 {
		m.decoding = metrics.NewDecodingChoice(c.LabelNames, c.NumLabels)
	}
	return m
}

// tagMeasurement is what a model of tagging reaches on a split.
type tagMeasurement struct {
	config   *Config
	tally    *metrics.Tagging
	decoding *metrics.DecodingChoice // nil where none is made
	parts    *metrics.Parts          // nil where tags are none
	loss     float64
	sample   *metrics.LogitSample
}

func (m *tagMeasurement) temperature() float64 { return m.sample.Temperature() }

func (m *tagMeasurement) add(logits []float32, e seq.Example) {
	m.loss += m.config.TaggingLossOf(logits, e)
	m.tally.Add(e.Labels, m.config.likeliestTags(logits))
	if m.decoding != nil {
		m.decoding.Add(e.Labels, logits)
	}
	for t, label := range e.Labels {
		if label != seq.NoLabel {
			m.sample.Add(int(label), logits[t*m.config.NumLabels:(t+1)*m.config.NumLabels])
		}
	}
	if m.parts != nil {
		m.parts.Add(e.Labels, m.parts.Among(e.Labels, logits))
	}
}

func (m *tagMeasurement) report(r *EvaluationReport) {
	r.Loss = m.loss / float64(m.tally.Tokens())
	r.Accuracy, r.MacroF1 = new(m.tally.Accuracy()), new(m.tally.MacroF1())
	if !m.config.Featured() {
		spans := m.tally.AllSpans()
		if m.decoding != nil {
			var d metrics.SpanDecoding
			d, spans = m.decoding.Best()
			r.SpanDecoding = new(SpanDecoding(d))
		}
		r.SpanF1, r.SpanF1AtIoU50 = new(spans.F1), new(spans.Overlap.F1)
	}
	if m.parts != nil {
		r.InstanceIoU, r.ClassIoU = new(m.parts.InstanceIoU()), new(m.parts.ClassIoU())
	}
}

// parts measures the parts of categories, where a model tags tokens with features, and all tags are
// called as parts; nil otherwise.
func (c *Config) parts() *metrics.Parts {
	if c.Task != Tagging || !c.Featured() {
		return nil
	}
	return metrics.NewParts(c.LabelNames)
}

// TaggingLossOf is the cross-entropy of the tags of an example of tagging, which has one label
// for each token or [seq.NoLabel], summed over its tokens.
func (c *Config) TaggingLossOf(logits []float32, e seq.Example) (loss float64) {
	for t, label := range e.Labels {
		if label != seq.NoLabel {
			loss += metrics.CrossEntropy(logits[t*c.NumLabels:(t+1)*c.NumLabels], int(label))
		}
	}
	return loss
}

// pack adds the tokens of an example that have a tag.
func (tagging) pack(p *packed, _ *Config, e seq.Example, d drawing) []int32 {
	if !d.mode.loss() {
		return e.A
	}
	from := int32(len(p.position))
	for t, label := range e.Labels {
		if label == seq.NoLabel {
			p.targetOf = append(p.targetOf, tensor.NoRow)
			continue
		}
		p.targetOf = append(p.targetOf, int32(len(p.targetRow)))
		p.targetRow = append(p.targetRow, from+int32(t))
		p.label = append(p.label, label)
	}
	return e.A
}

// weigh multiplies the loss of each token by the weight of its label.
func (tagging) weigh(b *packed, losses []float32, weight []float64) {
	if len(weight) == 0 {
		return
	}
	for i := range losses {
		losses[i] = float32(float64(losses[i]) * weight[b.label[i]])
	}
}

// read has the logits of all tokens, in a pass without a loss.
func (tagging) read(p *recordedPass, b *packed) (pooled, logits int) {
	if p.Loss != nil {
		return 0, 0
	}
	return len(b.example), int(b.counts.Tokens)
}

func (tagging) perToken() bool { return true }

func (tagging) pools() bool { return false }

func (tagging) targetCapacity(_ *Config, tokens, _ int) int { return tokens }

func (tagging) headOperations(c *Config, _ int) float64 {
	return float64(c.HiddenSize) * float64(c.NumLabels)
}

// errNoTags: there is nothing to learn, or to measure.
var errNoTags = errors.New("no token has a label")

// checkTags reports a split of which no token has a label.
func checkTags(c *Config, f *seq.File) error {
	if c.Task != Tagging {
		return nil
	}
	for row := range f.Len() {
		e, err := f.Example(row)
		if err != nil {
			return err
		}
		if tagged(e) > 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: %w in its %d rows", f.Name(), errNoTags, f.Len())
}
