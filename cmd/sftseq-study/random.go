package main

import (
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/sftseq/sftseq/internal/philox"
)

// draws generates the random numbers of one draw of a study. Every number is a function of the seed
// and of its stream, draw, step and index, so draws are independent of each other.
type draws struct {
	seed    uint64
	example uint32 // index of the draw
	step    uint32 // layer, number of tokens, or case and attempt, within the draw
}

// uniform returns a number between 0 and 1 with 53 random bits.
func (d draws) uniform(stream, index uint32) float64 {
	return unit(philox.Words(d.seed, philox.Counter(index, 0, stream, philox.StreamStudy, d.example, d.step)), 0)
}

// unit converts the words i and i+1 to a number between 0 and 1.
func unit(w [4]uint32, i int) float64 {
	bits := uint64(w[i])<<32 | uint64(w[i+1])
	return (float64(bits>>11) + 0.5) / (1 << 53)
}

// normals fills x with independent normal numbers of mean 0 and the given standard deviation, two
// at a time by the Box-Muller transform.
func (d draws) normals(stream uint32, x []float64, deviation float64) {
	for e := 0; e < len(x); e += 2 {
		w := philox.Words(d.seed, philox.Counter(uint32(e/2), 0, stream, philox.StreamStudy, d.example, d.step))
		radius := deviation * math.Sqrt(-2*math.Log(unit(w, 0)))
		sin, cos := math.Sincos(2 * math.Pi * unit(w, 2))
		x[e] = radius * cos
		if e+1 < len(x) {
			x[e+1] = radius * sin
		}
	}
}

// matrix returns a matrix of normal numbers of mean 0.
func (d draws) matrix(stream uint32, rows, columns int, deviation float64) *mat.Dense {
	x := make([]float64, rows*columns)
	d.normals(stream, x, deviation)
	return mat.NewDense(rows, columns, x)
}

// forEach calls f for every i below n, with up to threads calls concurrently. After an error it cancels
// the context of the calls, starts at most one more call, and returns the first error. f must write its
// result to index i, so that the results do not depend on the number of threads.
func forEach(ctx context.Context, n, threads int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running := make(chan struct{}, max(1, threads))
	var wg sync.WaitGroup
	for i := 0; i < n && ctx.Err() == nil; i++ {
		running <- struct{}{}
		wg.Go(func() {
			defer func() { <-running }()
			if err := f(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
