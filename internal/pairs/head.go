package pairs

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/sftseq/sftseq/internal/metrics"
)

// head is a perceptron with one hidden layer of rectified linear units.
type head struct {
	inputs, hidden, outputs int
	mean, scale             []float64 // a standardised feature is (x − mean)·scale
	weights                 []float64 // hidden × inputs, hidden, outputs × hidden, outputs
}

func newHead(inputs, hidden, outputs int) *head {
	return &head{inputs, hidden, outputs, make([]float64, inputs), make([]float64, inputs),
		make([]float64, hidden*inputs+hidden+outputs*hidden+outputs)}
}

// parts splits a slice of all weights. It returns the weights w and biases b of the first layer, and
// the weights v and biases c of the second layer, without copying.
func (h *head) parts(all []float64) (w, b, v, c []float64) {
	w, all = all[:h.hidden*h.inputs], all[h.hidden*h.inputs:]
	b, all = all[:h.hidden], all[h.hidden:]
	return w, b, all[:h.outputs*h.hidden], all[h.outputs*h.hidden:]
}

// maxDeviation bounds standardised features, so that a single feature that is rare in training
// cannot determine the prediction.
const maxDeviation = 8

// standardise subtracts the training means from the features, divides by the standard deviations, and
// clips the results to ±maxDeviation.
func (h *head) standardise(x []float64) {
	for i, v := range x {
		x[i] = max(-maxDeviation, min(maxDeviation, (v-h.mean[i])*h.scale[i]))
	}
}

// forward computes the hidden units and the logits.
func (h *head) forward(x, hidden, logits []float64) {
	w, b, v, c := h.parts(h.weights)
	for i := range hidden {
		sum := b[i]
		for j, u := range w[i*h.inputs:][:len(x)] {
			sum += float64(u * x[j])
		}
		hidden[i] = max(0, sum)
	}
	for k := range logits {
		sum := c[k]
		for i, u := range v[k*h.hidden:][:len(hidden)] {
			sum += float64(u * hidden[i])
		}
		logits[k] = sum
	}
}

// loss returns the cross-entropy of logits, and sets errors to its derivatives with respect to the
// logits. A single logit belongs to class 1 of two classes; the logit of class 0 is then 0.
func loss(logits []float64, label int32, errors []float64) float64 {
	if len(logits) == 1 {
		z, e := logits[0], math.Exp(-math.Abs(logits[0]))
		p := 1 / (1 + e)
		if z < 0 {
			p = 1 - p
		}
		errors[0] = p - float64(label)
		return math.Log1p(e) + max(0, z) - z*float64(label)
	}
	norm := metrics.SoftmaxInto(errors, logits)
	errors[label]--
	return norm - logits[label]
}

// backward adds the gradient of a row's loss to gradient.
func (h *head) backward(x, hidden, errors, gradient []float64) {
	_, _, v, _ := h.parts(h.weights)
	gw, gb, gv, gc := h.parts(gradient)
	for k, e := range errors {
		gc[k] += e
		for i, u := range hidden {
			gv[k*h.hidden+i] += float64(e * u)
		}
	}
	for i, u := range hidden {
		if u == 0 {
			continue
		}
		g := 0.0
		for k, e := range errors {
			g += float64(e * v[k*h.hidden+i])
		}
		gb[i] += g
		row := gw[i*h.inputs:][:len(x)]
		for j, f := range x {
			row[j] += float64(g * f)
		}
	}
}

// sample has the features and labels of rows.
type sample struct {
	inputs   int
	features []float32
	labels   []int32
}

func (s *sample) row(i int, out []float64) {
	for j, v := range s.features[i*s.inputs:][:s.inputs] {
		out[j] = float64(v)
	}
}

// Hyperparameters of training: Adam (Kingma and Ba, ICLR 2015) with decoupled weight decay
// (Loshchilov and Hutter, ICLR 2019). The learning rate falls linearly towards 0.
const (
	batchRows   = 128
	batchParts  = 8 // a batch has 8 parts, whose gradients are summed in order
	rate        = 3e-3
	decay       = 1e-2
	beta1       = 0.9
	beta2       = 0.999
	epsilon     = 1e-8
	updatedRows = 1 << 20 // target for the rows over all epochs; minEpochs and maxEpochs take precedence
	minEpochs   = 12
	maxEpochs   = 60
)

// epochs returns the number of passes over n rows.
func epochs(n int) int { return max(minEpochs, min(maxEpochs, updatedRows/max(1, n))) }

// fit trains the head. It keeps the epoch with the lowest loss on val, or the last epoch if val is
// empty.
func (h *head) fit(ctx context.Context, train, val *sample, seed uint64, workers int) (losses []float64, kept int,
	err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	w, _, v, _ := h.parts(h.weights)
	for i := range w {
		w[i] = random.NormFloat64() * math.Sqrt(2/float64(h.inputs))
	}
	for i := range v {
		v[i] = random.NormFloat64() * math.Sqrt(1/float64(h.hidden))
	}
	n := len(train.labels)
	order := random.Perm(n)
	first, second := make([]float64, len(h.weights)), make([]float64, len(h.weights)) // moments of the gradient
	best, kept := []float64(nil), -1
	total := epochs(n) * ((n + batchRows - 1) / batchRows)
	step, workspace := 0, newWorkspace(h)
	for epoch := range epochs(n) {
		random.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for at := 0; at < n; at += batchRows {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			gradient := workspace.gradient(h, train, order[at:min(at+batchRows, n)], workers)
			step++
			learningRate := rate * (1 - float64(step-1)/float64(total))
			c1, c2 := 1-math.Pow(beta1, float64(step)), 1-math.Pow(beta2, float64(step))
			for i, g := range gradient {
				first[i] += (1 - beta1) * (g - first[i])
				second[i] += (1 - beta2) * (g*g - second[i])
				h.weights[i] -= learningRate * (first[i]/c1/(math.Sqrt(second[i]/c2)+epsilon) + decay*h.weights[i])
			}
		}
		if len(val.labels) == 0 {
			continue
		}
		losses = append(losses, h.loss(val))
		if kept < 0 || losses[epoch] < losses[kept] {
			kept, best = epoch, append(best[:0], h.weights...)
		}
	}
	if kept >= 0 {
		h.weights = best
	}
	for i, v := range h.weights {
		h.weights[i] = float64(float32(v))
	}
	return losses, kept, nil
}

// loss returns the mean cross-entropy of rows.
func (h *head) loss(s *sample) (sum float64) {
	x, hidden := make([]float64, h.inputs), make([]float64, h.hidden)
	logits, errors := make([]float64, h.outputs), make([]float64, h.outputs)
	for i, label := range s.labels {
		s.row(i, x)
		h.forward(x, hidden, logits)
		sum += loss(logits, label, errors)
	}
	return sum / float64(len(s.labels))
}

// workspace has the buffers for computing gradients.
type workspace struct {
	parts []part
	sum   []float64
}

type part struct{ x, hidden, logits, errors, gradient []float64 }

func newWorkspace(h *head) *workspace {
	w := &workspace{sum: make([]float64, len(h.weights))}
	for range batchParts {
		w.parts = append(w.parts, part{make([]float64, h.inputs), make([]float64, h.hidden),
			make([]float64, h.outputs), make([]float64, h.outputs), make([]float64, len(h.weights))})
	}
	return w
}

// gradient returns the gradient of the mean loss of rows. It does not depend on the number of
// workers.
func (w *workspace) gradient(h *head, s *sample, rows []int, workers int) []float64 {
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for p := worker; p < batchParts; p += workers {
				part := &w.parts[p]
				clear(part.gradient)
				for i := p; i < len(rows); i += batchParts {
					s.row(rows[i], part.x)
					h.forward(part.x, part.hidden, part.logits)
					loss(part.logits, s.labels[rows[i]], part.errors)
					h.backward(part.x, part.hidden, part.errors, part.gradient)
				}
			}
		})
	}
	group.Wait()
	clear(w.sum)
	for p := range w.parts {
		for i, g := range w.parts[p].gradient {
			w.sum[i] += g / float64(len(rows))
		}
	}
	return w.sum
}
