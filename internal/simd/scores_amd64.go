package simd

import (
	"fmt"
	"unsafe"
)

var (
	scoresAVX2 = Scores{
		Maxout: assembledScore(8, []scoreRows{{5, maxout5AVX2}, {2, maxout2AVX2}, {1, maxout1AVX2}},
			maxoutBackward4AVX2, maxoutBackward1AVX2),
		Lily: assembledScore(8, []scoreRows{{5, lily5AVX2}, {2, lily2AVX2}, {1, lily1AVX2}},
			lilyBackward4AVX2, lilyBackward1AVX2),
		ScaleTile:        assembledScaleTile(8, scaleTileAVX2),
		ScaleRows:        assembledScaleRows(8, scaleRowsAVX2),
		DotColumns:       assembledDotColumns(8, dotColumnsAVX2),
		Sinusoid:         assembledSinusoid(8, false, sinusoidTileAVX2),
		SinusoidFar:      assembledSinusoid(8, false, sinusoidTileFarAVX2),
		SinusoidBackward: assembledSinusoid(8, true, sinusoidBackwardAVX2),
		transpose:        transpose8AVX2,
		prefetch:         prefetchAVX2,
	}
	scoresAVX512 = Scores{
		Maxout: assembledScore(16, []scoreRows{{8, maxout8AVX512}, {2, maxout2AVX512}, {1, maxout1AVX512}},
			maxoutBackward4AVX512, maxoutBackward1AVX512),
		Lily: assembledScore(16, []scoreRows{{8, lily8AVX512}, {2, lily2AVX512}, {1, lily1AVX512}},
			lilyBackward4AVX512, lilyBackward1AVX512),
		ScaleTile:        assembledScaleTile(16, scaleTileAVX512),
		ScaleRows:        assembledScaleRows(16, scaleRowsAVX512),
		DotColumns:       assembledDotColumns(16, dotColumnsAVX512),
		Sinusoid:         assembledSinusoid(16, false, sinusoidTileAVX512),
		SinusoidFar:      assembledSinusoid(16, false, sinusoidTileFarAVX512),
		SinusoidBackward: assembledSinusoid(16, true, sinusoidBackwardAVX512),
		transpose:        transpose8AVX2,
		prefetch:         prefetchAVX2,
	}
)

// checkMultiple panics unless n is a positive multiple of step. The assembly has no checks, and its
// loops process whole vectors and count down to zero.
func checkMultiple(n, step int) {
	if n < 1 || n%step != 0 {
		panic(fmt.Sprintf("simd: %d elements, expected a positive multiple of %d", n, step))
	}
}

// backwardQueries is the number of queries that Backward combines with all keys of a tile before it
// continues with the next queries.
const backwardQueries = 32

// scoreRows is a kernel that scores a fixed number of keys per call.
type scoreRows struct {
	keys int
	f    func(n, c int, s, q *float32, stride int, k *float32, ldk int)
}

func assembledScore(width int, blocks []scoreRows,
	manyBack, oneBack func(n, c int, g *float32, stride int, q, dq, k, dk *float32)) Score {
	return Score{
		Forward: func(s, q []float32, stride, n int, k []float32, ldk, keys, c int) {
			checkMultiple(n, 2*width)
			_, _, _ = s[(keys-1)*stride+n-1], q[(c-1)*stride+n-1], k[(keys-1)*ldk+c-1]
			j := 0
			for _, b := range blocks {
				for ; j+b.keys <= keys; j += b.keys {
					b.f(n, c, &s[j*stride], &q[0], stride, &k[j*ldk], ldk)
				}
			}
		},
		Backward: func(g []float32, stride, n int, q, dq, k, dk []float32, keys, c int) {
			checkMultiple(c, width)
			_, _, _ = g[(keys-1)*stride+n-1], q[n*c-1], dq[n*c-1]
			_, _ = k[keys*c-1], dk[keys*c-1]
			for r := 0; r < n; r += backwardQueries { // these rows of q and dq stay in the first-level cache
				m := min(backwardQueries, n-r)
				j := 0
				for ; j+4 <= keys; j += 4 {
					manyBack(m, c, &g[j*stride+r], stride, &q[r*c], &dq[r*c], &k[j*c], &dk[j*c])
				}
				for ; j < keys; j++ {
					oneBack(m, c, &g[j*stride+r], stride, &q[r*c], &dq[r*c], &k[j*c], &dk[j*c])
				}
			}
		},
	}
}

func assembledScaleTile(width int, f func(keys, n int, s *float32, stride int, scale, floor float32,
	sum *float32)) func(s []float32, stride, keys, n int, scale, floor float32, sum []float32) {
	return func(s []float32, stride, keys, n int, scale, floor float32, sum []float32) {
		checkMultiple(n, width)
		_, _ = s[(keys-1)*stride+n-1], sum[n-1]
		f(keys, n, &s[0], stride, scale, floor, &sum[0])
	}
}

func assembledScaleRows(width int, f func(rows, n int, y *float32, stride int, x *float32)) func(y []float32, stride,
	rows, n int, x []float32) {
	return func(y []float32, stride, rows, n int, x []float32) {
		checkMultiple(n, width)
		_, _ = y[(rows-1)*stride+n-1], x[n-1]
		f(rows, n, &y[0], stride, &x[0])
	}
}

func assembledDotColumns(width int, f func(rows, n int, y, a, b *float32, stride int)) func(y, a,
	b []float32, stride, rows, n int) {
	return func(y, a, b []float32, stride, rows, n int) {
		checkMultiple(n, width)
		_, _, _ = y[n-1], a[(rows-1)*stride+n-1], b[(rows-1)*stride+n-1]
		f(rows, n, &y[0], &a[0], &b[0], stride)
	}
}

func assembledSinusoid(width int, backward bool, f func(tile *byte)) func(t *SinusoidTile) {
	return func(t *SinusoidTile) {
		t.check(width, backward)
		f((*byte)(unsafe.Pointer(t)))
	}
}
