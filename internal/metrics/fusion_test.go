package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// kinds has all kinds of outputs.
var kinds = []FusionKind{FusedClasses, FusedLabels, FusedNumbers}

// randomFusion returns a Fusion of three models. The first model's outputs plus noise determine the
// targets, the second model's outputs are noise, and the third model's outputs are the negative of
// the first model's plus noise.
func randomFusion(rows, outputs int, kind FusionKind) *Fusion {
	random := rand.New(rand.NewPCG(1, 2))
	f := NewFusion(3, outputs, kind)
	for range rows {
		z := make([][]float32, 3)
		for m := range z {
			z[m] = make([]float32, outputs)
			for c := range z[m] {
				z[m][c] = float32(random.NormFloat64())
			}
		}
		var truth Truth
		best := 0
		for c := range outputs {
			z[2][c] = -z[0][c] + 0.1*z[2][c]
			noisy := func(c int) float64 { return 2*float64(z[0][c]) + random.NormFloat64() }
			if kind == FusedNumbers {
				truth.Numbers = append(truth.Numbers, noisy(c))
			}
			if kind == FusedLabels && noisy(c) > 0 {
				truth.Labels = append(truth.Labels, int32(c))
			}
			if noisy(c) > noisy(best) {
				best = c
			}
		}
		if kind == FusedClasses {
			truth.Labels = []int32{int32(best)}
		}
		f.Add(z, truth)
	}
	return f
}

// TestFusionDerivatives compares the gradient and the Hessian with finite differences.
func TestFusionDerivatives(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	for _, kind := range kinds {
		f := randomFusion(150, 4, kind)
		w := []float64{0.8, 0.2, 0.4}
		_, gradient, hessian := f.objective(w, prior)
		const step = 1e-5
		for m := range w {
			up, down := append([]float64(nil), w...), append([]float64(nil), w...)
			up[m], down[m] = w[m]+step, w[m]-step
			high, above, _ := f.objective(up, prior)
			low, below, _ := f.objective(down, prior)
			if want := (high - low) / (2 * step); math.Abs(gradient[m]-want) > 1e-8 {
				t.Errorf("kind %v: gradient %d is %v, want the finite difference %v", kind, m, gradient[m], want)
			}
			for k := range w {
				if want := (above[k] - below[k]) / (2 * step); math.Abs(hessian.At(m, k)-want) > 1e-8 {
					t.Errorf("kind %v: second derivative %d, %d is %v, want the finite difference %v", kind, m,
						k, hessian.At(m, k), want)
				}
			}
		}
	}
}

// TestFusionWeights checks that the weights are not negative and satisfy the Karush-Kuhn-Tucker
// conditions. The model that determines the targets gets the largest weight, the model that
// contradicts it gets 0, and few rows keep the prior.
func TestFusionWeights(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	for _, kind := range kinds {
		f := randomFusion(3000, 4, kind)
		w := f.Weights(prior)
		_, gradient, _ := f.objective(w, prior)
		for m := range w {
			if w[m] < 0 || w[m] > 0 && math.Abs(gradient[m]) > 1e-6 || w[m] == 0 && gradient[m] < -1e-6 {
				t.Errorf("kind %v: got weight %d = %v, gradient %v; want a weight > 0 and gradient 0, or 0 and ≥ 0",
					kind, m, w[m], gradient[m])
			}
		}
		if !(w[0] > 1 && w[1] < 0.1 && w[2] == 0) {
			t.Errorf("kind %v: got weights %v, want > 1, < 0.1 and 0", kind, w)
		}
		few := randomFusion(99, 4, kind).Weights(prior)
		for m := range few {
			if few[m] != prior[m] {
				t.Errorf("kind %v: got weights %v for 99 rows, want the prior", kind, few)
			}
		}
	}
}

// TestFusionSample checks that a Fusion of many rows keeps only some of them, and that the weights are
// about equal to the weights fitted on fewer rows.
func TestFusionSample(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	f := randomFusion(200_000, 4, FusedClasses)
	if n := len(f.rows) * f.models * f.outputs; n > maxSampled || n < maxSampled/4 {
		t.Errorf("got %d logits, want between maxSampled/4 and maxSampled", n)
	}
	many, few := f.Weights(prior), randomFusion(20_000, 4, FusedClasses).Weights(prior)
	for m := range many {
		if math.Abs(many[m]-few[m]) > 0.1 {
			t.Errorf("got weights %v for 200,000 rows, want about %v, as for 20,000 rows", many, few)
		}
	}
}

// TestFusionFit checks that the sum of two models with different information scores better than
// each model. Few rows keep the prior, which is normalised for numbers.
func TestFusionFit(t *testing.T) {
	for _, kind := range kinds {
		fusion := NewFusion(2, 3, kind)
		random := rand.New(rand.NewPCG(3, 4))
		for range 2000 {
			z, truth, best := [][]float32{make([]float32, 3), make([]float32, 3)}, Truth{}, 0
			var sum [3]float64
			for c := range 3 {
				z[0][c], z[1][c] = float32(random.NormFloat64()), float32(random.NormFloat64())
				sum[c] = float64(z[0][c]+z[1][c]) + random.NormFloat64()/2
				if sum[c] > sum[best] {
					best = c
				}
				if kind == FusedLabels && sum[c] > 0 {
					truth.Labels = append(truth.Labels, int32(c))
				}
			}
			switch kind {
			case FusedClasses:
				truth.Labels = []int32{int32(best)}
			case FusedNumbers:
				truth.Numbers = sum[:]
			}
			fusion.Add(z, truth)
		}
		fit := fusion.Fit([]float64{0.6, 0.3}, nil)
		if s := fit.Sum; fit.Rows != 2000 || !(s.Loss < 0.9*min(fit.Members[0].Loss, fit.Members[1].Loss)) ||
			kind == FusedClasses && !(s.Accuracy > fit.Members[0].Accuracy+0.05) ||
			math.Abs(fit.Weights[0]/fit.Weights[1]-1) > 0.2 {
			t.Errorf("kind %v: got %+v, want equal weights and a lower loss than each member's", kind, fit)
		}
		if (fit.Thresholds != nil) != (kind == FusedLabels) || kind == FusedNumbers && fit.Temperature != 1 {
			t.Errorf("kind %v: got %+v, want thresholds only for labels, temperature 1 for numbers", kind, fit)
		}
		few := randomFusion(99, 4, kind).Fit([]float64{0.6, 0.3, 0.3}, nil)
		want := []float64{0.6, 0.3, 0.3}
		if kind == FusedNumbers {
			want = []float64{0.5, 0.25, 0.25}
		}
		for m := range want {
			if math.Abs(few.Weights[m]-want[m]) > 1e-15 {
				t.Errorf("kind %v: got weights %v for 99 rows, want %v", kind, few.Weights, want)
			}
		}
	}
}

// TestFusionFitGroups checks that models of a group get equal weights: each copy of a model gets the
// weight of the single model divided by the number of copies.
func TestFusionFitGroups(t *testing.T) {
	for _, kind := range kinds {
		single, copies := randomFusion(1000, 4, kind), randomFusion(1000, 4, kind)
		copies.models = 5
		for i, r := range copies.rows {
			first, noise := r.outputs[:4], r.outputs[4:8]
			copies.rows[i].outputs = slices.Concat(first, noise, first, noise, r.outputs[8:])
		}
		prior := []float64{0.3, 0.3, 0.3}
		want := single.Fit(prior, nil)
		got := copies.Fit([]float64{0.15, 0.15, 0.15, 0.15, 0.3}, []int{0, 1, 0, 1, 2})
		for m, g := range []int{0, 1, 0, 1, 2} {
			share := []float64{0.5, 0.5, 1}[g]
			if math.Abs(got.Weights[m]-share*want.Weights[g]) > 1e-9 {
				t.Errorf("kind %v: got weights %v of copies, want those of single models, %v, divided by 2, 2 and 1",
					kind, got.Weights, want.Weights)
			}
		}
		if len(got.Members) != 5 || got.Members[2] != want.Members[0] || math.Abs(got.Sum.Loss-want.Sum.Loss) > 1e-9 {
			t.Errorf("kind %v: got scores %v and %v, want those of single models, %v and %v", kind, got.Members,
				got.Sum, want.Members, want.Sum)
		}
	}
}

// TestFusionFitKeepsOne checks that a noise model beside a perfect model gets the weight 0, so it
// need not run.
func TestFusionFitKeepsOne(t *testing.T) {
	f := NewFusion(2, 2, FusedClasses)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 400 {
		z := []float32{4, -4}
		if i%2 == 1 {
			z = []float32{-4, 4}
		}
		f.Add([][]float32{z, {float32(random.NormFloat64()), 0}}, Truth{Labels: []int32{int32(i % 2)}})
	}
	fit := f.Fit([]float64{0.1, 0.9}, nil)
	if w := fit.Weights; !(w[0] > 0) || w[1] != 0 || fit.Sum.Accuracy < 1 || !(fit.Sum.Loss <= fit.Members[0].Loss) {
		t.Errorf("got %+v, want the weight 0 for the second model", fit)
	}
}
