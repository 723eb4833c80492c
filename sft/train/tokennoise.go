package train

import (
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// addNoise returns the examples with random noise for training. It drops each token with
// probability TokenDeletion and replaces each remaining token with a random token of the vocabulary
// with probability TokenReplacement. A sequence that would lose all tokens does not change. With deletion,
// different steps train on different parts of a row, which reduces overfitting on small data sets. Point
// clouds get no token noise: addNoise stretches, rotates, scales and shifts them. It mirrors and shifts
// images before it adds the token noise.
//
// The noise of a token depends only on (seed, row, sequence, step, position), not on the batch or a resume.
// The examples passed in do not change.
//
// Sources: Iyyer, Manjunatha, Boyd-Graber, Daumé III, "Deep Unordered Composition Rivals Syntactic
// Methods for Text Classification", ACL 2015 (word dropout); Xie et al., "Data Noising as Smoothing
// in Neural Network Language Models", ICLR 2017 (replacement).
func (s *Settings) addNoise(c *config.Config, examples []seq.Example, step, threads int) []seq.Example {
	if s.TokenDeletion == 0 && s.TokenReplacement == 0 && !s.augmentsPoints() && !s.augmentsImages() {
		return examples
	}
	out := slices.Clone(examples)
	model.InParallel(threads, len(out), func(_, i int) {
		e := &out[i]
		if c.HasFeatures() {
			e.Features = s.augmentPoints(c, *e, step)
			return
		}
		if s.augmentsImages() {
			e.A = s.augmentImage(e.A, e.Index, step)
		}
		counter := philox.Counter(0, 0, 0, philox.StreamNoise, e.Index, uint32(step))
		if c.PerToken() { // for other tasks, Labels belong to the row
			e.Labels = s.keepLabels(e.Labels, counter)
		}
		e.A = s.addTokenNoise(c, e.A, counter)
		e.B = s.addTokenNoise(c, e.B, philox.Counter(0, 1, 0, philox.StreamNoise, e.Index, uint32(step)))
	})
	return out
}

// addTokenNoise returns a sequence with noise. counter is the random counter of its first token.
func (s *Settings) addTokenNoise(c *config.Config, tokens []int32, counter [4]uint32) []int32 {
	if tokens == nil { // a row without a second sequence
		return nil
	}
	deletion, replacement := float32(s.TokenDeletion), float32(s.TokenReplacement)
	out := make([]int32, 0, len(tokens))
	for i, token := range tokens {
		counter[0] = uint32(i)
		w := philox.Words(s.Seed, counter)
		if philox.Uniform(w[0]) < deletion {
			continue
		}
		if philox.Uniform(w[1]) < replacement {
			token = model.RandomToken(c, w[2])
		}
		out = append(out, token)
	}
	if len(out) == 0 {
		return tokens
	}
	return out
}

// keepLabels returns the labels of the remaining tokens. A replaced token keeps its label.
func (s *Settings) keepLabels(labels []int32, counter [4]uint32) []int32 {
	var out []int32
	for i, label := range labels {
		counter[0] = uint32(i)
		if philox.Uniform(philox.Words(s.Seed, counter)[0]) >= float32(s.TokenDeletion) {
			out = append(out, label)
		}
	}
	if len(out) == 0 {
		return labels
	}
	return out
}
