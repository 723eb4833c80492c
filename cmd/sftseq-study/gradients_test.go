package main

import (
	"context"
	"errors"
	"math"
	"testing"
)

// output returns the attention without its residual connection, which does not depend on W_V and
// W_Q.
func (a *scalarAttention) output() []float64 {
	out := make([]float64, a.n*a.d)
	for i := range a.n {
		q, s := dot(a.token(i), a.wq), a.leak
		mixed := make([]float64, a.d)
		for j := range a.n {
			if score := max(q, dot(a.token(j), a.wk)); score > 0 {
				s += score
				for c, v := range a.token(j) {
					mixed[c] += score * v
				}
			}
		}
		for c, v := range mixed {
			for o := range a.d {
				out[i*a.d+o] += v / s * a.wv[c*a.d+o]
			}
		}
	}
	return out
}

// squaredGradient returns Σ (∂out/∂w)² over all outputs and all weights in w, computed with
// central differences.
func (a *scalarAttention) squaredGradient(w []float64) (sum float64) {
	const step = 1e-6
	for i, v := range w {
		w[i] = v + step
		up := a.output()
		w[i] = v - step
		down := a.output()
		w[i] = v
		for o := range up {
			d := (up[o] - down[o]) / (2 * step)
			sum += d * d
		}
	}
	return sum
}

// TestGradientNorms checks the formulas for the gradients against finite differences.
func TestGradientNorms(t *testing.T) {
	for draw := range uint32(5) {
		a := newScalarAttention(draws{seed: 3, example: draw}, 9, 4, 0.7)
		value, query, err := a.gradientNorms(t.Context(), func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		if want := a.squaredGradient(a.wv); math.Abs(value-want) > 1e-6*want {
			t.Errorf("draw %d: W_V: %v, finite differences %v", draw, value, want)
		}
		if want := a.squaredGradient(a.wq); math.Abs(query-want) > 1e-6*want {
			t.Errorf("draw %d: W_Q: %v, finite differences %v", draw, query, want)
		}
	}
}

// TestGradientSlopes checks that both squared norms grow about linearly with the number of tokens. The
// paper's theorem states that the norm of the gradient with respect to W_Q does not grow. The test also
// checks that the result for a size depends neither on the other sizes nor on the number of threads.
func TestGradientSlopes(t *testing.T) {
	g := &gradients{seed: 1, sizes: []int{64, 128, 256, 512, 1024}, width: 16, leak: 1, draws: 6}
	done := 0
	points, err := g.run(t.Context(), func(n int) { done += n })
	if err != nil {
		t.Fatal(err)
	}
	value, query := slopes(points)
	if math.Abs(value-0.95) > 0.15 || math.Abs(query-1.07) > 0.25 {
		t.Errorf("slopes %v and %v, expected about 0.95 and 1.07", value, query)
	}
	if want := 6 * (64*64 + 128*128 + 256*256 + 512*512 + 1024*1024); done != want {
		t.Errorf("progress reports for %d pairs, expected %d", done, want)
	}
	for _, p := range points {
		if p.Value.Min == p.Value.Max || p.Query.Min == p.Query.Max {
			t.Errorf("all draws of %d tokens are equal", p.Tokens)
		}
	}
	again, err := (&gradients{seed: 1, sizes: []int{128}, width: 16, leak: 1, draws: 6, threads: 3}).run(t.Context(),
		func(int) {})
	if err != nil || again[0] != points[1] {
		t.Errorf("128 tokens alone: got %+v and error %v, want %+v as with other sizes", again, err, points[1])
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.run(stopped, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled study: got error %v, want %v", err, context.Canceled)
	}
}

// TestNewSpread checks the mean, minimum and maximum, and that the mean of equal integers is exact.
func TestNewSpread(t *testing.T) {
	for n := 1; n <= 60; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = 2
		}
		if s := newSpread(values); s != (spread{2, 2, 2}) {
			t.Errorf("spread of %d twos: got %+v, want 2 for the mean, minimum and maximum", n, s)
		}
	}
	if s := newSpread([]float64{3, -1, 4}); s != (spread{2, -1, 4}) {
		t.Errorf("spread of 3, -1, 4: got %+v, want the mean 2, minimum -1 and maximum 4", s)
	}
}
