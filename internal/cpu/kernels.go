package cpu

import "github.com/sftseq/sftseq/internal/tensor"

// rowwiseKernel looks up the function of a launch that works row by row, and the
// axis of its rows; nil if it does not.
func rowwiseKernel(l tensor.Kernel) (tensor.Axis, func(*run) rowwise) {
	switch k := l.(type) {
	case tensor.Embed:
		return k.Y.Rows, func(r *run) rowwise { return embed(r, k) }
	case tensor.LayerNorm:
		return k.X.Rows, func(r *run) rowwise { return layerNorm(r, k) }
	case tensor.LayerNormBackward:
		return k.X.Rows, func(r *run) rowwise { return layerNormBackward(r, k) }
	case tensor.Linear:
		return k.X.Rows, func(r *run) rowwise { return linear(r, k) }
	case tensor.LinearBackward:
		return k.X.Rows, func(r *run) rowwise { return linearBackward(r, k) }
	case tensor.RowDot:
		return k.X.Rows, func(r *run) rowwise { return rowDot(r, k) }
	case tensor.RowDotBackward:
		return k.X.Rows, func(r *run) rowwise { return rowDotBackward(r, k) }
	case tensor.FeedForward:
		return k.X.Rows, func(r *run) rowwise { return feedForward(r, k) }
	case tensor.GELU:
		return k.X.Rows, func(r *run) rowwise { return gelu(r, k) }
	case tensor.GELUBackward:
		return k.X.Rows, func(r *run) rowwise { return geluBackward(r, k) }
	case tensor.Convolution:
		return k.X.Rows, func(r *run) rowwise { return convolution(r, k) }
	case tensor.ConvolutionBackward:
		return k.X.Rows, func(r *run) rowwise { return convolutionBackward(r, k) }
	case tensor.Dropout:
		return k.X.Rows, func(r *run) rowwise { return dropout(r, k) }
	case tensor.Add:
		return k.Y.Rows, func(r *run) rowwise { return add(r, k) }
	case tensor.ResidualScale:
		return k.Y.Rows, func(r *run) rowwise { return residualScale(r, k) }
	case tensor.ResidualScaleBackward:
		return k.DY.Rows, func(r *run) rowwise { return residualScaleBackward(r, k) }
	}
	return 0, nil
}

// kernel looks up the function that runs any other launch; nil if there is none.
func kernel(l tensor.Kernel) func(*run) {
	switch k := l.(type) {
	case tensor.EmbedBackward:
		return func(r *run) { embedBackward(r, k) }
	case tensor.Sample:
		return func(r *run) { sample(r, k) }
	case tensor.Duplet:
		return func(r *run) { duplet(r, k) }
	case tensor.DupletBackward:
		return func(r *run) { dupletBackward(r, k) }
	case tensor.SinusoidTables:
		return func(r *run) { sinusoidTables(r, k) }
	case tensor.SinusoidTablesBackward:
		return func(r *run) { sinusoidTablesBackward(r, k) }
	case tensor.Leak:
		return func(r *run) { leak(r, k) }
	case tensor.LeakBackward:
		return func(r *run) { leakBackward(r, k) }
	case tensor.Attention:
		return func(r *run) { attention(r, k) }
	case tensor.AttentionBackward:
		return func(r *run) { attentionBackward(r, k) }
	case tensor.Zero:
		return func(r *run) { clear(r.floats(k.Y)) }
	case tensor.Pool:
		return func(r *run) { pool(r, k) }
	case tensor.PoolBackward:
		return func(r *run) { poolBackward(r, k) }
	case tensor.PairFeatures:
		return func(r *run) { pairFeatures(r, k) }
	case tensor.PairFeaturesBackward:
		return func(r *run) { pairFeaturesBackward(r, k) }
	case tensor.CrossEntropy:
		return func(r *run) { crossEntropy(r, k) }
	case tensor.SumSquares:
		return func(r *run) { sumSquares(r, k) }
	case tensor.AdamW:
		return func(r *run) { adamW(r, k) }
	}
	return nil
}
