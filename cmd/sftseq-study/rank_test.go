package main

import (
	"math"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestSpectrum checks the ranks and the effective rank of known matrices.
func TestSpectrum(t *testing.T) {
	for _, c := range []struct {
		name    string
		m       *mat.Dense
		rank    int
		tenth   int
		entropy float64
	}{
		{"identity", mat.NewDense(2, 3, []float64{1, 0, 0, 0, 1, 0}), 2, 2, 2},
		{"one row thrice", mat.NewDense(3, 2, []float64{1, 2, 1, 2, 1, 2}), 1, 1, 1},
		{"values 4 and 1", mat.NewDense(2, 2, []float64{0, 4, 1, 0}), 2, 2,
			math.Exp(-0.8*math.Log(0.8) - 0.2*math.Log(0.2))},
		{"a value below the tolerance of float32", mat.NewDense(2, 9, []float64{0: 1, 10: 1e-6, 17: 0}), 1, 2,
			math.Exp(1e-6 - 1e-6*math.Log(1e-6))},
		{"a value within the rounding error", mat.NewDense(2, 2, []float64{1, 0, 0, 1e-7}), 1, 1, 1},
	} {
		s, err := newSpectrum(c.m)
		if err != nil {
			t.Fatal(err)
		}
		if s.rank(epsilon32) != c.rank || s.rank(epsilon32/10) != c.tenth ||
			math.Abs(s.effectiveRank()-c.entropy) > 1e-8 {
			t.Errorf("%s: ranks %d and %d, effective rank %v; want %d, %d, %v", c.name, s.rank(epsilon32),
				s.rank(epsilon32/10), s.effectiveRank(), c.rank, c.tenth, c.entropy)
		}
	}
}

// TestSpectrumOfEqualRows checks that a matrix whose rows are equal up to rounding has rank 1.
func TestSpectrumOfEqualRows(t *testing.T) {
	for example := range uint32(40) {
		d := draws{seed: 1, example: example}
		x := identicalTokens(d, 40, 30)
		for i := range 40 {
			d.step = uint32(i + 1)
			noise := make([]float64, 30)
			d.normals(rankToken, noise, 1e-14)
			for c, v := range noise {
				x.Set(i, c, x.At(i, c)+v)
			}
		}
		s, err := newSpectrum(x)
		if err != nil {
			t.Fatal(err)
		}
		if s.rank(epsilon32) != 1 || s.effectiveRank() != 1 {
			t.Errorf("draw %d: rank %d, effective rank %v; want 1 and 1", example, s.rank(epsilon32), s.effectiveRank())
		}
	}
}

// TestRank checks that only leaky ReLU raises the rank of identical tokens above 1, and that their
// effective rank stays near 1.
func TestRank(t *testing.T) {
	r := &rankMeasurement{seed: 1, tokens: 96, width: 96, layers: 6, draws: 2, threads: 2,
		probabilities: []string{leakyReLU, relu, softmax}}
	var done atomic.Int64
	points, err := r.run(t.Context(), func(n int) { done.Add(int64(n)) })
	if err != nil {
		t.Fatal(err)
	}
	if done.Load() != 36 || len(points) != 18 {
		t.Fatalf("%d points, progress reports for %d layers; want 18 and 36", len(points), done.Load())
	}
	for _, p := range points {
		low, high := 1.0, 1.0
		if p.Probability == leakyReLU {
			low, high = 2, 24 // the maximum is 96
		}
		if p.Single.Min < low || p.Single.Max > high || p.Entropy.Max > 1.2 || p.Entropy.Min < 1-1e-9 {
			t.Errorf("%s, layer %d: rank %+v, effective rank %+v; want %v to %v, and 1 to 1.2",
				p.Probability, p.Layer, p.Single, p.Entropy, low, high)
		}
	}
}

// TestNormalise checks that each probability function maps a row of scores to the expected
// probabilities.
func TestNormalise(t *testing.T) {
	for _, c := range []struct {
		probability string
		leak        float64
		want        []float64
	}{
		{relu, 0, []float64{0.25, 0, 0.75}},
		{leakyReLU, 4, []float64{0.125, 0, 0.375}},
		{softmax, 0, []float64{math.E / (math.E + math.Exp(-2) + math.Exp(3)),
			math.Exp(-2) / (math.E + math.Exp(-2) + math.Exp(3)), math.Exp(3) / (math.E + math.Exp(-2) + math.Exp(3))}},
	} {
		row := []float64{1, -2, 3}
		normalise(row, c.probability, c.leak)
		for j := range row {
			if math.Abs(row[j]-c.want[j]) > 1e-8 {
				t.Errorf("%s: %v, want %v", c.probability, row, c.want)
				break
			}
		}
	}
}
