//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// record turns a launch into steps; false if there is no kernel for it.
func record(r *recorder, l tensor.Kernel) bool {
	switch k := l.(type) {
	case tensor.Embed:
		embed(r, k)
	case tensor.EmbedBackward:
		embedBackward(r, k)
	case tensor.LayerNorm:
		layerNorm(r, k)
	case tensor.LayerNormBackward:
		layerNormBackward(r, k)
	case tensor.Linear:
		linear(r, k)
	case tensor.LinearBackward:
		linearBackward(r, k)
	case tensor.RowDot:
		rowDot(r, k)
	case tensor.RowDotBackward:
		rowDotBackward(r, k)
	case tensor.Sample:
		sample(r, k)
	case tensor.Duplet:
		duplet(r, k)
	case tensor.DupletBackward:
		dupletBackward(r, k)
	case tensor.SinusoidTables:
		sinusoidTables(r, k)
	case tensor.SinusoidTablesBackward:
		sinusoidTablesBackward(r, k)
	case tensor.Leak:
		leak(r, k)
	case tensor.LeakBackward:
		leakBackward(r, k)
	case tensor.Attention:
		attention(r, k)
	case tensor.AttentionBackward:
		attentionBackward(r, k)
	case tensor.FeedForward:
		feedForward(r, k)
	case tensor.GELU:
		gelu(r, k)
	case tensor.GELUBackward:
		geluBackward(r, k)
	case tensor.Convolution:
		convolution(r, k)
	case tensor.ConvolutionBackward:
		convolutionBackward(r, k)
	case tensor.Dropout:
		dropout(r, k)
	case tensor.Add:
		add(r, k)
	case tensor.Zero:
		r.zero(k.Y)
	case tensor.ResidualScale:
		residualScale(r, k)
	case tensor.ResidualScaleBackward:
		residualScaleBackward(r, k)
	case tensor.Pool:
		pool(r, k)
	case tensor.PoolBackward:
		poolBackward(r, k)
	case tensor.PairFeatures:
		pairFeatures(r, k)
	case tensor.PairFeaturesBackward:
		pairFeaturesBackward(r, k)
	case tensor.CrossEntropy:
		crossEntropy(r, k)
	case tensor.SumSquares:
		sumSquares(r, k)
	case tensor.AdamW:
		adamW(r, k)
	default:
		return false
	}
	return true
}
