package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// evidenceDivisor is the ratio of the number of tokens in a sequence to the number in its evidence.
const evidenceDivisor = 10

// Evidence measures whether the weights of tokens in explanations identify the tokens on which
// predictions depend. The evidence of a sequence is the tenth of its tokens, rounded up, with the
// largest weights in [sft.Explanation.Pooling]. In a pair, each sequence has its own evidence.
//
// Source: DeYoung et al., "ERASER: A Benchmark to Evaluate Rationalized NLP Models", ACL 2020. Its
// sufficiency and comprehensiveness compare probabilities; Evidence compares predicted classes.
type Evidence struct {
	Rows int `json:"rows"` // rows whose sequences have at least two tokens
	// Kept and RandomKept count rows with an unchanged prediction from only the evidence, and from
	// only a random tenth of the tokens.
	Kept       int `json:"kept_by_evidence"`
	RandomKept int `json:"kept_by_random"`
	// Changed and RandomChanged count rows with another prediction without the evidence, and without
	// the random tenth.
	Changed       int `json:"changed_without_evidence"`
	RandomChanged int `json:"changed_without_random"`
	// P is the two-sided p-value of McNemar's exact test between Changed and RandomChanged.
	P float64 `json:"p"`

	// Rows with another prediction only without the evidence, or only without the random tenth.
	onlyEvidence, onlyRandom int
}

// CanMeasureEvidence returns an error unless the scorer's model reads tokens, predicts one class per row
// and can explain predictions by weights of tokens.
func CanMeasureEvidence(s *sft.Scorer) error {
	c := s.Config()
	switch {
	case c.Task != seq.Classification && c.Task != seq.Retrieval:
		return fmt.Errorf("expected a model that predicts a class per row (%s or %s), found %s", seq.Classification,
			seq.Retrieval, c.Task)
	case c.HasFeatures():
		return errors.New("expected a model of tokens, found one of features")
	case !s.HasLayers():
		return errors.New("expected a model with layers, found a linear model, whose tokens have no weights")
	}
	return s.CanExplain()
}

// Add measures a batch of rows.
func (v *Evidence) Add(ctx context.Context, s *sft.Scorer, rows []seq.Example) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(e seq.Example) bool {
		return len(e.A) < 2 || e.B != nil && len(e.B) < 2
	})
	explained, err := s.Explain(ctx, rows)
	if err != nil {
		return err
	}
	const kinds = 4
	var variants []seq.Example
	for i, e := range rows {
		evidence, random := [2][]bool{}, [2][]bool{}
		for side, tokens := range [][]int32{e.A, e.B} {
			if tokens != nil {
				evidence[side] = largest(explained[i].Explanations[side].Pooling)
				random[side] = randomOf(len(tokens), e.Index, side)
			}
		}
		variants = append(variants, only(e, evidence, true), only(e, random, true), only(e, evidence, false),
			only(e, random, false))
	}
	outputs, err := s.Examples(ctx, variants)
	if err != nil {
		return err
	}
	for i := range rows {
		want := sft.Argmax(explained[i].Logits)
		var same [kinds]bool
		for k := range same {
			same[k] = sft.Argmax(outputs[kinds*i+k].Logits) == want
		}
		v.Rows++
		v.Kept += count(same[0])
		v.RandomKept += count(same[1])
		v.Changed += count(!same[2])
		v.RandomChanged += count(!same[3])
		v.onlyEvidence += count(!same[2] && same[3])
		v.onlyRandom += count(same[2] && !same[3])
	}
	v.P = mcNemar(v.onlyEvidence, v.onlyRandom)
	return nil
}

func count(x bool) int {
	if x {
		return 1
	}
	return 0
}

// largest selects the tenth of the tokens with the largest weights, the first among equal weights.
func largest(weights []float32) []bool {
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	out := make([]bool, len(weights))
	for _, i := range order[:evidenceTokens(len(weights))] {
		out[i] = true
	}
	return out
}

// randomOf selects a tenth of n tokens at random. The selection depends on the row and the side.
func randomOf(n int, row uint32, side int) []bool {
	out := make([]bool, n)
	for _, i := range rand.New(rand.NewPCG(uint64(row), uint64(side))).Perm(n)[:evidenceTokens(n)] {
		out[i] = true
	}
	return out
}

// evidenceTokens returns the number of tokens in the evidence of n tokens.
func evidenceTokens(n int) int { return (n + evidenceDivisor - 1) / evidenceDivisor }

// only is a filter: it returns the row with just the selected tokens if keep is set, otherwise with just
// the other tokens.
func only(e seq.Example, selected [2][]bool, keep bool) seq.Example {
	filter := func(tokens []int32, selected []bool) (out []int32) {
		for i, t := range tokens {
			if selected[i] == keep {
				out = append(out, t)
			}
		}
		return out
	}
	e.A = filter(e.A, selected[0])
	if e.B != nil {
		e.B = filter(e.B, selected[1])
	}
	return e
}

// mcNemar returns the two-sided p-value of McNemar's exact test: twice the probability of at most
// min(a, b) heads in a + b tosses of a fair coin, limited to 1.
func mcNemar(a, b int) float64 {
	if a == b {
		return 1
	}
	return min(1, 2*distuv.Binomial{N: float64(a + b), P: 0.5}.CDF(float64(min(a, b))))
}

// Write writes the result as text.
func (v *Evidence) Write(w io.Writer) error {
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(1, v.Rows)) }
	_, err := fmt.Fprintf(w, `rows                              %d
same class from a tenth of tokens  %5.1f%% with the largest weights, %.1f%% at random
another class without this tenth   %5.1f%% with the largest weights, %.1f%% at random (p = %.2g)
`, v.Rows, percent(v.Kept), percent(v.RandomKept), percent(v.Changed), percent(v.RandomChanged), v.P)
	return err
}
