package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// kinds are those of fusions.
var kinds = []FusionKind{FusedClasses, FusedLabels, FusedNumbers}

// drawnFusion has rows whose truth follows from the first model's outputs, a second model that is noise, and a third
// that is the negative of the first.
func drawnFusion(rows, outputs int, kind FusionKind) *Fusion {
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

// TestFusionDerivatives: gradient and Hessian are those by differences.
func TestFusionDerivatives(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	for _, kind := range kinds {
		f := drawnFusion(150, 4, kind)
		w := []float64{0.8, 0.2, 0.4}
		_, gradient, hessian := f.at(w, prior)
		const step = 1e-5
		for m := range w {
			up, down := append([]float64(nil), w...), append([]float64(nil), w...)
			up[m], down[m] = w[m]+step, w[m]-step
			high, above, _ := f.at(up, prior)
			low, below, _ := f.at(down, prior)
			if want := (high - low) / (2 * step); math.Abs(gradient[m]-want) > 1e-8 {
				t.Errorf("kind %v: gradient %d is %v, by differences %v", kind, m, gradient[m], want)
			}
			for k := range w {
				if want := (above[k] - below[k]) / (2 * step); math.Abs(hessian.At(m, k)-want) > 1e-8 {
					t.Errorf("kind %v: second derivative %d, %d is %v, by differences %v", kind, m,
						k, hessian.At(m, k), want)
				}
			}
		}
	}
}

// TestFusionWeights: no weight is below 0, the minimum satisfies the conditions of Karush, Kuhn and Tucker, the model
// that decides the classes gets most, one that contradicts it nothing, and few rows keep the prior.
func TestFusionWeights(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	for _, kind := range kinds {
		f := drawnFusion(3000, 4, kind)
		w := f.Weights(prior)
		_, gradient, _ := f.at(w, prior)
		for m := range w {
			if w[m] < 0 || w[m] > 0 && math.Abs(gradient[m]) > 1e-6 || w[m] == 0 && gradient[m] < -1e-6 {
				t.Errorf("kind %v: weight %v has the gradient %v", kind, w[m], gradient[m])
			}
		}
		if !(w[0] > 1 && w[1] < 0.1 && w[2] == 0) {
			t.Errorf("kind %v: weights %v", kind, w)
		}
		few := drawnFusion(99, 4, kind).Weights(prior)
		for m := range few {
			if few[m] != prior[m] {
				t.Errorf("kind %v: 99 rows give %v, expected the prior", kind, few)
			}
		}
	}
}

// TestFusionSample: of many rows some are kept, and the weights are about those of all.
func TestFusionSample(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	f := drawnFusion(200_000, 4, FusedClasses)
	if n := len(f.rows) * f.models * f.outputs; n > maxSampled || n < maxSampled/4 {
		t.Errorf("%d logits are kept", n)
	}
	some, few := f.Weights(prior), drawnFusion(20_000, 4, FusedClasses).Weights(prior)
	for m := range some {
		if math.Abs(some[m]-few[m]) > 0.1 {
			t.Errorf("%v of many rows, %v of few", some, few)
		}
	}
}

// TestFusionFit: the sum of two models that know different things is better than each, and few rows keep the prior, which
// is normalised for numbers.
func TestFusionFit(t *testing.T) {
	for _, kind := range kinds {
		both := NewFusion(2, 3, kind)
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
			both.Add(z, truth)
		}
		fit := both.Fit([]float64{0.6, 0.3})
		if s := fit.Sum; fit.Rows != 2000 || !(s.Loss < 0.9*min(fit.Members[0].Loss, fit.Members[1].Loss)) ||
			kind == FusedClasses && !(s.Accuracy > fit.Members[0].Accuracy+0.05) ||
			math.Abs(fit.Weights[0]/fit.Weights[1]-1) > 0.2 {
			t.Errorf("kind %v: %+v", kind, fit)
		}
		if (fit.Thresholds != nil) != (kind == FusedLabels) || kind == FusedNumbers && fit.Temperature != 1 {
			t.Errorf("kind %v: %+v", kind, fit)
		}
		few := drawnFusion(99, 4, kind).Fit([]float64{0.6, 0.3, 0.3})
		want := []float64{0.6, 0.3, 0.3}
		if kind == FusedNumbers {
			want = []float64{0.5, 0.25, 0.25}
		}
		for m := range want {
			if math.Abs(few.Weights[m]-want[m]) > 1e-15 {
				t.Errorf("kind %v: 99 rows give %v, expected %v", kind, few.Weights, want)
			}
		}
	}
}

// TestFusionFitKeepsOne: a model that adds nothing to a perfect one has the weight 0, so that it need not be run.
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
	fit := f.Fit([]float64{0.1, 0.9})
	if w := fit.Weights; !(w[0] > 0) || w[1] != 0 || fit.Sum.Accuracy < 1 || !(fit.Sum.Loss <= fit.Members[0].Loss) {
		t.Errorf("%+v", fit)
	}
}
