package sft

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// Ordinal is a task of classes in an order, that of their labels, such as one to five stars. Data of the task
// [Classification] are taken for it where [Config.Task] states it.
const Ordinal = "ordinal"

// ordinal predicts the class of a sequence, of classes 0 < 1 < … < K−1, with u its pooled row and y_k = 1
// where label ≥ k, 0 otherwise:
//
//	logits = out(u)
//	loss   = −Σ_k y_k·log σ(logits_k) + (1 − y_k)·log(1 − σ(logits_k))
//
// divided by the examples of the batch. y_0 is always 1. The class is that of the largest of
// [ordinalLogits].
//
// Source: Cheng, Wang, Pollastri, "A Neural Network Approach to Ordinal Regression", IJCNN 2008.
type ordinal struct{ classification }

// leastLogProbability stands for the logarithm of a probability that is 0, or less than it in float32.
const leastLogProbability = -100

// ordinalLogits has the logarithm of the probability of each class, of the logits of a model of the task
// ordinal: p_k = q_k − q_{k+1}, with q_k = min_{j≤k} σ(logits_j) for 0 < k < K, q_0 = 1 and q_K = 0. So their
// softmax is the probabilities, and the first of the largest is the class that is predicted.
func ordinalLogits(logits []float32) []float32 {
	out := make([]float32, len(logits))
	from := math.Inf(1) // q_k = σ(from)
	for k := range out {
		to := math.Inf(-1)
		if k+1 < len(logits) {
			to = min(from, float64(logits[k+1]))
		}
		// σ(a) − σ(b) = σ(a)·σ(−b)·(1 − exp(b − a))
		p := -softplus(-from) - softplus(to) + math.Log(-math.Expm1(to-from))
		out[k] = float32(max(p, leastLogProbability))
		from = to
	}
	return out
}

// ordinalLoss is the loss of an example of the task ordinal with the class.
func ordinalLoss(logits []float32, class int) float64 {
	reached := make([]int32, class+1)
	for k := range reached {
		reached[k] = int32(k)
	}
	return metrics.BinaryCrossEntropy(logits, reached)
}

func (ordinal) settings(c *Config, s *Settings) error {
	if s.Select != "" {
		if err := measured(c, s.Select, byAccuracy, byLoss, byMacroF1, byAUC, byMAE, OneStandardError); err != nil {
			return err
		}
	}
	if len(s.ClassWeights) > 0 {
		return fmt.Errorf("weights of classes, expected none: the loss of the task %s has a term for each step between classes", c.Task)
	}
	return nil
}

func (ordinal) pack(p *packed, c *Config, e seq.Example, d drawing) []int32 {
	if d.mode.loss() {
		for k := range c.NumLabels {
			y := float32(0)
			if int(e.Label) >= k {
				y = 1
			}
			p.target = append(p.target, y)
		}
	}
	return classification{}.pack(p, c, e, d)
}

func (ordinal) loss(m *emitter, p *recordedPass) *tensor.Tensor { return multiLabel{}.loss(m, p) }

func (ordinal) lossFactors(c *Config, scale float64, _ []float64) lossFactors {
	return multiLabel{}.lossFactors(c, scale, nil)
}

func (ordinal) weight(*Settings, seq.Example) float64 { return 1 }

func (ordinal) answered(logits []float32, e seq.Example) bool {
	return classification{}.answered(ordinalLogits(logits), e)
}

func (ordinal) hasTemperature() bool { return false }

// outputs are log-probabilities of the classes.
func (ordinal) outputs(_ *Config, logits []float32) []float32 { return ordinalLogits(logits) }

func (ordinal) measure(c *Config, s *Settings) measurement {
	return &ordinalMeasurement{tally: metrics.NewValidation(c.NumLabels, s.Select == byAUC)}
}

// ordinalMeasurement is what a model of classes in an order reaches on a split.
type ordinalMeasurement struct {
	tally     *metrics.Validation
	loss, off float64 // off counts classes between the answer and the label
	rows      int
}

func (m *ordinalMeasurement) add(logits []float32, e seq.Example) {
	z := ordinalLogits(logits)
	m.loss += ordinalLoss(logits, int(e.Label))
	m.tally.Add(int(e.Label), z)
	m.off += math.Abs(float64(Argmax(z) - int(e.Label)))
	m.rows++
}

func (m *ordinalMeasurement) report(r *EvaluationReport) {
	(&classMeasurement{tally: m.tally, loss: m.loss, rows: m.rows}).report(r)
	r.MAE = new(m.off / float64(m.rows))
}
