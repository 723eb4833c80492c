package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/sftseq/sftseq/internal/chart"
)

// pseudoconvexityStudy counts violations of pseudoconvexity in random layers.
var pseudoconvexityStudy = &study{
	name:    "pseudoconvexity",
	summary: "whether a layer is pseudoconvex in its weights",
	help: `A function f is pseudoconvex if f never becomes smaller along a direction in which f
rises at first. This study draws pairs W₁, W₂ of the weights of a layer on a few tokens. It
keeps the pairs for which f, an entry of the output, rises at W₁ towards W₂, and counts how
often f is smaller at W₂. "Inside" draws W₂ in the orthant of W₁: every maximum and every ReLU
selects the same operand at both. "Anywhere" draws W₂ without this restriction. Gradients are
exact.`,
	columns: []string{"weights", "layer", "inside", "anywhere"},
	prepare: func(f *flags) measurement {
		p := &pseudoconvexity{cases: pseudoconvexityCases, tokens: 4, width: 4}
		f.intFlag(&p.tests, "tests", 20000, 1, 1<<24, "pairs of weights of each case")
		f.drawFlags(&p.seed, &p.threads)
		return p.report
	},
}

func (p *pseudoconvexity) report(ctx context.Context, r *report) error {
	points, err := p.run(ctx, r.progress(2*len(p.cases)*p.tests, "tests"))
	if err != nil {
		return err
	}
	figure := newChart("", chart.Axis{Label: "case, in the order of the table"},
		chart.Axis{Label: "tests that contradict (%)", Zero: true})
	figure.Width = 760
	for n, point := range points {
		r.add(point, point.Block, point.layer(), percent(point.Inside), percent(point.Anywhere))
		x := float64(n + 1)
		figure.X.Ticks = append(figure.X.Ticks, chart.Tick{Value: x, Label: strconv.Itoa(n + 1)})
		bar := func(from, violated float64, name string, pale bool) {
			figure.Boxes = append(figure.Boxes, chart.Box{From: from, To: from + 0.35, Value: 100 * violated,
				Ink: chart.StyleOf(0).Ink, Pale: pale,
				Label: percent(violated), Title: fmt.Sprintf("%v: %s", point.pseudoconvexityCase, name)})
		}
		bar(x-0.35, point.Inside, "inside", false)
		bar(x, point.Anywhere, "anywhere", true)
	}
	r.title, r.charts = "Tests that contradict pseudoconvexity, inside one orthant and anywhere (pale)",
		[]chart.Chart{figure}
	r.note(`The paper's theorems state that the output of a layer with the maxout score is pseudoconvex in each of
these blocks, also with GELU. For maxout, a fraction above 0 inside contradicts them. A small number of tests may
miss rare violations.`)
	r.note("Tokens %d, width %d, %d tests of each case. The paper did not measure pseudoconvexity. As in the "+
		"theorems, the layer has no norm and no sampling.", p.tokens, p.width, p.tests)
	return nil
}

// pseudoconvexity tests whether an entry f of a layer's output is pseudoconvex in a block of its
// weights, as the paper's theorems state. If it is, ⟨∇f(W₁), W₂ − W₁⟩ > 0 implies f(W₂) ≥ f(W₁). The
// test draws pairs W₁, W₂ that satisfy the premise, and counts the pairs with f(W₂) < f(W₁), twice:
// first for pairs in the same orthant, where every max and every ReLU of the layer selects the same
// operand at W₁ and at W₂, then for pairs without this restriction.
type pseudoconvexity struct {
	seed   uint64
	tokens int
	width  int
	tests  int // number of pairs that satisfy the premise, for each case and each of the two counts
	cases  []pseudoconvexityCase

	threads int // does not affect the results
}

// Blocks of weights in a case.
const (
	blockQueryKey = "W_Q, W_K"
	blockMul      = "R_mul"
	blockAdd      = "R_add"
	blockLeak     = "W_C"
)

// Attention scores in a case.
const (
	maxoutScore = "maxout"
	dotScore    = "dot"
)

// pseudoconvexityCase is a layer and the block of its weights that the test varies.
type pseudoconvexityCase struct {
	Block       string `json:"block"`
	Score       string `json:"score"`
	Heads       int    `json:"heads"`
	FeedForward bool   `json:"feed_forward"` // whether f is computed after GELU and the second linear layer
}

// pseudoconvexityCases lists cases of the paper's theorems, and a layer with the dot product, for which
// the paper gives counterexamples.
var pseudoconvexityCases = []pseudoconvexityCase{
	{blockQueryKey, maxoutScore, 1, false}, {blockQueryKey, dotScore, 1, false}, {blockQueryKey, maxoutScore, 2, false},
	{blockQueryKey, maxoutScore, 1, true},
	{blockAdd, maxoutScore, 1, false}, {blockMul, maxoutScore, 1, false}, {blockLeak, maxoutScore, 1, false},
}

func (k pseudoconvexityCase) String() string { return k.Block + "; " + k.layer() }

// layer formats the layer, such as "maxout, heads 2, GELU and fc2".
func (k pseudoconvexityCase) layer() string {
	text := fmt.Sprintf("%s, heads %d", k.Score, k.Heads)
	if k.FeedForward {
		text += ", GELU and fc2"
	}
	return text
}

// pseudoconvexityPoint is the result of a case.
type pseudoconvexityPoint struct {
	pseudoconvexityCase
	Inside   float64 `json:"violated_inside"` // fraction of the tests with a violation inside one orthant
	Anywhere float64 `json:"violated_anywhere"`
	Tests    int     `json:"tests"`
	Tokens   int     `json:"tokens"`
	Width    int     `json:"width"`
	Seed     uint64  `json:"seed"`
}

// run tests every case. It calls progress after each test.
func (p *pseudoconvexity) run(ctx context.Context, progress func(n int)) ([]pseudoconvexityPoint, error) {
	var out []pseudoconvexityPoint
	for n, k := range p.cases {
		var violated [2]int
		for mode, inside := range []bool{true, false} {
			violations := make([]bool, p.tests)
			err := forEach(ctx, p.tests, p.threads, func(ctx context.Context, i int) (err error) {
				violations[i], err = p.test(ctx, k, uint32(2*n+mode), uint32(i), inside)
				progress(1)
				return err
			})
			if err != nil {
				return nil, err
			}
			for _, isViolation := range violations {
				if isViolation {
					violated[mode]++
				}
			}
		}
		fraction := func(n int) float64 { return float64(n) / float64(p.tests) }
		out = append(out, pseudoconvexityPoint{k, fraction(violated[0]), fraction(violated[1]), p.tests,
			p.tokens, p.width, p.seed})
	}
	return out, nil
}

// pseudoconvexityTolerance exceeds rounding errors: a larger derivative counts as positive, and a
// larger decrease of f, relative to 1 + |f|, counts as a violation.
const pseudoconvexityTolerance = 1e-9

// test draws layers and weights until ⟨∇f(W₁), W₂ − W₁⟩ > 0, and reports whether f(W₂) < f(W₁). If
// inside is set, W₂ is in the orthant of W₁. The arguments step and example select the random
// numbers.
func (p *pseudoconvexity) test(ctx context.Context, k pseudoconvexityCase, step, example uint32,
	inside bool) (bool, error) {
	for try := uint32(0); ; try++ {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		r := draws{p.seed, example, step<<16 | try}
		l := newSmallLayer(r, k, p.tokens, p.width)
		w, deviation := l.block(k.Block)
		target, fraction := make([]float64, len(w)), 1.0
		r.normals(pseudoTarget, target, deviation)
		if inside {
			fraction = l.fractionInOrthant(k.Block, target) * r.uniform(pseudoFraction, 0)
		}
		for i, v := range target {
			w[i].d = fraction * (v - w[i].v)
		}
		f := l.forward()
		if f.d <= pseudoconvexityTolerance {
			continue
		}
		for i := range w {
			w[i].v += w[i].d
		}
		return l.forward().v < f.v-pseudoconvexityTolerance*(1+math.Abs(f.v)), nil
	}
}
