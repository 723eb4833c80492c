package sft

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	linearmodel "github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/recent"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// ErrLinear is the error for calls that need layers: embeddings and their comparison, hidden states
// and masked tokens.
var ErrLinear = errors.New("expected a model with layers, found a linear model of n-grams: " +
	"sftseq train custom --members sft trains a model with layers")

// errLinearRanks is the error for several ranks with a linear model.
var errLinearRanks = errors.New("a linear model predicts in a single process: run the command without mpirun or srun")

// loadLinear reads a linear model in dir, where c is its configuration.
func loadLinear(dir string, c *Config) (*Model, error) {
	l, err := linearmodel.Load(dir)
	if err != nil {
		return nil, err
	}
	shape := []int{l.Features(), l.Columns()}
	p := &config.Parameters{List: []config.Parameter{{Name: "weights", Shape: shape}, {Name: "bias", Shape: shape[1:]}}}
	return &Model{Config: c, Parameters: p, linear: l}, nil
}

// WriteWeights writes all weights in a fixed order. Configuration and weights determine a model's
// outputs.
func (m *Model) WriteWeights(w io.Writer) error {
	if m.linear != nil {
		return m.linear.WriteWeights(w)
	}
	for part := range slices.Chunk(m.Weights, 1<<14) { // binary.Write copies its argument
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return model.WriteNGrams(w, m.Config, m.NGrams)
}

// layered returns an error if the scorer has no layers or several models.
func (s *Scorer) layered() error {
	if s.linear != nil {
		return ErrLinear
	}
	if s.others != nil {
		return ErrEnsemble
	}
	return nil
}

// Sizes of the work of a linear model.
const (
	linearTokens = 1 << 16 // result of [Scorer.PassTokens]
	linearPart   = 16      // consecutive examples that a thread takes at a time
)

// linearScorer computes the outputs of a linear model.
type linearScorer struct {
	config     *Config
	model      *linearmodel.Model
	predictors sync.Pool
	documents  *recent.List[*linearmodel.Document] // nil without a cache
}

func newLinearScorer(m *Model) *Scorer {
	return &Scorer{linear: &linearScorer{config: m.Config, model: m.linear,
		predictors: sync.Pool{New: func() any { return m.linear.NewPredictor() }}}}
}

func (s *linearScorer) threads() int { return runtime.GOMAXPROCS(0) }

// score returns the output of each example.
func (s *linearScorer) score(ctx context.Context, examples []seq.Example) ([]Output, error) {
	out := make([]Output, len(examples))
	err := s.forEach(ctx, len(examples), func(p *linearmodel.Predictor, i int) (err error) {
		out[i], err = s.scoreOne(p, &examples[i], i)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// explain adds explanations of each sequence to the outputs of examples. It multiplies the
// contributions to the output by scale, but not the contributions of shared tokens to the cosine.
func (s *linearScorer) explain(ctx context.Context, examples []seq.Example, out []Output, scale float64) error {
	return s.forEach(ctx, len(examples), func(p *linearmodel.Predictor, i int) error {
		output := 0
		if out[i].Numbers == nil {
			output = Argmax(out[i].Logits)
		}
		for n, e := range p.Explain(&examples[i], output) {
			out[i].Explanations[n].Linear = &LinearExplanation{Output: output,
				NGrams: nGramsOf(e.NGrams, scale), Rest: float32(e.Rest * scale), Shared: nGramsOf(e.Shared, 1)}
		}
		return nil
	})
}

func nGramsOf(all []linearmodel.NGram, scale float64) []NGramExplanation {
	out := make([]NGramExplanation, len(all))
	for i, g := range all {
		out[i].Contribution = float32(g.Contribution * scale)
		for _, place := range g.Places {
			out[i].Places = append(out[i].Places, [2]int32{int32(place[0]), int32(place[1])})
		}
	}
	return out
}

// forEach calls work for each of n examples on all threads, or on one thread if the call is urgent or
// patient.
func (s *linearScorer) forEach(ctx context.Context, n int, work func(p *linearmodel.Predictor, i int) error) error {
	threads := min(s.threads(), (n+linearPart-1)/linearPart)
	if tensor.IsUrgent(ctx) || tensor.IsPatient(ctx) {
		threads = min(threads, 1)
	}
	errs := make([]error, threads)
	var next atomic.Int64
	var group sync.WaitGroup
	for w := range threads {
		group.Go(func() {
			p := s.predictors.Get().(*linearmodel.Predictor)
			defer s.predictors.Put(p)
			for errs[w] == nil {
				at := int(next.Add(linearPart)) - linearPart
				if at >= n {
					return
				}
				if errs[w] = context.Cause(ctx); errs[w] != nil {
					return
				}
				for i := at; i < min(at+linearPart, n) && errs[w] == nil; i++ {
					errs[w] = work(p, i)
				}
			}
		})
	}
	group.Wait()
	return cmp.Or(errs...)
}

// scoreOne returns the output of the example with index i.
func (s *linearScorer) scoreOne(p *linearmodel.Predictor, e *seq.Example, i int) (out Output, err error) {
	if err := s.config.CheckExample(*e); err != nil {
		return out, fmt.Errorf("example %d: %w", i, err)
	}
	if s.documents == nil || !s.keeps(e) {
		return s.outputOf(p.Logits(e)), nil
	}
	d, prefix, suffix := s.documents.Take(e.A)
	if d == nil {
		d = &recent.Sequence[*linearmodel.Document]{Value: s.model.NewDocument()}
	}
	out = s.outputOf(p.Edit(d.Value, d.Tokens, e.A, prefix, suffix))
	d.Tokens = slices.Replace(d.Tokens, prefix, len(d.Tokens)-suffix, e.A[prefix:len(e.A)-suffix]...)
	s.documents.Put(d, s.model.DocumentBytes())
	return out, nil
}

// cache makes the scorer keep the n-grams of recent documents, up to limit bytes. It does nothing for
// models of pairs, or if one document needs at least half of the limit.
func (s *linearScorer) cache(limit int64) {
	if s.config.Sequences() == 1 && s.model.DocumentBytes() < limit/2 {
		s.documents = recent.NewList[*linearmodel.Document](limit)
	}
}

// sharedTokens estimates the number of leading and trailing tokens that an example shares with the
// most similar recent document. It returns 0 without a cache.
func (s *linearScorer) sharedTokens(e *seq.Example) int {
	shared := 0
	if s.documents != nil && s.keeps(e) {
		s.documents.Peek(e.A, func(_ *recent.Sequence[*linearmodel.Document], prefix, suffix int) {
			shared = prefix + suffix
		})
	}
	return shared
}

// keeps reports whether the n-grams of an example are worth keeping.
func (s *linearScorer) keeps(e *seq.Example) bool {
	// For a shorter example, a count per feature costs more than it saves.
	return len(e.A) >= max(recent.MinTokens, s.model.Features()/8)
}

// outputOf returns the output with these logits.
func (s *linearScorer) outputOf(logits []float64) (out Output) {
	for _, z := range logits {
		out.Logits = append(out.Logits, float32(z))
	}
	out.Numbers = outputKindOf(s.config).numbers(s.config, out.Logits)
	return out
}
