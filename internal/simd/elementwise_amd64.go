package simd

var (
	elementwiseAVX2 = Elementwise{
		Exp:                  expAVX2,
		Softplus:             softplusAVX2,
		Sigmoid:              sigmoidAVX2,
		Max:                  maxAVX2,
		ExpSum:               expSumAVX2,
		GELU:                 geluAVX2,
		GELUBackward:         geluBackwardAVX2,
		Add:                  addAVX2,
		AddScaled:            addScaledAVX2,
		Scale:                scaleAVX2,
		LayerNorm:            layerNormAVX2,
		LayerNormBackward:    layerNormBackwardAVX2,
		LayerNormBackwardAdd: layerNormBackwardAddAVX2,
		RowDot:               rowDotAVX2,
		AddOuter:             addOuterAVX2,
		WeightedSum:          weightedSumAVX2,
		AddRows:              checkedAddRows(addRowsAVX2),
		PoolBackward:         poolBackwardAVX2,
		Convolution:          checkedConvolution(convolutionAVX2),
		ConvolutionBackward:  checkedConvolutionBackward(convolutionBackwardAVX2),
		Average:              checkedAverage(averageAVX2),
		AverageBackward:      checkedAverageBackward(averageBackwardAVX2),
		Mix:                  mixAVX2,
		MixBackward:          mixBackwardAVX2,
		Dropout:              dropoutAVX2,
		Draw:                 extendDraw(drawAVX2),
		SumSquares:           sumSquaresAVX2,
		AdamW:                adamWAVX2,
	}
	elementwiseAVX512 = Elementwise{
		Exp:                  expAVX512,
		Softplus:             softplusAVX512,
		Sigmoid:              sigmoidAVX512,
		Max:                  maxAVX512,
		ExpSum:               expSumAVX512,
		GELU:                 geluAVX512,
		GELUBackward:         geluBackwardAVX512,
		Add:                  addAVX512,
		AddScaled:            addScaledAVX512,
		Scale:                scaleAVX512,
		LayerNorm:            layerNormAVX512,
		LayerNormBackward:    layerNormBackwardAVX512,
		LayerNormBackwardAdd: layerNormBackwardAddAVX512,
		RowDot:               rowDotAVX512,
		AddOuter:             addOuterAVX512,
		WeightedSum:          weightedSumAVX512,
		AddRows:              checkedAddRows(addRowsAVX512),
		PoolBackward:         poolBackwardAVX512,
		Convolution:          checkedConvolution(convolutionAVX512),
		ConvolutionBackward:  checkedConvolutionBackward(convolutionBackwardAVX512),
		Average:              checkedAverage(averageAVX512),
		AverageBackward:      checkedAverageBackward(averageBackwardAVX512),
		Mix:                  mixAVX512,
		MixBackward:          mixBackwardAVX512,
		Dropout:              dropoutAVX512,
		Draw:                 extendDraw(drawAVX512),
		SumSquares:           sumSquaresAVX512,
		AdamW:                adamWAVX512,
	}
)

// checkedAddRows wraps a kernel of AddRows and panics on an invalid row index, because the indices come from
// data and the assembly has no checks.
func checkedAddRows(f func(y, x []float32, at []int32, width, stride int)) func(y, x []float32,
	at []int32, width, stride int) {
	return func(y, x []float32, at []int32, width, stride int) {
		if len(at) == 0 || width == 0 {
			return
		}
		_ = x[(len(at)-1)*stride+width-1]
		lowest, highest := at[0], at[0]
		for _, i := range at {
			lowest, highest = min(lowest, i), max(highest, i)
		}
		_, _ = y[int(lowest)*stride], y[int(highest)*stride+width-1]
		f(y, x, at, width, stride)
	}
}

// extendDraw extends a kernel for whole vectors to any number of words.
func extendDraw(f func(words []uint32, counter *[4]uint32, key *[2]uint32, at []int32) int) func(words []uint32,
	counter *[4]uint32, key *[2]uint32, at []int32) {
	return func(words []uint32, counter *[4]uint32, key *[2]uint32, at []int32) {
		at = at[:len(words)]
		n := f(words, counter, key, at)
		drawGo(words[n:], counter, key, at[n:])
	}
}
