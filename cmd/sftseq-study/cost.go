package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/chart"
)

var costStudy = &study{
	name:    "cost",
	summary: "operations and time of the parts of a layer",
	help: `Counts the operations of each part of a layer with 256 channels and 16 heads on two
sequences, including the parts that the paper omits, and measures the time of each part.
The time of maxout and PV is measured for attention without a relative encoding, and
includes the remainder. The time of the relative encoding is the additional time of
attention with this encoding, plus the time of its tables. Needs the CPU, or a GPU that
times its kernels.`,
	columns: []string{"part", "k", "paper (10⁹)", "full (10⁹)", "time", "10⁹/s"},
	prepare: func(f *flags) measurement {
		c := &costs{}
		f.intListFlag(&c.sampled, "k", []int{1024, 512, 256, 128, 64}, 1, bench.TableLength,
			"numbers of sampled tokens")
		f.intFlag(&c.reps, "reps", 5, 1, 1<<20, "timed runs; medians are printed")
		f.deviceFlags(&c.runDevice, 1)
		return c.report
	},
}

// costSequences is the number of sequences for which the formulas reproduce the paper's counts.
const costSequences = 2

// costPart is a part of a layer. Its operations are counted for two sequences. A multiply-add counts
// as two operations, and so does a maximum followed by an addition.
type costPart struct {
	name         string
	operations   func(n, k, d, h float64) float64 // for n tokens, k sampled tokens, d channels, h heads
	matchesPaper bool                             // whether the formula reproduces the paper's numbers
	// paperCounts maps the sampled fraction of the tokens to the paper's count in 10⁹ operations, for
	// 1,024 tokens of 256 channels. It is set if no formula reproduces the counts.
	paperCounts map[float64]float64
	seconds     func(p *bench.LayerParts) float64 // nil if another part contains the time
}

// costParts lists the parts in the order of the paper's table, with one addition before the MLP: the
// score and the weighted sum, 4nkd each, which the table omits. The paper's numbers fit two sequences,
// 16 heads and a relation of two numbers per pair. The remainder is R_mul, R_add, ReLU and the sum of
// ReLU, for each pair of query and key in each head. Sampling counts the sampler's scores and the
// mixtures of token pairs, but not the search for the largest scores.
var costParts = []costPart{
	{name: "sampling", operations: func(n, k, d, _ float64) float64 { return costSequences * (2*n*d + 3*k*d) },
		paperCounts: map[float64]float64{1: 0.0037, 0.5: 0.0037, 0.25: 0.0037, 0.125: 0.0037, 0.0625: 0.0037},
		seconds:     func(p *bench.LayerParts) float64 { return p.Sampling }},
	{name: "Q", operations: tokenProjection, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.Q }},
	{name: "K", operations: sampledProjection, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.K }},
	{name: "V", operations: sampledProjection, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.V }},
	{name: "C", operations: func(_, k, d, h float64) float64 { return 4 * k * d * h }, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.C }},
	{name: "relative", operations: func(n, k, _, h float64) float64 { return 16 * n * k * h }, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.Relative }},
	{name: "W_cat", operations: tokenProjection, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.Out }},
	{name: "remainder", operations: func(n, k, _, h float64) float64 { return costSequences * 4 * n * k * h },
		paperCounts: map[float64]float64{1: 0.044, 0.5: 0.022, 0.25: 0.009, 0.125: 0.004, 0.0625: 0.002}},
	{name: "maxout and PV", operations: func(n, k, d, _ float64) float64 { return 2 * 4 * n * k * d },
		seconds: func(p *bench.LayerParts) float64 { return p.Pairs }},
	{name: "MLP", operations: func(n, _, d, _ float64) float64 { return 32 * n * d * d }, matchesPaper: true,
		seconds: func(p *bench.LayerParts) float64 { return p.MLP }},
}

func tokenProjection(n, _, d, _ float64) float64   { return 4 * n * d * d }
func sampledProjection(_, k, d, _ float64) float64 { return 4 * k * d * d }

// paper returns the number of operations in the paper, or 0 if no formula reproduces it and the
// paper does not print it.
func (p *costPart) paper(n, k, d, h float64) float64 {
	if p.matchesPaper {
		return p.operations(n, k, d, h)
	}
	return 1e9 * p.paperCounts[k/n]
}

// costPoint is the result for a part of a layer with k sampled tokens.
type costPoint struct {
	Part    string  `json:"part"`
	Tokens  int     `json:"tokens"`
	K       int     `json:"k"`
	Paper   float64 `json:"paper_operations,omitempty"` // by formula, or as printed; 0 if neither exists
	Full    float64 `json:"operations"`
	Seconds float64 `json:"seconds,omitempty"` // 0 if another part contains the time
	Device  string  `json:"device"`
	Threads int     `json:"threads"`
}

// costs is the measurement of the parts of layers.
type costs struct {
	runDevice
	sampled []int
	reps    int
}

func (c *costs) report(ctx context.Context, r *report) (err error) {
	d, err := c.open(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	shape, width := bench.LayerShapes["usual"], 256.0
	lines := make([][]chart.Datum, len(costParts))
	progress := r.progress(len(c.sampled), "numbers of sampled tokens")
	for _, k := range c.sampled {
		parts, err := bench.Layer{Kind: "sft", K: k, Length: bench.TableLength, LayerShape: shape}.MeasureParts(ctx,
			d, costSequences, c.reps)
		if err != nil {
			return err
		}
		progress(1)
		for i, part := range costParts {
			evaluate := func(formula func(n, k, d, h float64) float64) float64 {
				return formula(float64(bench.TableLength), float64(k), width, float64(shape.Heads))
			}
			p := costPoint{Part: part.name, Tokens: bench.TableLength, K: k, Paper: evaluate(part.paper),
				Full: evaluate(part.operations), Device: d.Name(), Threads: c.threads}
			row := []string{part.name, strconv.Itoa(k), "", fmt.Sprintf("%.4f", p.Full/1e9), "", ""}
			if p.Paper > 0 {
				row[2] = fmt.Sprintf("%.4f", p.Paper/1e9)
			}
			if part.seconds != nil {
				p.Seconds = part.seconds(&parts)
			}
			if s := p.Seconds; s > 0 {
				row[4], row[5] = bench.FormatSeconds(s), bench.FormatDigits(p.Full/s/1e9)
				lines[i] = append(lines[i], chart.Datum{X: float64(k), Y: 1e3 * s})
			}
			r.add(p, row...)
		}
	}
	figure := newChart("", sampledAxis(c.sampled), chart.Axis{Label: "time of a part (ms)", Zero: true})
	for i, part := range costParts {
		if lines[i] != nil {
			addLine(&figure, i, part.name, lines[i])
		}
	}
	r.title, r.charts = "Time of the parts of a layer", []chart.Chart{figure}
	r.note("%s; threads %d, sequences %d, medians of %d runs. The rate of a part is its full count of operations "+
		"divided by its time.", d.Name(), c.threads, costSequences, c.reps)
	r.note(`The paper (Table 7) prints counts for 1,024 tokens of 256 channels. Formulas for two
sequences, 16 heads and relations of two numbers per pair reproduce them, except the counts of
sampling and of the remainder, which are copied from the table. The paper omits the score and the
weighted sum.`)
	r.note("Here, the relative encoding is read from tables, so its operations differ from those of the paper's two " +
		"linear layers per pair.")
	return nil
}
