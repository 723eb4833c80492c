package study

import (
	"context"
	"fmt"
	"math"
)

// Pseudoconvexity asks whether an entry f of a layer's output is pseudoconvex in a block of
// its weights, as the paper's theorem says: whether ⟨∇f(W₁), W₂ − W₁⟩ > 0 forbids
// f(W₂) < f(W₁). It draws W₁ and W₂ and counts how often it does not, once with both in one
// orthant, where no max and no ReLU of the layer changes its side on the way from W₁ to W₂,
// and once with them anywhere.
type Pseudoconvexity struct {
	Seed   uint64
	Tokens int
	Width  int
	Tests  int // pairs of weights with a positive product, of each case
	Cases  []PseudoconvexityCase

	Threads int // which change no result
}

// Blocks of weights that a case may draw.
const (
	BlockQueryKey = "W_Q, W_K"
	BlockMul      = "R_mul"
	BlockAdd      = "R_add"
	BlockLeak     = "W_C"
)

// Scores that a case may have.
const (
	Maxout = "maxout"
	Dot    = "dot"
)

// PseudoconvexityCase is a layer, and the block of its weights that is drawn.
type PseudoconvexityCase struct {
	Block       string `json:"block"`
	Score       string `json:"score"`
	Heads       int    `json:"heads"`
	FeedForward bool   `json:"feed_forward"` // GELU and the second linear layer follow
}

// PseudoconvexityCases are those of the paper's theorems, and what each leaves out.
var PseudoconvexityCases = []PseudoconvexityCase{
	{BlockQueryKey, Maxout, 1, false}, {BlockQueryKey, Dot, 1, false}, {BlockQueryKey, Maxout, 2, false}, {BlockQueryKey, Maxout, 1, true},
	{BlockAdd, Maxout, 1, false}, {BlockMul, Maxout, 1, false}, {BlockLeak, Maxout, 1, false},
}

// String is such as "W_Q, W_K; maxout, 2 heads, GELU and fc2".
func (k PseudoconvexityCase) String() string {
	text := fmt.Sprintf("%s; %s, heads %d", k.Block, k.Score, k.Heads)
	if k.FeedForward {
		text += ", GELU and fc2"
	}
	return text
}

// PseudoconvexityPoint is what a case came to.
type PseudoconvexityPoint struct {
	PseudoconvexityCase
	Inside   float64 `json:"violated_inside"` // part of the tests
	Anywhere float64 `json:"violated_anywhere"`
	Tests    int     `json:"tests"`
	Tokens   int     `json:"tokens"`
	Width    int     `json:"width"`
	Seed     uint64  `json:"seed"`
}

// Work is how many steps Run tells of: one for each test.
func (p *Pseudoconvexity) Work() int { return 2 * len(p.Cases) * p.Tests }

// Run counts every case.
func (p *Pseudoconvexity) Run(ctx context.Context, progress Progress) ([]PseudoconvexityPoint, error) {
	var out []PseudoconvexityPoint
	for n, k := range p.Cases {
		var violated [2]int
		for place, inside := range []bool{true, false} {
			found := make([]bool, p.Tests)
			err := each(ctx, p.Tests, p.Threads, func(ctx context.Context, i int) (err error) {
				found[i], err = p.test(ctx, k, uint32(2*n+place), uint32(i), inside)
				progress.tell(1)
				return err
			})
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				if f {
					violated[place]++
				}
			}
		}
		part := func(n int) float64 { return float64(n) / float64(p.Tests) }
		out = append(out, PseudoconvexityPoint{k, part(violated[0]), part(violated[1]), p.Tests, p.Tokens, p.Width, p.Seed})
	}
	return out, nil
}

// pseudoconvexityTolerance is how much smaller f must be, beside its size, to count: rounding is below.
const pseudoconvexityTolerance = 1e-9

// test draws layers and weights until the product is positive, and reports whether f is
// smaller at W₂. Example and step are the address of its draws.
func (p *Pseudoconvexity) test(ctx context.Context, k PseudoconvexityCase, step, example uint32, inside bool) (bool, error) {
	for try := uint32(0); ; try++ {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		r := draws{p.Seed, example, step<<16 | try}
		l := newSmallLayer(r, k, p.Tokens, p.Width)
		from := l.block(k.Block)
		to := make([]float64, len(from))
		r.normals(pseudoTarget, to, l.deviation(k.Block))
		if inside {
			part := l.within(k.Block, to) * r.uniform(pseudoPart, 0)
			for i, v := range to {
				to[i] = from[i] + part*(v-from[i])
			}
		}
		f, gradient := l.gradient(k.Block)
		product := 0.0
		for i, g := range gradient {
			product += g * (to[i] - from[i])
		}
		if product <= pseudoconvexityTolerance {
			continue
		}
		copy(from, to)
		return l.forward().f < f-pseudoconvexityTolerance*(1+math.Abs(f)), nil
	}
}
