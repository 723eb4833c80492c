package simd

import (
	"math"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/philox"
)

var elementwiseGo = Elementwise{
	Exp:                  mapGo(fmath.Exp),
	Softplus:             mapGo(fmath.Softplus),
	Sigmoid:              mapGo(fmath.Sigmoid),
	Max:                  maxGo,
	ExpSum:               expSumGo,
	GELU:                 mapGo(fmath.GELU),
	GELUBackward:         geluBackwardGo,
	Add:                  addGo,
	AddScaled:            addScaledGo,
	Scale:                scaleGo,
	LayerNorm:            layerNormGo,
	LayerNormBackward:    layerNormBackwardGo,
	LayerNormBackwardAdd: layerNormBackwardAddGo,
	RowDot:               rowDotGo,
	AddOuter:             addOuterGo,
	WeightedSum:          weightedSumGo,
	AddRows:              addRowsGo,
	PoolBackward:         poolBackwardGo,
	Convolution:          convolutionGo,
	ConvolutionBackward:  convolutionBackwardGo,
	Average:              averageGo,
	AverageBackward:      averageBackwardGo,
	Mix:                  mixGo,
	MixBackward:          mixBackwardGo,
	Dropout:              dropoutGo,
	Draw:                 drawGo,
	SumSquares:           sumSquaresGo,
	AdamW:                adamWGo,
}

// mapGo returns a kernel that computes y = f(x).
func mapGo(f func(float32) float32) func(y, x []float32) {
	return func(y, x []float32) {
		for i := range y {
			y[i] = f(x[i])
		}
	}
}

func maxGo(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	return top
}

// expSumGo is [Elementwise.ExpSum]. It adds partial sums, because a single chain of thousands of
// float32 additions would lose precision.
func expSumGo(y, x []float32, top float32) float32 {
	const piece = 64
	var sum float32
	for lo := 0; lo < len(y); lo += piece {
		var part float32
		for i := lo; i < min(len(y), lo+piece); i++ {
			y[i] = fmath.Exp(x[i] - top)
			part += y[i]
		}
		sum += part
	}
	return sum
}

func geluBackwardGo(dx, dy, x []float32) {
	for i := range dx {
		dx[i] = dy[i] * fmath.GELUGrad(x[i])
	}
}

func addGo(y, a, b []float32) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

func addScaledGo(y, a, b []float32, scale float32) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + float32(scale*b[i])
	}
}

func scaleGo(y, x []float32, scale float32) {
	for i := range y {
		y[i] = scale * x[i]
	}
}

func mixGo(y, a, b []float32, weight float32) {
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = float32(weight*a[i]) + float32((1-weight)*b[i])
	}
}

func mixBackwardGo(da, db, dy, a, b []float32, weight float32) float32 {
	da, db, a, b = da[:len(dy)], db[:len(dy)], a[:len(dy)], b[:len(dy)]
	var sum float32
	for i, g := range dy {
		sum += float32(g * (a[i] - b[i]))
		da[i] += float32(weight * g)
		db[i] += float32((1 - weight) * g)
	}
	return sum
}

func dropoutGo(y, x []float32, counter *[4]uint32, key *[2]uint32, threshold uint32, scale float32) {
	seed, c := uint64(key[0])|uint64(key[1])<<32, *counter
	var words [4]uint32
	for i := range y {
		if i&3 == 0 {
			words = philox.Words(seed, c)
			c[0]++
		}
		var kept float32
		if words[i&3]>>9 >= threshold {
			kept = scale * x[i]
		}
		y[i] = kept
	}
}

func sumSquaresGo(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(float64(v) * float64(v))
	}
	return s
}

func adamWGo(w, m, v, g []float32, c *AdamWFactors) {
	m, v, g = m[:len(w)], v[:len(w)], g[:len(w)]
	for i := range w {
		d := c[0] * g[i]
		m[i] = float32(c[1]*m[i]) + float32(c[2]*d)
		v[i] = float32(c[3]*v[i]) + float32(c[4]*float32(d*d))
		root := float32(math.Sqrt(float64(c[6] * v[i])))
		w[i] = float32(c[9]*w[i]) + float32(c[7]*float32(c[5]*m[i]))/(root+c[8])
	}
}

func drawGo(words []uint32, counter *[4]uint32, key *[2]uint32, at []int32) {
	philox.FirstWords(words, uint64(key[1])<<32|uint64(key[0]), *counter, at)
}
