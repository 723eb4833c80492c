package sft

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// Scorer computes a model's outputs on a device, or those of an ensemble. It is safe for
// concurrent use: as many passes run at once as the device has slots.
type Scorer struct {
	engine *engine
	linear *linearScorer // in place of an engine, of a linear model
	others []*Scorer     // of an ensemble, behind the first model
	fusion *Fusion       // by which their logits are summed; nil for the mean of their probabilities
	shares int64         // of the device's memory, of which it has one; 0 stands for 1
	slots  chan *slot
	urgent chan *slot // of urgent passes, nil if the device is not preemptive
}

// Output is what a model says of one example.
type Output struct {
	Logits []float32 // of a model of tagging, those of each token, one after another
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

// newSharedScorer is a scorer that has one of so many shares of the device's memory.
func newSharedScorer(m *Model, device Device, shares int) (*Scorer, error) {
	if m.linear != nil {
		return newLinearScorer(m), nil
	}
	e, err := newEngine(m.Config, m.Weights, device)
	if err != nil {
		return nil, err
	}
	s := newScorer(e, device.Slots())
	s.shares = int64(shares)
	if _, ok := tensor.Capability[tensor.Preemptive](e.device); ok {
		s.urgent = make(chan *slot, 1)
		s.urgent <- e.slot()
	}
	return s, nil
}

// Close frees the device's memory. Nothing is scored any more.
func (s *Scorer) Close() {
	if s.engine != nil {
		s.engine.close()
	}
	for _, o := range s.others {
		o.Close()
	}
}

func newScorer(e *engine, slots int) *Scorer {
	s := &Scorer{engine: e, slots: make(chan *slot, slots)}
	for range slots {
		s.slots <- e.slot()
	}
	return s
}

// Config is the configuration of the scorer's model.
func (s *Scorer) Config() *Config {
	if s.linear != nil {
		return s.linear.config
	}
	return s.engine.config
}

// Kernels names what computes: the same bits are promised for one kind.
func (s *Scorer) Kernels() string {
	if l := s.withLayers(); l != nil {
		return l.engine.device.Kernels()
	}
	return LinearType
}

// Preemptive reports whether the device computes urgent passes at once: a context of
// [Urgent] makes a call's passes such.
func (s *Scorer) Preemptive() bool {
	l := s.withLayers()
	return l != nil && l.urgent != nil
}

// withLayers is the first model that has layers, and so a device; nil if all are linear.
func (s *Scorer) withLayers() *Scorer {
	for _, one := range append([]*Scorer{s}, s.others...) {
		if one.engine != nil {
			return one
		}
	}
	return nil
}

// Reserve has the device leave n processors to the rest of the program, if it shares
// them and has more than one.
func (s *Scorer) Reserve(n int) {
	l := s.withLayers()
	if l == nil {
		return
	}
	if p, ok := tensor.Capability[tensor.Preemptive](l.engine.device); ok {
		p.Reserve(n)
	}
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
	if s.others != nil {
		return s.ensemble(ctx, examples)
	}
	return s.score(ctx, examples, inferMode)
}

// score runs passes of a mode that answers.
func (s *Scorer) score(ctx context.Context, examples []seq.Example, mode passMode) ([]Output, error) {
	if _, err := s.Config().answering(); err != nil {
		return nil, err
	}
	if s.linear != nil {
		return s.linear.examples(ctx, examples)
	}
	out := make([]Output, len(examples))
	err := s.results(ctx, examples, mode, func(at, n int, r *result) { s.split(r, examples[at:at+n], out[at:at+n]) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// results runs passes of a mode and hands the results of each to f, with the index of its
// first example and their number.
func (s *Scorer) results(ctx context.Context, examples []seq.Example, mode passMode,
	f func(at, n int, r *result)) error {
	err := tryInParallel(s.threads(ctx, 1), len(examples), func(i int) error {
		if err := s.engine.config.CheckExample(examples[i]); err != nil {
			return fmt.Errorf("example %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.eachPass(ctx, examples, mode, func(ctx context.Context, l *slot, at int, g []seq.Example) error {
		r, err := l.run(ctx, g, drawing{mode: mode, seed: s.engine.config.SamplerSeed})
		if err == nil {
			f(at, len(g), r)
		}
		return err
	})
}

// measured is what a measurement adds up of each example.
func (s *Scorer) measured(ctx context.Context, examples []seq.Example) ([][]float32, error) {
	out := make([][]float32, len(examples))
	mode := s.engine.config.objective().evaluation()
	err := s.results(ctx, examples, mode, func(at, n int, r *result) {
		x := r.logits
		if mode == lossMode {
			x = r.loss
		}
		for i := at; i < at+n; i++ {
			numbers := s.engine.config.measuredNumbers(examples[i])
			out[i], x = x[:numbers:numbers], x[numbers:]
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// measuredNumbers is how many numbers a measurement has of an example.
func (c *Config) measuredNumbers(e seq.Example) int {
	if c.objective().evaluation() == lossMode {
		return 1
	}
	return c.logits(e)
}

// logits is how many the output for an example has.
func (c *Config) logits(e seq.Example) int {
	if c.objective().perToken() {
		return e.First() * c.NumLabels
	}
	return c.NumLabels
}

// eachPass cuts examples into passes of a mode and calls f with each, the index of
// its first example and a slot of its own, several at once. The first error ends
// it.
func (s *Scorer) eachPass(ctx context.Context, examples []seq.Example, mode passMode,
	f func(ctx context.Context, l *slot, at int, g []seq.Example) error) error {
	plan := s.limits(mode)
	if err := s.admit(plan, mode, examples); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := s.slots
	if s.urgent != nil && tensor.IsUrgent(ctx) {
		slots = s.urgent
	}
	var wg sync.WaitGroup
	first := 0
	passes := forwardPasses(examples, plan.size)
	for _, g := range passes {
		var l *slot
		select {
		case l = <-slots:
		case <-ctx.Done():
		}
		if l == nil {
			break
		}
		at := first
		first += len(g)
		l.pack = s.threads(ctx, len(passes))
		wg.Go(func() {
			defer func() { slots <- l }()
			if err := f(ctx, l, at, g); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// threads are those of a call that make each of so many passes ready. Beside one that somebody
// waits for or much else, it is no more than need be.
func (s *Scorer) threads(ctx context.Context, passes int) int {
	if tensor.IsUrgent(ctx) || tensor.IsPatient(ctx) {
		return s.engine.packers
	}
	return s.engine.threads(passes)
}

// split shares a pass's results out to its examples.
func (s *Scorer) split(r *result, examples []seq.Example, out []Output) {
	c := s.engine.config
	d, towers, logits := c.HiddenSize, c.Sequences(), r.logits
	for i := range out {
		n := c.logits(examples[i])
		out[i].Logits, logits = c.objective().outputs(c, logits[:n:n]), logits[n:]
		out[i].Numbers = c.objective().numbers(c, out[i].Logits)
		for t := range towers {
			at := (i*towers + t) * d
			out[i].Embeddings = append(out[i].Embeddings, r.pooled[at:at+d])
		}
		if r.explanations != nil {
			out[i].Explanations = r.explanations[i*towers : (i+1)*towers]
		}
		if r.hidden != nil {
			out[i].HiddenStates = r.hidden[i*towers : (i+1)*towers]
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

// CheckExample reports the first thing that keeps the model from reading an
// example.
func (c *Config) CheckExample(e seq.Example) error {
	if c.Sequences() == 1 {
		if e.B != nil {
			return fmt.Errorf("a pair of sequences, but the model reads one")
		}
		if c.Featured() {
			return cmp.Or(c.CheckFeatures(e.Features), c.CheckEdges(e.Edges, len(e.Features)))
		}
		if e.Features != nil {
			return fmt.Errorf("features, but the model reads tokens")
		}
		if e.Edges != nil {
			return c.CheckEdges(e.Edges, len(e.A))
		}
		return c.CheckTokens(e.A)
	}
	if err := c.CheckTokens(e.A); err != nil {
		return fmt.Errorf("first sequence: %w", err)
	}
	if err := c.CheckTokens(e.B); err != nil {
		return fmt.Errorf("second sequence: %w", err)
	}
	return nil
}
