package config

import (
	"math"

	"github.com/sftseq/sftseq/seq"
)

// Ordinal is the task of one of several ordered classes, such as one to five stars. The order is that of the labels. Data
// of the task [Classification] are taken for it where [Config.Task] states it.
const Ordinal = "ordinal"

// ordinal predicts cumulative probabilities: of the outputs z of the head for the classes 0 < 1 < … < K − 1, σ(z_k) is the
// probability that the class is at least k. Output 0 is always trained to 1 and is not read.
//
// Source: Cheng, Wang, Pollastri, "A Neural Network Approach to Ordinal Regression", IJCNN 2008.
type ordinal struct{ classification }

func (ordinal) loss() Loss { return BinaryCrossEntropy }

func (ordinal) targets(c *Config, e seq.Example) []float32 {
	out := make([]float32, c.NumLabels)
	for k := range out[:e.Label+1] {
		out[k] = 1
	}
	return out
}

// minLogProbability stands for the logarithm of a probability of 0.
const minLogProbability = -100

// logits are the logarithms of the probabilities of the classes: p_k = q_k − q_(k+1), with q_k = min_(j≤k) σ(z_j) for
// 0 < k < K, q_0 = 1 and q_K = 0. The minimum makes q decrease.
func (ordinal) logits(head []float32) []float32 {
	from := math.Inf(1) // q_k = σ(from)
	for k := range head {
		to := math.Inf(-1)
		if k+1 < len(head) {
			to = min(from, float64(head[k+1]))
		}
		// σ(a) − σ(b) = σ(a)·σ(−b)·(1 − exp(b − a))
		p := -softplus(-from) - softplus(to) + math.Log(-math.Expm1(to-from))
		head[k] = float32(max(p, minLogProbability))
		from = to
	}
	return head
}

// softplus is log(1 + exp(x)) for any x.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
