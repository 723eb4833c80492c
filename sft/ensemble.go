package sft

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// ErrEnsemble is the error for calls that need a single model, such as explanations, embeddings,
// hidden states and filled masks.
var ErrEnsemble = errors.New("an ensemble only predicts: expected a single model for explanations, embeddings, hidden states or masks")

// NewEnsemble returns a scorer that averages the predictions of several models. With p_m the
// probability of a class, of a label or of a token's tag by model m of M,
//
//	p = 1/M Σ_m p_m
//
// and the logits are log p for classes and log p − log(1 − p) for labels. Numbers are the mean of
// the models' numbers. Models trained on the same data with different seeds err on different
// examples, so that their mean usually errs on fewer. Time and memory are the sums over the models.
//
// A label is predicted if its mean probability is at least its mean threshold ([MeanThresholds]). The
// models must have the same inputs and outputs ([config.Config.SameInputsAndOutputs]) but may differ
// in size, and flat and chunked models may predict together. [Scorer.Config] has the smallest maximum
// length and the mean thresholds; the rest of it is the first model's. An ensemble of one model has
// the model's outputs.
//
// Source: Lakshminarayanan, Pritzel, Blundell, "Simple and Scalable Predictive Uncertainty
// Estimation using Deep Ensembles", NeurIPS 2017.
func NewEnsemble(models []*Model, device Device) (*Scorer, error) {
	if len(models) == 0 {
		return nil, errors.New("ensemble: expected at least one model, found none")
	}
	for i, m := range models[1:] {
		if err := models[0].Config.SameInputsAndOutputs(m.Config); err != nil {
			return nil, fmt.Errorf("model %d of the ensemble: %w", i+2, err)
		}
	}
	first := *models[0].Config
	first.Thresholds = MeanThresholds(models)
	for _, m := range models {
		first.MaxLength = min(first.MaxLength, m.Config.MaxLength)
	}
	return newMembers(models, &first, device)
}

// newMembers copies several models to a device. The parameter first is the configuration that the first
// model has in the scorer.
func newMembers(models []*Model, first *Config, device Device) (*Scorer, error) {
	var s *Scorer
	for i, m := range models {
		if i == 0 {
			m = &Model{Config: first, Parameters: m.Parameters, Weights: m.Weights, NGrams: m.NGrams,
				linear: m.linear}
		}
		member, err := newSharedScorer(m, device, len(models))
		if err != nil {
			if s != nil {
				s.Close()
			}
			return nil, err
		}
		if s == nil {
			s = member
		} else {
			s.others = append(s.others, member)
		}
	}
	return s, nil
}

// Members returns the number of models that predict together.
func (s *Scorer) Members() int { return 1 + len(s.others) }

// MeanThresholds returns the mean of the models' thresholds for each label. It returns nil, which
// means 0.5 for every label, if no model has thresholds.
func MeanThresholds(models []*Model) []float64 {
	if !slices.ContainsFunc(models, func(m *Model) bool { return m.Config.Thresholds != nil }) {
		return nil
	}
	out := make([]float64, models[0].Config.NumLabels)
	for label := range out {
		first, same, sum := models[0].Config.Threshold(label), true, 0.0
		for _, m := range models {
			same = same && m.Config.Threshold(label) == first
			sum += m.Config.Threshold(label)
		}
		if out[label] = min(1, sum/float64(len(models))); same { // avoids rounding
			out[label] = first
		}
	}
	return out
}

// MemberOutputs returns the outputs of each model, indexed by model and example.
func (s *Scorer) MemberOutputs(ctx context.Context, examples []seq.Example) (all [][]Output, err error) {
	for _, member := range append([]*Scorer{s}, s.others...) {
		inputs := examples
		if s.fusion != nil {
			inputs = truncate(member.Config(), examples)
		}
		outputs, err := member.score(ctx, inputs, model.InferMode)
		if err != nil {
			return nil, err
		}
		all = append(all, outputs)
	}
	return all, nil
}

// ensemble scores examples with all models.
func (s *Scorer) ensemble(ctx context.Context, examples []seq.Example) ([]Output, error) {
	if err := s.Config().CheckHasPredictions(); err != nil {
		return nil, err
	}
	all, err := s.MemberOutputs(ctx, examples)
	if err != nil {
		return nil, err
	}
	return s.Combine(all), nil
}

// Combine returns one output per example from the outputs of all models, as [Scorer.MemberOutputs]
// returns them.
func (s *Scorer) Combine(all [][]Output) []Output {
	kind := outputKindOf(s.Config())
	out := make([]Output, len(all[0]))
	logits := make([][]float32, len(all))
	for i := range out {
		for j := range all {
			logits[j] = all[j][i].Logits
		}
		if s.fusion != nil {
			out[i].Logits = s.fusion.Sum(logits)
		} else {
			out[i].Logits = kind.mean(s.Config(), logits)
		}
		out[i].Numbers = kind.numbers(s.Config(), out[i].Logits)
	}
	return out
}

// meanOfClasses returns the logarithm of the mean of the probabilities softmax(logits). The
// parameter classes is the number of consecutive logits of each softmax.
func meanOfClasses(classes int, logits [][]float32) []float32 {
	out := make([]float32, len(logits[0]))
	for at := 0; at < len(out); at += classes {
		norms := make([]float64, len(logits))
		for j, l := range logits {
			norms[j] = logMeanExp(classes, func(i int) float64 { return float64(l[at+i]) }) + math.Log(float64(classes))
		}
		for i := at; i < at+classes; i++ {
			out[i] = float32(logMeanExp(len(logits), func(j int) float64 { return float64(logits[j][i]) - norms[j] }))
		}
	}
	return out
}

// meanOfLabels returns log p − log(1 − p), where p is the mean of the probabilities σ(logits).
func meanOfLabels(logits [][]float32) []float32 {
	out := make([]float32, len(logits[0]))
	for i := range out {
		yes := logMeanExp(len(logits), func(j int) float64 { return -softplus(-float64(logits[j][i])) })
		no := logMeanExp(len(logits), func(j int) float64 { return -softplus(float64(logits[j][i])) })
		out[i] = float32(yes - no)
	}
	return out
}

// meanOfNumbers returns the mean of the logits, which are standardised numbers.
func meanOfNumbers(logits [][]float32) []float32 {
	out := make([]float32, len(logits[0]))
	for i := range out {
		var sum float64
		for _, l := range logits {
			sum += float64(l[i])
		}
		out[i] = float32(sum / float64(len(logits)))
	}
	return out
}

// softplus returns log(1 + exp(x)).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logMeanExp returns log(1/n Σ_j exp(x_j)).
func logMeanExp(n int, x func(j int) float64) float64 {
	largest := math.Inf(-1)
	for j := range n {
		largest = max(largest, x(j))
	}
	if math.IsInf(largest, 0) || math.IsNaN(largest) {
		return largest
	}
	var sum float64
	for j := range n {
		sum += math.Exp(x(j) - largest)
	}
	return largest + math.Log(sum/float64(n))
}
