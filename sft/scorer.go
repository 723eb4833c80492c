package sft

import (
	"context"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Argmax is the index of the largest value, the first of equals.
func Argmax(x []float32) int { return int(metrics.Argmax(x)) }

// Probabilities is the softmax of an example's logits, computed in float64 and
// rounded.
func Probabilities(logits []float32) []float32 {
	p := make([]float32, len(logits))
	for i, v := range metrics.Softmax(logits) {
		p[i] = float32(v)
	}
	return p
}

// Scorer computes a model's outputs on a device, or those of an ensemble. It is safe for
// concurrent use: the device's slots run as many passes concurrently.
type Scorer struct {
	runner *model.Runner
	linear *linearScorer // in place of a runner, of a linear model
	others []*Scorer     // further models of an ensemble
	fusion *Fusion       // by which their logits are summed; nil for the mean of their probabilities
}

// Output is what a model says of one example.
type Output struct {
	Logits []float32 // for tagging, the logits of each token one after another
	// Numbers are the predictions of a model of a regression, in the units of the data.
	Numbers []float32
	// Embeddings has the pooled vector of the sequence, or of each of a pair. An ensemble has none.
	Embeddings [][]float32
	// Explanations has what was read of each; of [Scorer.Explain] alone.
	Explanations []Explanation
	// HiddenStates has the rows of each after every layer; of [Scorer.HiddenStates] alone.
	HiddenStates []HiddenStates
}

// NewScorer puts a model's weights on a device.
func NewScorer(m *Model, device Device) (*Scorer, error) { return newSharedScorer(m, device, 1) }

// newSharedScorer returns a scorer that may use 1/shares of the device's memory.
func newSharedScorer(m *Model, device Device, shares int) (*Scorer, error) {
	if m.linear != nil {
		return newLinearScorer(m), nil
	}
	r, err := model.OpenRunner(m.Config, m.Weights, m.NGrams, device, shares)
	if err != nil {
		return nil, err
	}
	return &Scorer{runner: r}, nil
}

// Close frees the device's memory. Nothing is scored any more.
func (s *Scorer) Close() {
	if s.runner != nil {
		s.runner.Close()
	}
	for _, o := range s.others {
		o.Close()
	}
}

// Config is the configuration of the scorer's model.
func (s *Scorer) Config() *Config {
	if s.linear != nil {
		return s.linear.config
	}
	return s.runner.Config()
}

// Kernels names what computes: the same bits are promised for one kind.
func (s *Scorer) Kernels() string {
	if l := s.withLayers(); l != nil {
		return l.Kernels()
	}
	return config.LinearType
}

// Preemptive reports whether the device computes urgent passes before others. A context of [Urgent] makes the passes of
// a call urgent.
func (s *Scorer) Preemptive() bool {
	l := s.withLayers()
	return l != nil && l.Preemptive()
}

// withLayers is the runner of the first model that has layers, and so a device; nil if all are linear.
func (s *Scorer) withLayers() *model.Runner {
	for _, one := range append([]*Scorer{s}, s.others...) {
		if one.runner != nil {
			return one.runner
		}
	}
	return nil
}

// Reserve makes a CPU device leave n cores to the rest of the program, if it has more than one.
func (s *Scorer) Reserve(n int) {
	if l := s.withLayers(); l != nil {
		l.Reserve(n)
	}
}

// Slots is the number of passes that run concurrently.
func (s *Scorer) Slots() int {
	if l := s.withLayers(); l != nil {
		return l.SlotCount()
	}
	return s.linear.threads()
}

// PassTokens is how many tokens share a pass: sequences of no more in all are
// computed together, if none is very short.
func (s *Scorer) PassTokens() int {
	if l := s.withLayers(); l != nil {
		return l.PassTokens()
	}
	return linearTokens
}

// Urgent is ctx for a short call that somebody waits for. Longer ones give way to it,
// if the scorer is [Scorer.Preemptive]; no bit of any result changes.
func Urgent(ctx context.Context) context.Context { return tensor.Urgent(ctx) }

// Patient is ctx for a long call beside which a program does much else.
func Patient(ctx context.Context) context.Context { return tensor.Patient(ctx) }

// Examples scores examples, in their order. They share passes, which changes
// no bit of a result. An example that the model cannot read is an error that
// names its place.
func (s *Scorer) Examples(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if s.others != nil || s.fusion != nil {
		return s.ensemble(ctx, examples)
	}
	return s.score(ctx, examples, model.InferMode)
}

// score runs passes of a mode that answers.
func (s *Scorer) score(ctx context.Context, examples []seq.Example, mode model.PassMode) ([]Output, error) {
	if err := s.Config().CheckAnswers(); err != nil {
		return nil, err
	}
	if s.linear != nil {
		return s.linear.examples(ctx, examples)
	}
	out := make([]Output, len(examples))
	err := s.runner.Results(ctx, examples, mode,
		func(at, n int, r *model.Result) { s.split(r, examples[at:at+n], out[at:at+n]) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// split shares a pass's results out to its examples.
func (s *Scorer) split(r *model.Result, examples []seq.Example, out []Output) {
	c := s.Config()
	d, towers, logits := c.HiddenSize, c.Sequences(), r.Logits
	for i := range out {
		n := c.LogitCount(examples[i])
		out[i].Logits, logits = c.CalibratedLogits(logits[:n:n]), logits[n:]
		out[i].Numbers = answersOf(c).numbers(c, out[i].Logits)
		for t := range towers {
			at := (i*towers + t) * d
			out[i].Embeddings = append(out[i].Embeddings, r.Pooled[at:at+d])
		}
		if r.Explanations != nil {
			for _, x := range r.Explanations[i*towers : (i+1)*towers] {
				out[i].Explanations = append(out[i].Explanations, explanationOf(x))
			}
		}
		if r.Hidden != nil {
			for _, x := range r.Hidden[i*towers : (i+1)*towers] {
				out[i].HiddenStates = append(out[i].HiddenStates, x)
			}
		}
	}
}

// Classify scores one sequence.
func (s *Scorer) Classify(ctx context.Context, tokens []int32) (Output, error) {
	out, err := s.Examples(ctx, []seq.Example{{A: tokens}})
	if err != nil {
		return Output{}, err
	}
	return out[0], nil
}
