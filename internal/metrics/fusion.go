package metrics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// fusionRidge is λ of [Fusion.Weights]. minFusionRows is the number of rows below which the weights
// equal the prior.
const (
	fusionRidge   = 5.0
	minFusionRows = 100
)

// Fusion fits the weights w of an ensemble, whose outputs are a weighted sum of the outputs of its
// models:
//
//	z_i = Σ_m w_m z_im
//
// Outputs are logits of classes (one class per row), logits of labels (several labels per row), or
// numbers. Fusion keeps the outputs of all rows, or of every second, fourth, … row if there are
// many.
type Fusion struct {
	models, outputs int
	kind            FusionKind
	rows            []fusionRow
	stride, seen    int // Add keeps one of stride rows; seen counts all
}

// FusionKind is the kind of the outputs of a [Fusion]. It determines the loss of a row.
type FusionKind int

// Kinds of outputs, with their losses.
const (
	FusedClasses FusionKind = iota // cross-entropy
	FusedLabels                    // binary cross-entropy of each label
	FusedNumbers                   // half the squared error of each number
)

// Truth has the target of a row: its class, its labels in ascending order, or its numbers.
type Truth struct {
	Labels  []int32 // the class alone, or the labels
	Numbers []float64
}

type fusionRow struct {
	outputs []float32 // outputs of the first model, then of the second, …
	truth   Truth
}

// NewFusion returns a Fusion for the given number of models and of outputs per model.
func NewFusion(models, outputs int, kind FusionKind) *Fusion {
	return &Fusion{models: models, outputs: outputs, kind: kind, stride: 1}
}

// Add adds a row: the outputs of each model and the target.
func (f *Fusion) Add(outputs [][]float32, truth Truth) {
	if f.seen++; (f.seen-1)%f.stride != 0 {
		return
	}
	r := fusionRow{truth: truth}
	for _, z := range outputs {
		r.outputs = append(r.outputs, z...)
	}
	f.rows = append(f.rows, r)
	if len(f.rows)*f.models*f.outputs > maxSampled && len(f.rows) > 1 {
		kept := 0
		for i := 0; i < len(f.rows); i += 2 {
			f.rows[kept] = f.rows[i]
			kept++
		}
		clear(f.rows[kept:])
		f.rows, f.stride = f.rows[:kept], 2*f.stride
	}
}

// Empty reports whether no row was added.
func (f *Fusion) Empty() bool { return len(f.rows) == 0 }

// Weights returns the weights w ≥ 0 that minimise the mean loss of n rows plus λ/n·‖w − prior‖²,
// with λ = 5. With few rows the weights stay near the prior; below 100 rows they are the prior. The
// objective is convex. Weights applies Newton's method to the weights that are not fixed at 0, and
// halves each step until the objective decreases.
func (f *Fusion) Weights(prior []float64) []float64 {
	w := append([]float64(nil), prior...)
	if len(f.rows) < minFusionRows {
		return w
	}
	value, gradient, hessian := f.objective(w, prior)
	for range 100 {
		step := newtonStep(w, gradient, hessian)
		next, size := make([]float64, len(w)), 1.0
		var nextValue float64
		var g []float64
		var h *mat.SymDense
		for range 40 {
			for m := range w {
				next[m] = max(0, w[m]-size*step[m])
			}
			if nextValue, g, h = f.objective(next, prior); nextValue < value {
				break
			}
			size /= 2
		}
		if !(nextValue < value) {
			break
		}
		done := value-nextValue < 1e-12*(1+math.Abs(value))
		value, gradient, hessian, w = nextValue, g, h, next
		if done {
			break
		}
	}
	return w
}

// newtonStep solves H·s = g for the free weights: weights above 0, and weights at 0 that a descent
// step would increase.
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
	if !factor.Factorize(h) || factor.SolveVecTo(&s, g) != nil { // impossible: the ridge keeps h positive definite
		copy(step, gradient)
		return step
	}
	for a, m := range free {
		step[m] = s.AtVec(a)
	}
	return step
}

// objective returns the objective at w, its gradient and its Hessian.
func (f *Fusion) objective(w, prior []float64) (value float64, gradient []float64, hessian *mat.SymDense) {
	n := float64(len(f.rows))
	gradient, hessian = make([]float64, f.models), mat.NewSymDense(f.models, nil)
	h := make([]float64, f.models*f.models)
	z, p, means := make([]float64, f.outputs), make([]float64, f.outputs), make([]float64, f.models)
	for _, r := range f.rows {
		output := func(m, c int) float64 { return float64(r.outputs[m*f.outputs+c]) }
		r.sum(w, z)
		if f.kind != FusedClasses {
			value += f.addOutputs(r, z, gradient, h, output)
			continue
		}
		class := int(r.truth.Labels[0])
		value += SoftmaxInto(p, z) - z[class]
		for m := range w {
			means[m] = 0
			for c := range p {
				means[m] += p[c] * output(m, c)
			}
			gradient[m] += means[m] - output(m, class)
		}
		for m := range w {
			for k := range m + 1 {
				sum := 0.0
				for c := range p {
					sum += p[c] * output(m, c) * output(k, c)
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

// addOutputs adds the derivatives of the losses of a row's labels or numbers to gradient and h, and
// returns the sum of the losses. Each label or number depends on a single output.
func (f *Fusion) addOutputs(r fusionRow, z, gradient, h []float64, output func(m, c int) float64) (value float64) {
	labels := r.truth.Labels
	for c := range z {
		var loss, slope, curvature float64
		if f.kind == FusedNumbers {
			d := z[c] - r.truth.Numbers[c]
			loss, slope, curvature = d*d/2, d, 1
		} else {
			y := 0.0
			if len(labels) > 0 && int(labels[0]) == c {
				y, labels = 1, labels[1:]
			}
			p := 1 / (1 + math.Exp(-z[c]))
			loss = max(z[c], 0) - y*z[c] + math.Log1p(math.Exp(-math.Abs(z[c])))
			slope, curvature = p-y, p*(1-p)
		}
		value += loss
		for m := range f.models {
			gradient[m] += slope * output(m, c)
			for k := range m + 1 {
				h[m*f.models+k] += curvature * output(m, c) * output(k, c)
			}
		}
	}
	return value
}

// sum writes the weighted sum of the models' outputs to z.
func (r *fusionRow) sum(w, z []float64) {
	for c := range z {
		z[c] = 0
		for m := range w {
			z[c] += w[m] * float64(r.outputs[m*len(z)+c])
		}
	}
}

// SoftmaxInto writes the softmax of z to p, which may be z, and returns log Σ exp z.
func SoftmaxInto(p, z []float64) float64 {
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
