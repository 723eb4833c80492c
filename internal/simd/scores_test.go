package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const canary = 1e30

// guarded returns n random floats at a random offset between canaries, and a function that fails the test if
// a canary has changed.
func guarded(t *testing.T, rng *rand.Rand, n int) (x []float32, intact func(name string)) {
	offset := 16 + rng.IntN(8)
	memory := make([]float32, n+offset+16)
	for i := range memory {
		memory[i] = canary
	}
	x = memory[offset:][:n:n]
	copy(x, random(rng, n))
	return x, func(name string) {
		t.Helper()
		for i, v := range memory {
			if (i < offset || i >= offset+n) && v != canary {
				t.Fatalf("%s: element %d, outside the slice of %d elements, is %v, want %v as before", name, i-offset,
					n, v, canary)
			}
		}
	}
}

// closeTo fails the test if an element of got differs from want, the result of the kernel in Go, by more than
// tolerance·(1 + |want|). NaN equals NaN.
func closeTo(t *testing.T, name string, got, want []float32, tolerance float64) {
	t.Helper()
	for i, w := range want {
		if g := got[i]; !(math.Abs(float64(g)-float64(w)) <= tolerance*(1+math.Abs(float64(w)))) &&
			!(g != g && w != w) && g != w {
			t.Fatalf("%s: element %d is %g, want %g as in Go", name, i, g, w)
		}
	}
}

// assembled returns the levels with assembly, to compare them with Go.
func assembled() []*Kernels { return Levels()[:len(Levels())-1] }

// TestScores checks the scores of every level with assembly against Go, forward and backward.
func TestScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, level := range assembled() {
		lanes := 2 * level.Width
		for _, size := range [][3]int{{1, 1, 1}, {3, 1, 5}, {4, 2, 8}, {9, 3, 32}, {64, 4, 16}, {17, 8, 33}} {
			keys, n, c := size[0], size[1]*lanes, size[2]
			stride := n + lanes
			for name, score := range map[string][2]Score{"maxout": {level.Maxout, scoresGo.Maxout},
				"lily": {level.Lily, scoresGo.Lily}} {
				label := fmt.Sprintf("%s %s, %d keys × %d queries × %d", level.Name, name, keys, n, c)
				q, _ := guarded(t, rng, c*stride)
				k, _ := guarded(t, rng, keys*(c+3))
				q[0], k[0] = float32(math.Inf(1)), float32(math.Copysign(0, -1))
				s, intact := guarded(t, rng, keys*stride)
				want := append([]float32{}, s...)
				score[0].Forward(s, q, stride, n, k, c+3, keys, c)
				score[1].Forward(want, q, stride, n, k, c+3, keys, c)
				intact(label)
				closeTo(t, label, s, want, 1e-5)

				c = (c + level.Width - 1) / level.Width * level.Width
				label += " backward"
				g, _ := guarded(t, rng, keys*stride)
				q, _ = guarded(t, rng, n*c)
				k, _ = guarded(t, rng, keys*c)
				copy(q, k[:min(len(q), c)]) // equal channels of queries and keys
				dq, intactQ := guarded(t, rng, n*c)
				dk, intactK := guarded(t, rng, keys*c)
				wantQ, wantK := append([]float32{}, dq...), append([]float32{}, dk...)
				score[0].Backward(g, stride, n, q, dq, k, dk, keys, c)
				score[1].Backward(g, stride, n, q, wantQ, k, wantK, keys, c)
				intactQ(label)
				intactK(label)
				closeTo(t, label+" dq", dq, wantQ, 1e-5)
				closeTo(t, label+" dk", dk, wantK, 1e-4)
			}
		}
	}
}

// TestTileHelpers compares ScaleTile, ScaleRows, DotColumns and Transpose with Go.
func TestTileHelpers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, level := range assembled() {
		for _, size := range [][2]int{{1, 1}, {5, 3}, {64, 8}} {
			keys, n := size[0], size[1]*level.Width
			stride := n + 5
			s, intact := guarded(t, rng, keys*stride)
			sum, intactSum := guarded(t, rng, n)
			s[0] = float32(math.NaN())
			want, wantSum := append([]float32{}, s...), append([]float32{}, sum...)
			level.ScaleTile(s, stride, keys, n, 0.3, -0.1, sum)
			scaleTile(want, stride, keys, n, 0.3, -0.1, wantSum)
			intact("ScaleTile")
			intactSum("ScaleTile")
			closeTo(t, level.Name+" ScaleTile", s, want, 1e-6)
			closeTo(t, level.Name+" ScaleTile sum", sum, wantSum, 1e-5)
			level.ScaleRows(s, stride, keys, n, sum)
			scaleRows(want, stride, keys, n, wantSum)
			intact("ScaleRows")
			closeTo(t, level.Name+" ScaleRows", s, want, 1e-5)
			level.DotColumns(sum, s, want, stride, keys, n)
			dotColumns(wantSum, s, want, stride, keys, n)
			intactSum("DotColumns")
			closeTo(t, level.Name+" DotColumns", sum, wantSum, 1e-5)
		}
		for _, size := range [][2]int{{1, 1}, {8, 8}, {7, 9}, {33, 17}, {128, 32}, {16, 8}} {
			rows, cols := size[0], size[1]
			src, _ := guarded(t, rng, rows*(cols+2))
			dst, intact := guarded(t, rng, cols*(rows+3))
			want := append([]float32{}, dst...)
			level.Transpose(dst, rows+3, src, cols+2, rows, cols)
			transpose(want, rows+3, src, cols+2, rows, cols)
			intact("Transpose")
			closeTo(t, fmt.Sprintf("%s Transpose %d×%d", level.Name, rows, cols), dst, want, 0)
		}
	}
}

// sinusoidCase returns a random tile. The tables FM and GM have the given standard deviation.
func sinusoidCase(rng *rand.Rand, keys, n, length int, spread float32) *SinusoidTile {
	tile := &SinusoidTile{Keys: keys, N: n, Stride: n + 16, Scale: 0.25,
		FOrigin: length - 1 + length/3, GOrigin: length / 3}
	table := func(spread float32) []float32 {
		x := random(rng, 2*length+n)
		for i := range x {
			x[i] *= spread
		}
		return x
	}
	exp := func(x []float32) []float32 {
		y := make([]float32, len(x))
		for i, v := range x {
			y[i] = float32(math.Exp(float64(v)))
		}
		return y
	}
	tile.FM, tile.GM, tile.FA, tile.GA = table(spread), table(spread), table(1), table(1)
	tile.EF, tile.EG = exp(tile.FM), exp(tile.GM)
	for _, d := range []*[]float32{&tile.DFM, &tile.DGM, &tile.DFA, &tile.DGA} {
		*d = table(1)
	}
	tile.Scratch = make([]float32, 4*n)
	tile.S, tile.D = random(rng, keys*tile.Stride), random(rng, keys*tile.Stride)
	tile.Sum, tile.P, tile.DP, tile.Total = random(rng, n), make([]float32, keys),
		random(rng, keys), make([]float32, keys)
	for j := range keys {
		tile.P[j] = rng.Float32()
		tile.Top, tile.Partner = append(tile.Top, int32(rng.IntN(length))),
			append(tile.Partner, int32(rng.IntN(length)))
		if rng.IntN(5) == 0 {
			tile.Partner[j], tile.P[j] = -1, 1
		}
	}
	return tile
}

func (t *SinusoidTile) clone() *SinusoidTile {
	c := *t
	for _, x := range []*[]float32{&c.S, &c.D, &c.Sum, &c.DFM, &c.DGM, &c.DFA, &c.DGA, &c.DP, &c.Total} {
		*x = append([]float32{}, *x...)
	}
	return &c
}

// TestSinusoidTile compares the relative encoding of a tile, forward and backward, with Go.
func TestSinusoidTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, level := range assembled() {
		for _, spread := range []float32{0.1, 1, 5, 12} {
			for _, size := range [][3]int{{1, 1, 2}, {5, 2, 40}, {64, 8, 300}} {
				tile := sinusoidCase(rng, size[0], size[1]*2*level.Width, size[2], spread)
				tile.Floor = []float32{0, float32(math.Inf(-1))}[rng.IntN(2)]
				name := fmt.Sprintf("%s spread %g, %v", level.Name, spread, size)
				got, far, want := tile.clone(), tile.clone(), tile.clone()
				level.Sinusoid(got)
				level.SinusoidFar(far)
				SinusoidGo(want)
				closeTo(t, name+" S", got.S, want.S, 3e-6)
				closeTo(t, name+" Sum", got.Sum, want.Sum, 1e-4)
				if !slices.Equal(got.S, far.S) || !slices.Equal(got.Sum, far.Sum) {
					t.Errorf("%s: the results of Sinusoid and SinusoidFar differ, want bitwise identity",
						name)
				}

				got, want = tile.clone(), tile.clone()
				level.SinusoidBackward(got)
				SinusoidBackwardGo(want, true)
				closeTo(t, name+" dm", got.S, want.S, 3e-6)
				closeTo(t, name+" ReLU(A)", got.D, want.D, 3e-6)
				closeTo(t, name+" DFM", got.DFM, want.DFM, 1e-5)
				closeTo(t, name+" DGM", got.DGM, want.DGM, 1e-5)
				closeTo(t, name+" DFA", got.DFA, want.DFA, 1e-5)
				closeTo(t, name+" DGA", got.DGA, want.DGA, 1e-5)
				closeTo(t, name+" Total", got.Total, want.Total, 1e-4)
				for j := range got.DP {
					if got.Partner[j] < 0 {
						got.DP[j], want.DP[j] = 0, 0
					}
				}
				closeTo(t, name+" DP", got.DP, want.DP, 1e-4)
			}
		}
	}
}

// BenchmarkTile measures the kernels of one tile of 64 keys and 128 queries.
func BenchmarkTile(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	const keys, n, c = 64, 128, 32
	for _, level := range Levels() {
		tile := sinusoidCase(rng, keys, n, 2048, 1)
		slices.Sort(tile.Top)
		slices.Sort(tile.Partner)
		stride := tile.Stride
		q, k := random(rng, c*stride), random(rng, keys*c)
		dq, dk := random(rng, c*n), random(rng, keys*c)
		out := make([]float32, c*stride)
		run := func(name string, f func()) {
			b.Run(level.Name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(keys*n)*8, "ns/8pairs")
			})
		}
		run("maxout", func() { level.Maxout.Forward(tile.S, q, stride, n, k, c, keys, c) })
		run("maxoutBackward", func() { level.Maxout.Backward(tile.D, stride, n, q, dq, k, dk, keys, c) })
		run("sinusoid", func() { level.Sinusoid(tile) })
		run("sinusoidBackward", func() { level.SinusoidBackward(tile) })
		run("weigh", func() {
			level.Mul(Rows(out, stride), Matrix{k, 1, c}, level.View(tile.S, stride, keys, n), Rows(out, stride), c)
		})
		run("scale", func() { level.ScaleTile(tile.S, n, keys, n, 1, 0, tile.Sum) })
	}
}
