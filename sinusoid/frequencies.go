package sinusoid

import (
	"fmt"
	"math"
	"sync"
)

// MaxDim is the maximum dimension of New, so that a hostile configuration causes an error instead
// of exhausting the memory.
const MaxDim = 1 << 16

// Frequencies are ω_c = base^(−2c/dim), 0 ≤ c < dim/2, in turns per position, in fixed point: w_c =
// round(ω_c/2π·2⁶⁴) mod 2⁶⁴. The turn at position t is t·w_c mod 2⁶⁴; the overflow removes whole
// turns. Its only error is that of rounding w_c, below 2⁻⁴³ turns for t < 2²². Phases in
// float32, in contrast, have errors of up to 0.12 radians at t = 2²¹. Frequencies are immutable and safe
// for concurrent use.
type Frequencies struct {
	turns []uint64
}

// cache maps parameters to *Frequencies. The arithmetic in big.Float takes milliseconds, and all
// layers of a model have the same frequencies.
var cache sync.Map

// parameters are the key of cache.
type parameters struct {
	base float64
	dim  int
}

// New returns the frequencies for a positive finite base and an even dimension from 2 to MaxDim.
func New(base float64, dim int) (*Frequencies, error) {
	if !(base > 0) || math.IsInf(base, 1) {
		return nil, fmt.Errorf("sinusoid base: expected a positive finite number, found %v", base)
	}
	if dim < 2 || dim > MaxDim || dim%2 != 0 {
		return nil, fmt.Errorf("sinusoid dimension: expected an even number from 2 to %d, found %d", MaxDim, dim)
	}
	key := parameters{base, dim}
	if cached, ok := cache.Load(key); ok {
		return cached.(*Frequencies), nil
	}
	cached, _ := cache.LoadOrStore(key, &Frequencies{turns: fixedPointTurns(base, dim)})
	return cached.(*Frequencies), nil
}

// Len returns the number of frequencies, dim/2.
func (q *Frequencies) Len() int { return len(q.turns) }

// Turns returns the frequencies w_c for devices that compute cosines themselves. The caller must
// not modify the slice.
func (q *Frequencies) Turns() []uint64 { return q.turns }

// Cosines fills dst [Len+1, n] with dst[c,i] = cos(ω_c·(t0+i)), computed as Cos of the top 32 bits
// of (t0+i)·w_c. The truncation changes the angle by up to 1.5e-9. The last row is ones, the factor
// of a table's bias. Every element depends only on t0+i and c. The absolute error is below 2e-7 for
// |t0+i| < 2²². Cosines adds w_c from element to element, which equals multiplying, as the arithmetic
// is modulo 2⁶⁴.
func (q *Frequencies) Cosines(dst []float32, t0, n int) {
	for _, w := range q.turns {
		turn := uint64(t0) * w
		row := dst[:n]
		for i := range row {
			row[i] = Cos(uint32(turn >> 32))
			turn += w
		}
		dst = dst[n:]
	}
	for i := range dst[:n] {
		dst[i] = 1
	}
}

// Fold computes the coefficients of the tables, [2·rows, dim/2+1], from the weights W [rows, dim]
// and the biases b [rows]. W alternates between weights of sines and of cosines. The coefficients of
// a row's f come before those of its g:
//
//	coef[2r]   = ½(W[r,2c+1] + W[r,2c]) for c < dim/2, then b[r]
//	coef[2r+1] = ½(W[r,2c+1] − W[r,2c]) for c < dim/2, then 0
//
// The tables are the product of coef and the matrix of [Frequencies.Cosines].
func (q *Frequencies) Fold(coef, weight, bias []float32) {
	half := len(q.turns)
	for r, b := range bias {
		f, g, w := coef[2*r*(half+1):][:half+1], coef[(2*r+1)*(half+1):][:half+1], weight[2*half*r:]
		for c := range half {
			sine, cosine := w[2*c], w[2*c+1]
			f[c] = 0.5 * (cosine + sine)
			g[c] = 0.5 * (cosine - sine)
		}
		f[half], g[half] = b, 0
	}
}

// Unfold is the adjoint of Fold. From dCoef [2·rows, dim/2+1] it computes
//
//	dWeight[r,2c]   = ½(dCoef[2r,c] − dCoef[2r+1,c])
//	dWeight[r,2c+1] = ½(dCoef[2r,c] + dCoef[2r+1,c])
//	dBias[r]        = dCoef[2r,dim/2]
func (q *Frequencies) Unfold(dWeight, dBias, dCoef []float32) {
	half := len(q.turns)
	for r := range dBias {
		f, g, w := dCoef[2*r*(half+1):][:half+1], dCoef[(2*r+1)*(half+1):][:half+1], dWeight[2*half*r:]
		for c := range half {
			w[2*c] = 0.5 * (f[c] - g[c])
			w[2*c+1] = 0.5 * (f[c] + g[c])
		}
		dBias[r] = f[half]
	}
}
