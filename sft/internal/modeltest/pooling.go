package modeltest

import "math"

// softmaxPool returns the weighted mean of the rows x, and the weights. Rows that hasWeight excludes
// have the weight 0; nil excludes none.
func (r Reference) softmaxPool(name string, x [][]float64, hasWeight func(row int) bool) (pooled, weights []float64) {
	total := 0.0
	for i, v := range x {
		weight := 0.0
		if hasWeight == nil || hasWeight(i) {
			weight = math.Exp(r.linear(name, v)[0])
		}
		weights = append(weights, weight)
		total += weight
	}
	pooled = make([]float64, r.HiddenSize)
	for i, v := range x {
		weights[i] /= total
		for c := range v {
			pooled[c] += weights[i] * v[c]
		}
	}
	return pooled, weights
}

// maxPool returns the maximum of each channel over the tokens, or over a sample of PoolingSamples
// duplets. It adds each token's share of the channels to the explanation.
func (r Reference) maxPool(x [][]float64, explanation ReferenceExplanation) (pooled []float64, _ ReferenceExplanation) {
	var rows []duplet
	if r.PoolingSamples > 0 {
		var score []float64
		for _, v := range x {
			score = append(score, r.linear("head.sampler", v)[0])
		}
		rows = r.sample(r.NumLayers, r.PoolingSamples, score)
	} else {
		for t := range x {
			rows = append(rows, duplet{t, -1, 1})
		}
	}
	explanation.pooling = make([]float64, len(x))
	for c := range r.HiddenSize {
		var largest duplet
		maximum := math.Inf(-1)
		for _, s := range rows {
			if v := r.mixDuplet(x, s)[c]; v > maximum {
				maximum, largest = v, s
			}
		}
		pooled = append(pooled, maximum)
		explanation.pooling[largest.top] += largest.p / float64(r.HiddenSize)
		if largest.partner >= 0 {
			explanation.pooling[largest.partner] += (1 - largest.p) / float64(r.HiddenSize)
		}
	}
	return pooled, explanation
}
