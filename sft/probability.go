package sft

import "math"

// Probabilities is the softmax of an example's logits, computed in float64 and
// rounded.
func Probabilities(logits []float32) []float32 {
	top := math.Inf(-1)
	for _, v := range logits {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	p := make([]float32, len(logits))
	for i, v := range logits {
		p[i] = float32(math.Exp(float64(v)-top) / sum)
	}
	return p
}
