package cpu

import "sftseq/internal/tensor"

// kernel looks up the function that runs a launch; nil if there is none.
func kernel(l tensor.Kernel) func(*run) {
	switch k := l.(type) {
	case tensor.Embed:
		return func(r *run) { embed(r, k) }
	case tensor.EmbedBackward:
		return func(r *run) { embedBackward(r, k) }
	case tensor.LayerNorm:
		return func(r *run) { layerNorm(r, k) }
	case tensor.LayerNormBackward:
		return func(r *run) { layerNormBackward(r, k) }
	case tensor.Linear:
		return func(r *run) { linear(r, k) }
	case tensor.LinearBackward:
		return func(r *run) { linearBackward(r, k) }
	case tensor.RowDot:
		return func(r *run) { rowDot(r, k) }
	case tensor.RowDotBackward:
		return func(r *run) { rowDotBackward(r, k) }
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
	case tensor.FeedForward:
		return func(r *run) { feedForward(r, k) }
	case tensor.GELU:
		return func(r *run) { gelu(r, k) }
	case tensor.GELUBackward:
		return func(r *run) { geluBackward(r, k) }
	case tensor.Dropout:
		return func(r *run) { dropout(r, k) }
	case tensor.Add:
		return func(r *run) { add(r, k) }
	case tensor.Zero:
		return func(r *run) { clear(r.floats(k.Y)) }
	case tensor.ResidualScale:
		return func(r *run) { residualScale(r, k) }
	case tensor.ResidualScaleBackward:
		return func(r *run) { residualScaleBackward(r, k) }
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
