package modeltest

import (
	"context"
	"math"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// Explain returns the outputs of a scorer with explanations.
func Explain(t *testing.T, s *sft.Scorer, examples []seq.Example) []sft.Output {
	t.Helper()
	return must.Get(s.Explain(context.Background(), examples))(t)
}

// CompareExplanation compares got with the reference and returns the largest absolute error. It ends
// the test if sizes or positions differ.
func CompareExplanation(t *testing.T, got sft.Explanation, want ReferenceExplanation) (worst float64) {
	t.Helper()
	compare := func(x float32, y float64) { worst = max(worst, math.Abs(float64(x)-y)) }
	if len(got.Layers) != len(want.layers) || len(got.Pooling) != len(want.pooling) {
		t.Fatalf("%d layers, %d tokens, want %d, %d", len(got.Layers), len(got.Pooling),
			len(want.layers), len(want.pooling))
	}
	for i, a := range want.pooling {
		compare(got.Pooling[i], a)
	}
	for l, layer := range got.Layers {
		if len(layer.Positions) != len(want.layers[l]) || len(layer.Weights) != len(layer.Positions) ||
			len(layer.Mass) != len(layer.Positions) {
			t.Fatalf("layer %d: %v, want %v", l, layer, want.layers[l])
		}
		for i, position := range layer.Positions {
			x, ok := want.layers[l][position]
			if !ok || i > 0 && layer.Positions[i-1] >= position {
				t.Fatalf("layer %d: positions %v, want the ascending positions of %v", l, layer.Positions,
					want.layers[l])
			}
			compare(layer.Weights[i], x[0])
			compare(layer.Mass[i], x[1])
		}
	}
	return worst
}

// CheckSums checks the number of sampled tokens, that no weight or mass is negative, that the pooling
// adds up to 1, and that the weights of k duplets add up to k. The masses of a layer must add up to at
// most 1, and to 1 for softmax. The model must not have chunks.
func CheckSums(t *testing.T, c *config.Config, e sft.Explanation) {
	t.Helper()
	sum := func(x []float32) (sum float64) {
		for _, v := range x {
			if !(v >= 0) {
				t.Errorf("a weight or mass is %v, want 0 or more", v)
			}
			sum += float64(v)
		}
		return sum
	}
	if a := sum(e.Pooling); math.Abs(a-1) > 1e-5 {
		t.Errorf("the pooling adds up to %v, want 1", a)
	}
	for l, layer := range e.Layers {
		k := min(c.NumSampledTokens, len(e.Pooling))
		if n := min(2*k, len(e.Pooling)); len(layer.Positions) != n {
			t.Errorf("layer %d: %d tokens were sampled, want %d", l, len(layer.Positions), n)
		}
		if w := sum(layer.Weights); math.Abs(w-float64(k)) > 1e-5*float64(k) {
			t.Errorf("layer %d: the weights of %d duplets add up to %v, want their number", l, k, w)
		}
		if mass := sum(layer.Mass); mass > 1+1e-5 || c.Probability == "softmax" && mass < 1-1e-5 {
			t.Errorf("layer %d: %s: the masses add up to %v, want at most 1, for softmax 1", l, c.Probability, mass)
		}
	}
}
