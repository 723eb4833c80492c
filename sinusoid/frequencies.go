package sinusoid

import (
	"fmt"
	"math"
	"sync"
)

// MaxDim is the maximum dimension of New, so that a hostile configuration causes an error instead
// of exhausting the memory.
const MaxDim = 1 << 16

// Frequencies are ω_c = base^(−2c/dim), 0 ≤ c < dim/2, in turns per position and fixed point: w_c =
// round(ω_c/2π·2⁶⁴) mod 2⁶⁴. The turn at position t is t·w_c mod 2⁶⁴; the overflow removes whole
// turns. Its only error is from the rounding of w_c, below 2⁻⁴³ of a turn for t < 2²². Phases in
// float32, in contrast, have errors of up to 0.12 at t = 2²¹. Frequencies are immutable and safe
// for concurrent use.
type Frequencies struct {
	turns []uint64
}

// cache maps parameters to *Frequencies. The arithmetic in big.Float takes milliseconds, and all
// layers of a model have the same frequencies.
var cache sync.Map

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
	if known, ok := cache.Load(key); ok {
		return known.(*Frequencies), nil
	}
	known, _ := cache.LoadOrStore(key, &Frequencies{turns: fixedPointTurns(base, dim)})
	return known.(*Frequencies), nil
}

// Len returns the number of frequencies, dim/2.
func (q *Frequencies) Len() int { return len(q.turns) }

// Turns returns the frequencies w_c for devices that compute cosines themselves. The caller must
// not modify the slice.
func (q *Frequencies) Turns() []uint64 { return q.turns }

// Cosines fills dst [Len+1, n] with dst[c,i] = cos(ω_c·(t0+i)), computed as Cos of the top 32 bits
// of (t0+i)·w_c. The truncation changes the angle by up to 1.5e-9. The last row is ones, the factor
// of a table's bias. Every element depends only on t0+i and c. The absolute error is below 2e-7 for
// |t| < 2²². Cosines adds w_c from element to element, which equals multiplying, as the arithmetic
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
