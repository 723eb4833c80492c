package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawnFusion has rows whose class follows from the first model's logits, a second model that is noise, and a third
// that is the negative of the first.
func drawnFusion(rows, outputs int, labels bool) *Fusion {
	random := rand.New(rand.NewPCG(1, 2))
	f := NewFusion(3, outputs, labels)
	for range rows {
		z := make([][]float32, 3)
		for m := range z {
			z[m] = make([]float32, outputs)
			for c := range z[m] {
				z[m][c] = float32(random.NormFloat64())
			}
		}
		var holds []int32
		best := 0
		for c := range outputs {
			z[2][c] = -z[0][c] + 0.1*z[2][c]
			noisy := func(c int) float64 { return 2*float64(z[0][c]) + random.NormFloat64() }
			if labels && noisy(c) > 0 {
				holds = append(holds, int32(c))
			}
			if noisy(c) > noisy(best) {
				best = c
			}
		}
		if !labels {
			holds = []int32{int32(best)}
		}
		f.Add(z, holds)
	}
	return f
}

// TestFusionDerivatives: gradient and Hessian are those by differences.
func TestFusionDerivatives(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	for _, labels := range []bool{false, true} {
		f := drawnFusion(150, 4, labels)
		w := []float64{0.8, 0.2, 0.4}
		_, gradient, hessian := f.at(w, prior)
		const step = 1e-5
		for m := range w {
			up, down := append([]float64(nil), w...), append([]float64(nil), w...)
			up[m], down[m] = w[m]+step, w[m]-step
			high, above, _ := f.at(up, prior)
			low, below, _ := f.at(down, prior)
			if want := (high - low) / (2 * step); math.Abs(gradient[m]-want) > 1e-8 {
				t.Errorf("labels %v: gradient %d is %v, by differences %v", labels, m, gradient[m], want)
			}
			for k := range w {
				if want := (above[k] - below[k]) / (2 * step); math.Abs(hessian.At(m, k)-want) > 1e-8 {
					t.Errorf("labels %v: second derivative %d, %d is %v, by differences %v", labels, m,
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
	for _, labels := range []bool{false, true} {
		f := drawnFusion(3000, 4, labels)
		w := f.Weights(prior)
		_, gradient, _ := f.at(w, prior)
		for m := range w {
			if w[m] < 0 || w[m] > 0 && math.Abs(gradient[m]) > 1e-6 || w[m] == 0 && gradient[m] < -1e-6 {
				t.Errorf("labels %v: weight %v has the gradient %v", labels, w[m], gradient[m])
			}
		}
		if !(w[0] > 1 && w[1] < 0.1 && w[2] == 0) {
			t.Errorf("labels %v: weights %v", labels, w)
		}
		few := drawnFusion(99, 4, labels).Weights(prior)
		for m := range few {
			if few[m] != prior[m] {
				t.Errorf("labels %v: 99 rows give %v, expected the prior", labels, few)
			}
		}
	}
}

// TestFusionSample: of many rows some are kept, and the weights are about those of all.
func TestFusionSample(t *testing.T) {
	prior := []float64{0.6, 0.3, 0.1}
	f := drawnFusion(200_000, 4, false)
	if n := len(f.rows) * f.models * f.outputs; n > maxSampled || n < maxSampled/4 {
		t.Errorf("%d logits are kept", n)
	}
	some, few := f.Weights(prior), drawnFusion(20_000, 4, false).Weights(prior)
	for m := range some {
		if math.Abs(some[m]-few[m]) > 0.1 {
			t.Errorf("%v of many rows, %v of few", some, few)
		}
	}
}
