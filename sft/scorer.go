package sft

import (
	"context"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// Argmax returns the index of the largest value, the first of equal values.
func Argmax(x []float32) int { return int(metrics.Argmax(x)) }

// Probabilities returns the softmax of an example's logits, computed in float64 and rounded to
// float32.
func Probabilities(logits []float32) []float32 {
	p := make([]float32, len(logits))
	for i, v := range metrics.Softmax(logits) {
		p[i] = float32(v)
	}
	return p
}

// Scorer computes the outputs of a model or an ensemble on a device. It is safe for concurrent use.
// [Scorer.Slots] is the maximum number of concurrent passes.
type Scorer struct {
	runner *model.Runner
	linear *linearScorer // linear model, without a runner; otherwise nil
	others []*Scorer     // the ensemble's models after the first
	fusion *Fusion       // weights of the summed logits; nil means the mean of the predictions
}

// Output holds a model's results for one example.
type Output struct {
	Logits []float32 // for tagging, the logits of all tokens, concatenated
	// Numbers holds the predictions of a regression, in the units of the data. It is nil for other
	// tasks.
	Numbers []float32
	// Embeddings holds the pooled vector of the sequence, or of both sequences of a pair. It is nil
	// for an ensemble and for a linear model.
	Embeddings [][]float32
	// Explanations explains each sequence; set only by [Scorer.Explain].
	Explanations []Explanation
	// HiddenStates holds the hidden states of each sequence; set only by [Scorer.HiddenStates].
	HiddenStates []HiddenStates
}

// NewScorer copies a model's weights to a device. A linear model does not use the device, which may
// then be nil.
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

// Close frees the memory that the scorer uses on the device. No call may be running.
func (s *Scorer) Close() {
	if s.runner != nil {
		s.runner.Close()
	}
	for _, o := range s.others {
		o.Close()
	}
}

// Config returns the configuration of the scorer's model, or of the first model of an ensemble.
func (s *Scorer) Config() *Config {
	if s.linear != nil {
		return s.linear.config
	}
	return s.runner.Config()
}

// Kernels returns the name of the kernels. Results of kernels with equal names are bitwise identical.
func (s *Scorer) Kernels() string {
	if l := s.layeredRunner(); l != nil {
		return l.Kernels()
	}
	return config.LinearType
}

// Preemptive reports whether the device computes urgent passes before other passes. A context from
// [Urgent] makes the passes of a call urgent.
func (s *Scorer) Preemptive() bool {
	l := s.layeredRunner()
	return l != nil && l.Preemptive()
}

// layeredRunner returns the runner of the first model with layers, or nil if all models are linear.
func (s *Scorer) layeredRunner() *model.Runner {
	for _, member := range append([]*Scorer{s}, s.others...) {
		if member.runner != nil {
			return member.runner
		}
	}
	return nil
}

// HasLayers reports whether one of the scorer's models is not linear.
func (s *Scorer) HasLayers() bool { return s.layeredRunner() != nil }

// Reserve makes a CPU device leave n threads to the rest of the program. The device keeps at least
// one.
func (s *Scorer) Reserve(n int) {
	if l := s.layeredRunner(); l != nil {
		l.Reserve(n)
	}
}

// Slots returns the maximum number of concurrent passes, or the number of threads if all models are
// linear. If the scorer is [Scorer.Preemptive], urgent passes do not count.
func (s *Scorer) Slots() int {
	if l := s.layeredRunner(); l != nil {
		return l.SlotCount()
	}
	return s.linear.threads()
}

// PassTokens returns the maximum number of tokens in a pass of several sequences. A longer sequence has
// a pass of its own. Very short sequences may need several passes even if their total is smaller.
func (s *Scorer) PassTokens() int {
	if l := s.layeredRunner(); l != nil {
		return l.PassTokens()
	}
	return linearTokens
}

// Urgent returns a context for a short, interactive call. Other calls yield to it if the scorer is
// [Scorer.Preemptive]. The results are bitwise identical to those of other calls.
func Urgent(ctx context.Context) context.Context { return tensor.Urgent(ctx) }

// Patient returns a context for a long background call, which leaves CPU time to the rest of the
// program.
func Patient(ctx context.Context) context.Context { return tensor.Patient(ctx) }

// Examples returns the outputs of the examples, in the same order. Several examples may share a pass,
// but an output is bitwise identical to that of the example alone. If the model does not accept an
// example, the error states its index.
func (s *Scorer) Examples(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if s.others != nil || s.fusion != nil {
		return s.ensemble(ctx, examples)
	}
	return s.score(ctx, examples, model.InferMode)
}

// score predicts the examples. The mode decides whether outputs also have explanations or hidden
// states.
func (s *Scorer) score(ctx context.Context, examples []seq.Example, mode model.PassMode) ([]Output, error) {
	if err := s.Config().CheckHasPredictions(); err != nil {
		return nil, err
	}
	if s.linear != nil {
		return s.linear.score(ctx, examples)
	}
	out := make([]Output, len(examples))
	err := s.runner.Results(ctx, examples, mode,
		func(at, n int, r *model.Result) { s.split(r, examples[at:at+n], out[at:at+n]) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// split distributes a pass's results to its examples.
func (s *Scorer) split(r *model.Result, examples []seq.Example, out []Output) {
	c := s.Config()
	d, towers, logits := c.HiddenSize, c.Sequences(), r.Logits
	for i := range out {
		n := c.LogitCount(examples[i])
		out[i].Logits, logits = c.CalibratedLogits(logits[:n:n]), logits[n:]
		out[i].Numbers = outputKindOf(c).numbers(c, out[i].Logits)
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

// Embeddings returns the embeddings of sequences, in the same order, for example for a search by
// cosine similarity. An embedding is the pooled vector that the head reads; the head of a model of
// pairs reads the vectors of both sequences. For a tagging or fill-mask model, the embedding is the
// mean of the rows of the sequence's tokens or, with chunks, the mean of the contexts of the chunks.
// An embedding depends only on the sequence and the model. The head is not run.
func (s *Scorer) Embeddings(ctx context.Context, sequences [][]int32) ([][]float32, error) {
	examples := make([]seq.Example, len(sequences))
	for i, tokens := range sequences {
		examples[i].A = tokens
	}
	return s.EmbedExamples(ctx, examples)
}

// EmbedExamples is [Scorer.Embeddings] for examples of one sequence, whose tokens may have
// features.
func (s *Scorer) EmbedExamples(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	return s.runner.Embeddings(ctx, examples)
}

// Probe computes the embedding of the shortest sequence that the first model with layers accepts. An error
// means that the device has stopped working.
func (s *Scorer) Probe(ctx context.Context) error {
	if l := s.layeredRunner(); l != nil { // without layers there is no device that could fail
		return l.Probe(ctx)
	}
	return nil
}

// HiddenStates holds the rows of a sequence's tokens between layers: index 0 is the input of the
// first layer, index l the output of the l-th layer. Each element is [L, d], row-major. The final
// norm of pre-norm models is not applied.
type HiddenStates [][]float32

// HiddenStates scores examples like [Scorer.Examples], with bitwise identical results, and also returns
// the hidden states of each sequence. It holds the hidden states of all examples in memory.
func (s *Scorer) HiddenStates(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	if s.fusion != nil {
		examples = truncate(s.Config(), examples)
	}
	out, err := s.score(ctx, examples, model.HiddenMode)
	if err == nil && s.fusion != nil { // one regression model with a weight
		for i, o := range s.Combine([][]Output{out}) {
			out[i].Logits, out[i].Numbers = o.Logits, o.Numbers
		}
	}
	return out, err
}

// Compare returns the logits of pairs, row-major. Row i belongs to the pair of sequences with the
// embeddings a[i] and b[i], as returned by [Scorer.Embeddings]. [Scorer.Examples] returns bitwise
// identical logits. Compare runs only the head, so that many pairs of few sequences are cheap. A call
// uses one slot; several calls may run concurrently.
func (s *Scorer) Compare(ctx context.Context, a, b [][]float32) ([]float32, error) {
	if err := s.layered(); err != nil {
		return nil, err
	}
	logits, err := s.runner.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	c := s.Config()
	for at := 0; at < len(logits); at += c.NumLabels {
		copy(logits[at:at+c.NumLabels], c.CalibratedLogits(logits[at:at+c.NumLabels]))
	}
	return logits, nil
}
