package model

import (
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// TestMaskRate checks that the fraction of masked tokens equals the rate at every position, and that
// spans have the configured mean length. On average, eight of ten masked tokens become the mask, one
// becomes a random token other than mask and padding, and one stays unchanged.
func TestMaskRate(t *testing.T) {
	const length, rows = 50, 4000
	for _, s := range []struct{ rate, span float64 }{{0.15, 1}, {0.15, 3}, {0.5, 6}} {
		c := &config.Config{
			Inputs:  config.Inputs{VocabSize: 101, PadTokenID: new(int32(7))},
			Masking: config.Masking{MaskTokenID: new(int32(100)), MaskRate: s.rate, MaskSpan: s.span},
		}
		var at [length]float64
		total, continued, before, masks, others := 0.0, 0.0, 0.0, 0.0, make([]float64, 101)
		tokens := slices.Repeat([]int32{3}, length)
		for row := range uint32(rows) {
			masked, positions := MaskTokens(c, tokens, row, Drawing{Mode: TrainMode, Seed: 5, Step: 2})
			for i, p := range positions {
				at[p] += 1.0 / rows
				total++
				if p > 0 {
					before++
					if i > 0 && positions[i-1] == p-1 {
						continued++
					}
				}
				if masked[p] == 100 {
					masks++
				} else {
					others[masked[p]]++
				}
				masked[p] = 3
			}
			if !slices.Equal(masked, tokens) {
				t.Fatal("a token that is not a target was changed")
			}
		}
		for p, fraction := range at {
			// Tolerance for rows without a span, which mask one token.
			if math.Abs(fraction-s.rate) > 5*math.Sqrt(s.rate*(1-s.rate)/rows)+0.002 {
				t.Errorf("rate %g, span %g: a fraction of %.4f is masked at position %d", s.rate, s.span, fraction, p)
			}
		}
		if last := RandomToken(c, math.MaxUint32); last != 99 {
			t.Errorf("the last random token is %d, want 99", last)
		}
		// A masked token follows another one if both are in one span, or if a new span begins after a span.
		p := s.rate / (s.span - s.rate*(s.span-1))
		want := 1 - 1/s.span + p/s.span
		if got := continued / before; math.Abs(got-want) > 0.02 {
			t.Errorf("rate %g, span %g: %.3f of the masked tokens follow another, expected %.3f",
				s.rate, s.span, got, want)
		}
		if math.Abs(masks/total-0.8) > 0.015 || others[7] > 0 || math.Abs(others[3]/total-0.101) > 0.015 ||
			math.Abs(others[42]/total-0.1/99) > 0.001 {
			t.Errorf("rate %g, span %g: fractions %.3f mask, %.3f unchanged, %.4f token 42, and %g padding tokens; "+
				"want 0.8, 0.101, 0.001 and 0", s.rate, s.span, masks/total, others[3]/total, others[42]/total,
				others[7])
		}
	}
}

// TestMaskedDraws checks that masking depends on seed, row and step in training, but not on the step in
// an evaluation. Each row must have at least one masked token.
func TestMaskedDraws(t *testing.T) {
	c := &config.Config{
		Inputs:  config.Inputs{VocabSize: 10},
		Masking: config.Masking{MaskTokenID: new(int32(9)), MaskRate: 0.15, MaskSpan: 3},
	}
	positionsOf := func(mode PassMode, seed uint64, row, step uint32) []int32 {
		return maskedPositions(c, 400, row, Drawing{mode, seed, step})
	}
	first := positionsOf(TrainMode, 1, 2, 3)
	for name, other := range map[string][]int32{"seed": positionsOf(TrainMode, 2, 2, 3), "row": positionsOf(TrainMode,
		1, 3, 3),
		"step": positionsOf(TrainMode, 1, 2, 4), "evaluation": positionsOf(LossMode, 1, 2, 3)} {
		if slices.Equal(first, other) {
			t.Errorf("a different %s masks the same tokens", name)
		}
	}
	if !slices.Equal(positionsOf(LossMode, 1, 2, 3), positionsOf(EvaluateMode, 1, 2, 9)) {
		t.Error("evaluations at two steps mask different tokens")
	}
	e := seq.Example{Index: 2, A: make([]int32, 400)}
	for i := range e.A {
		e.A[i] = int32(i)
	}
	if c.SamplerSeed = 1; !slices.Equal(Masked(c, e), positionsOf(LossMode, 1, 2, 0)) {
		t.Error("the targets of an evaluation differ from the tokens at the masked positions")
	}
	c.MaskRate = 1e-6
	counts := map[int32]int{}
	for row := range uint32(3000) {
		positions := maskedPositions(c, 3, row, Drawing{Mode: TrainMode})
		if len(positions) != 1 {
			t.Fatalf("%d tokens of a row are masked, want 1", len(positions))
		}
		counts[positions[0]]++
	}
	if counts[0] < 800 || counts[1] < 800 || counts[2] < 800 {
		t.Errorf("counts of the position of a row's only masked token: %v, want at least 800 each", counts)
	}
}
