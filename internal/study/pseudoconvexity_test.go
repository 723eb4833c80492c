package study

import (
	"math"
	"slices"
	"testing"
)

// TestSmallLayerGradients: those by hand are those by differences, of every case.
func TestSmallLayerGradients(t *testing.T) {
	cases := append(slices.Clone(PseudoconvexityCases), PseudoconvexityCase{BlockLeak, Dot, 2, true}, PseudoconvexityCase{BlockMul, Maxout, 2, true})
	for n, k := range cases {
		for example := range uint32(20) {
			l := newSmallLayer(draws{5, example, uint32(n)}, k, 4, 4)
			f, gradient := l.gradient(k.Block)
			if f != l.forward().f {
				t.Fatalf("%v: f is %v and %v", k, f, l.forward().f)
			}
			const step = 1e-6
			w := l.block(k.Block)
			for i, v := range w {
				w[i] = v + step
				up := l.forward().f
				w[i] = v - step
				down := l.forward().f
				w[i] = v
				if d := (up - down) / (2 * step); math.Abs(d-gradient[i]) > 1e-6*(1+math.Abs(d)) {
					t.Errorf("%v, weight %d: %v by hand, %v by differences", k, i, gradient[i], d)
				}
			}
		}
	}
}

// TestWithin: no side changes on the way that is said to be inside.
func TestWithin(t *testing.T) {
	shorter := 0
	for _, k := range PseudoconvexityCases {
		for example := range uint32(50) {
			r := draws{9, example, 0}
			l := newSmallLayer(r, k, 4, 4)
			w := l.block(k.Block)
			from, to := slices.Clone(w), make([]float64, len(w))
			r.normals(pseudoTarget, to, l.deviation(k.Block))
			begin, part := l.sides(), l.within(k.Block, to)
			if !slices.Equal(w, from) {
				t.Fatalf("%v: the weights were changed", k)
			}
			if part < 1 {
				shorter++
			}
			for step := range 101 {
				for i := range w {
					w[i] = from[i] + part*float64(step)/100*(to[i]-from[i])
				}
				if !slices.Equal(l.sides(), begin) {
					t.Fatalf("%v: after %d%% of the part %v another side", k, step, part)
				}
			}
		}
	}
	if shorter < 100 {
		t.Errorf("only %d of 350 ways leave their orthant", shorter)
	}
}

// TestPseudoconvexity: it holds of one head's scores before GELU and inside one orthant, and
// nowhere else. What a second head and GELU break is rare.
func TestPseudoconvexity(t *testing.T) {
	for _, k := range PseudoconvexityCases {
		tests := 800
		if k.FeedForward || k.Heads > 1 {
			tests = 3000
		}
		points, err := (&Pseudoconvexity{Seed: 1, Tokens: 4, Width: 2, Tests: tests, Cases: []PseudoconvexityCase{k}, Threads: 2}).Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := points[0]
		holds := k.Block == BlockAdd || k.Block == BlockQueryKey && k.Score == Maxout && k.Heads == 1 && !k.FeedForward
		if holds != (p.Inside == 0) {
			t.Errorf("%v: inside violated by %v of the tests", k, p.Inside)
		}
		if p.Anywhere < 0.02 || p.Anywhere > 0.5 {
			t.Errorf("%v: anywhere violated by %v of the tests", k, p.Anywhere)
		}
	}
}
