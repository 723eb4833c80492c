package baseline

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// numbersSet returns a data set with three numbers per row: 1000 plus the number of times that
// token 1 follows token 2, random noise, and the constant 3.
func numbersSet(t *testing.T, rows int) *seq.Dataset {
	t.Helper()
	spec := seq.Spec{Task: seq.Regression, VocabSize: 5, Tokenizer: []byte(`{"type":"ids","vocab":5}`),
		NumberNames: []string{"pairs", "noise", "three"}}
	return dataset(t, spec, map[string]int{"train": rows, "test": rows / 3}, func(random *rand.Rand) seq.Example {
		e := seq.Example{Label: seq.NoLabel, A: make([]int32, 20+random.IntN(60)),
			Numbers: []float32{1000, random.Float32(), 3}}
		for i := range e.A {
			e.A[i] = int32(random.IntN(5))
			if i > 0 && e.A[i] == 1 && e.A[i-1] == 2 {
				e.Numbers[0]++
			}
		}
		return e
	})
}

// TestRidge checks that ridge regression predicts counts of bigrams and constants, and predicts noise
// hardly better than the mean of the noise.
func TestRidge(t *testing.T) {
	set := numbersSet(t, 300)
	numbers := must.Get(Ridge(context.Background(), set, "test", seq.Window{}))(t)
	if n := numbers[0]; n.R2 < 0.999 || n.MAE > 0.05 {
		t.Errorf("counts of bigrams: got %+v, want R² ≥ 0.999", n)
	}
	if n := numbers[1]; n.R2 > 0.1 || n.R2 < -0.5 {
		t.Errorf("noise: got %+v, want R² near 0", n)
	}
	if n := numbers[2]; n.Defined || n.MAE > 1e-6 {
		t.Errorf("constant 3: got %+v, want undefined R² and no error", n)
	}
	short := must.Get(Ridge(context.Background(), set, "test", seq.Window{Length: 1}))(t, "window of one token")
	if short[0].R2 > 0.1 {
		t.Errorf("window of one token: got %+v, want R² ≤ 0.1", short[0])
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	must.FailWith(t, context.Canceled, "a cancelled context")(Ridge(ctx, set, "test", seq.Window{}))
}

// TestConjugateGradients checks that the gradient is 0 at the fitted weights.
func TestConjugateGradients(t *testing.T) {
	rows := [][]feature{{{0, 1}, {1, 2}}, {{1, 1}}, {{0, 2}, {2, 1}}, {{2, 3}}}
	y := []float64{1, 2, 4, 8}
	const penalty = 0.3
	l := must.Get(solve(context.Background(), rows, 3, y, penalty))(t)
	for bucket := range uint32(3) {
		g := penalty * 4 * l.weights[bucket]
		for i, x := range rows {
			for _, f := range x {
				if f.bucket == bucket {
					g += float64(f.weight) * (l.predict(x) - y[i])
				}
			}
		}
		if math.Abs(g) > 1e-9 {
			t.Errorf("bucket %d: got gradient %v, want 0", bucket, g)
		}
	}
}

// TestRidgeOfGraphs checks that sums over nodes and edges are predicted, even if some graphs have
// no edges, and that numbers that depend on the ends of edges are predicted less accurately.
func TestRidgeOfGraphs(t *testing.T) {
	spec := seq.Spec{Task: seq.Regression, FeatureNames: []string{"kind"}, EdgeFeatureNames: []string{"length"},
		NumberNames: []string{"nodes", "lengths", "like"}}
	row := 0
	set := dataset(t, spec, map[string]int{"train": 300, "test": 300}, func(random *rand.Rand) seq.Example {
		e := seq.Example{Label: seq.NoLabel, Features: make([][]float32, 4+random.IntN(8)), Edges: []seq.Edge{},
			Numbers: make([]float32, 3)}
		for j := range e.Features {
			e.Features[j] = []float32{float32(random.IntN(2))}
			e.Numbers[0] += 2 + 3*e.Features[j][0]
		}
		for range 5 * min(1, row%9) {
			x := seq.Edge{Source: random.Int32N(int32(len(e.Features))), Target: random.Int32N(int32(len(e.Features))),
				Features: []float32{random.Float32()}}
			e.Edges = append(e.Edges, x)
			e.Numbers[1] += x.Features[0]
			if e.Features[x.Source][0] == e.Features[x.Target][0] {
				e.Numbers[2] += 10
			}
		}
		row++
		return e
	})
	numbers := must.Get(Ridge(t.Context(), set, "test", seq.Window{}))(t)
	if numbers[0].R2 < 0.999 || numbers[1].R2 < 0.999 || numbers[2].R2 > 0.9 {
		t.Errorf("got %+v, want R² near 1, near 1 and below 0.9", numbers)
	}
	const want = "sums and moments, ridge regression"
	if name := RidgeName(set.Manifest); name != want {
		t.Errorf("got the name %q, want %q", name, want)
	}
}
