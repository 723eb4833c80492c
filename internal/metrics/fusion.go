package metrics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// fusionRidge is λ of [Fusion.Weights]; minFusionRows is the number of rows below which the prior is kept.
const (
	fusionRidge   = 5.0
	minFusionRows = 100
)

// Fusion fits weights by which the logits of several models are summed:
//
//	z_i = Σ_m w_m z_im
//
// It keeps the logits of rows, of many rows every second, fourth and so on, in their order.
type Fusion struct {
	models, outputs int
	labels          bool // several labels a row, each a binary problem
	rows            []fusionRow
	every, seen     int
}

type fusionRow struct {
	logits []float32 // model by model
	holds  []int32   // the class, or the labels of the row
}

// NewFusion fits weights of models with outputs, which are classes, or labels of which a row may have several.
func NewFusion(models, outputs int, labels bool) *Fusion {
	return &Fusion{models: models, outputs: outputs, labels: labels, every: 1}
}

// Add takes the logits of each model for a row, and the class or the labels of the row.
func (f *Fusion) Add(logits [][]float32, holds []int32) {
	if f.seen++; (f.seen-1)%f.every != 0 {
		return
	}
	r := fusionRow{holds: holds}
	for _, z := range logits {
		r.logits = append(r.logits, z...)
	}
	f.rows = append(f.rows, r)
	if len(f.rows)*f.models*f.outputs > maxSampled && len(f.rows) > 1 {
		kept := 0
		for i := 0; i < len(f.rows); i += 2 {
			f.rows[kept] = f.rows[i]
			kept++
		}
		f.rows, f.every = f.rows[:kept], 2*f.every
	}
}

// Weights minimise, over w ≥ 0 and n rows, the mean cross-entropy of the sums with λ/n·‖w − prior‖², λ = 5: few rows
// leave the weights at the prior, and below 100 rows they are the prior. The objective is convex; Newton's method on
// the weights that are not held at 0 finds the minimum, with steps that are halved until the objective falls.
func (f *Fusion) Weights(prior []float64) []float64 {
	w := append([]float64(nil), prior...)
	if len(f.rows) < minFusionRows {
		return w
	}
	value, gradient, hessian := f.at(w, prior)
	for range 100 {
		step := newtonStep(w, gradient, hessian)
		next, size := make([]float64, len(w)), 1.0
		var better float64
		var g []float64
		var h *mat.SymDense
		for range 40 {
			for m := range w {
				next[m] = max(0, w[m]-size*step[m])
			}
			if better, g, h = f.at(next, prior); better < value {
				break
			}
			size /= 2
		}
		if !(better < value) {
			break
		}
		done := value-better < 1e-12*(1+math.Abs(value))
		value, gradient, hessian, w = better, g, h, next
		if done {
			break
		}
	}
	return w
}

// newtonStep solves H·s = g on the weights that may move: those above 0, and those at 0 whose gradient points upwards.
func newtonStep(w, gradient []float64, hessian *mat.SymDense) []float64 {
	var free []int
	for m := range w {
		if w[m] > 0 || gradient[m] < 0 {
			free = append(free, m)
		}
	}
	step := make([]float64, len(w))
	if len(free) == 0 {
		return step
	}
	h, g := mat.NewSymDense(len(free), nil), mat.NewVecDense(len(free), nil)
	for a, m := range free {
		g.SetVec(a, gradient[m])
		for b := range a + 1 {
			h.SetSym(a, b, hessian.At(m, free[b]))
		}
	}
	var factor mat.Cholesky
	var s mat.VecDense
	if !factor.Factorize(h) || factor.SolveVecTo(&s, g) != nil { // the ridge keeps it positive definite
		copy(step, gradient)
		return step
	}
	for a, m := range free {
		step[m] = s.AtVec(a)
	}
	return step
}

// at returns the objective, its gradient and its Hessian.
func (f *Fusion) at(w, prior []float64) (value float64, gradient []float64, hessian *mat.SymDense) {
	n := float64(len(f.rows))
	gradient, hessian = make([]float64, f.models), mat.NewSymDense(f.models, nil)
	h := make([]float64, f.models*f.models)
	z, p, means := make([]float64, f.outputs), make([]float64, f.outputs), make([]float64, f.models)
	for _, r := range f.rows {
		of := func(m, c int) float64 { return float64(r.logits[m*f.outputs+c]) }
		for c := range z {
			z[c] = 0
			for m := range w {
				z[c] += w[m] * of(m, c)
			}
		}
		if f.labels {
			value += f.addLabels(r, z, gradient, h, of)
			continue
		}
		class := int(r.holds[0])
		value += softmaxOf(z, p) - z[class]
		for m := range w {
			means[m] = 0
			for c := range p {
				means[m] += p[c] * of(m, c)
			}
			gradient[m] += means[m] - of(m, class)
		}
		for m := range w {
			for k := range m + 1 {
				sum := 0.0
				for c := range p {
					sum += p[c] * of(m, c) * of(k, c)
				}
				h[m*f.models+k] += sum - means[m]*means[k]
			}
		}
	}
	value /= n
	for m := range w {
		d := w[m] - prior[m]
		value += fusionRidge / n * d * d
		gradient[m] = gradient[m]/n + 2*fusionRidge/n*d
		for k := range m + 1 {
			hessian.SetSym(m, k, h[m*f.models+k]/n)
		}
		hessian.SetSym(m, m, hessian.At(m, m)+2*fusionRidge/n)
	}
	return value, gradient, hessian
}

// addLabels adds the binary cross-entropies of a row's labels, and returns their sum.
func (f *Fusion) addLabels(r fusionRow, z, gradient, h []float64, of func(m, c int) float64) (value float64) {
	at := 0
	for c := range z {
		y := 0.0
		if at < len(r.holds) && int(r.holds[at]) == c {
			y, at = 1, at+1
		}
		p := 1 / (1 + math.Exp(-z[c]))
		value += max(z[c], 0) - y*z[c] + math.Log1p(math.Exp(-math.Abs(z[c])))
		for m := range f.models {
			gradient[m] += (p - y) * of(m, c)
			for k := range m + 1 {
				h[m*f.models+k] += p * (1 - p) * of(m, c) * of(k, c)
			}
		}
	}
	return value
}

// softmaxOf writes the softmax of z to p and returns log Σ exp z.
func softmaxOf(z, p []float64) float64 {
	top := z[0]
	for _, v := range z {
		top = max(top, v)
	}
	sum := 0.0
	for c, v := range z {
		p[c] = math.Exp(v - top)
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
	return top + math.Log(sum)
}
