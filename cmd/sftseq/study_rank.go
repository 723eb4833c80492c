package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/study"
)

func studyRankCommand() *cli.Command {
	return &cli.Command{
		Name:  "rank",
		Usage: "whether layers with random weights tell identical tokens apart",
		UsageText: `sftseq study rank [flags]

Examples: sftseq study rank
          sftseq study rank --layers 100 --draws 30   # as the paper has it: more than an hour of one core`,
		Description: `Begins with the same vector for every token and sends it through layers with random
weights, in float64, for each probability function. After each layer it computes the
rank of the matrix of all tokens by the tolerance of float32, as the paper has it, by a
tenth of it, and the rank by entropy, which needs no tolerance.`,
		Flags: programFlags("rank",
			&cli.IntFlag{Name: "tokens", Value: 256, Usage: "tokens"},
			&cli.IntFlag{Name: "width", Value: 512, Usage: "channels of a token"},
			&cli.IntFlag{Name: "layers", Value: 20, Usage: "layers"},
			&cli.IntFlag{Name: "draws", Value: 2, Usage: "draws of all weights"}),
		Action: studyRank,
	}
}

func studyRank(c *cli.Context) error {
	report, err := newStudyReport(c, 1, "probability", "layer", "rank", "by a tenth", "entropy rank")
	if err != nil {
		return err
	}
	r := &study.Rank{Seed: c.Uint64("seed"), Probabilities: []string{study.LeakyReLU, study.ReLU, study.Softmax}}
	for name, at := range map[string]*int{"tokens": &r.Tokens, "width": &r.Width, "layers": &r.Layers, "draws": &r.Draws} {
		if *at, err = countFlag(c, name, 1, 1<<14); err != nil {
			return err
		}
	}
	if r.Threads, err = studyThreads(c); err != nil {
		return err
	}
	bar := newProgress(int64(r.Work()), "rank", "layers")
	points, err := r.Run(c.Context, bar.Add)
	bar.Finish()
	if err != nil {
		return err
	}
	layer := chart.Axis{Label: "layer"}
	ranks, entropies := studyChart("Rank by the tolerance of float32", layer, chart.Axis{Label: "rank", Zero: true}), studyChart("Rank by entropy", layer, chart.Axis{Label: "rank"})
	for n, probability := range r.Probabilities {
		var rank, least, most, entropy []chart.Datum
		for _, p := range points {
			if p.Probability != probability {
				continue
			}
			var row []string
			if shownLayer(p.Layer, r.Layers) {
				row = []string{p.Probability, strconv.Itoa(p.Layer), spreadText(p.Single, "%.3g"), spreadText(p.Tenth, "%.3g"), spreadText(p.Entropy, "%.4f")}
			}
			if err := report.add(p, row...); err != nil {
				return err
			}
			x := float64(p.Layer)
			rank, entropy = append(rank, chart.Datum{X: x, Y: p.Single.Mean}), append(entropy, chart.Datum{X: x, Y: p.Entropy.Mean})
			least, most = append(least, chart.Datum{X: x, Y: p.Single.Min}), append(most, chart.Datum{X: x, Y: p.Single.Max})
		}
		style := chart.StyleOf(n)
		style.Shape = chart.None
		pale := style
		pale.Pale = true
		ranks.Series = append(ranks.Series, chart.Series{Style: pale, Points: least}, chart.Series{Style: pale, Points: most}, chart.Series{Name: probability, Style: style, Points: rank})
		entropies.Series = append(entropies.Series, chart.Series{Name: probability, Style: style, Points: entropy})
	}
	return report.finish(chart.Figure{Title: "Rank of identical tokens after random layers", Charts: []chart.Chart{ranks, entropies}},
		`The paper (Figs. 3 and 8) draws a rank that "gradually gains" with the leaky probability and
is "still small" after 1 to 20 layers. A singular value counts there if it is above
max(tokens, width)·1.19e-7 of the largest: the rank is that of this tolerance. Pale lines
of the picture are the least and the most of the draws.`,
		fmt.Sprintf("The paper: 256 tokens, width 512, 100 layers, 30 draws, float32. Here: %d tokens, width %d, %d layers, draws %d, float64.", r.Tokens, r.Width, r.Layers, r.Draws))
}

// shownLayer reports whether a table of so many layers shows one of them.
func shownLayer(layer, layers int) bool {
	return layers <= 12 || layer == layers || slices.Contains([]int{1, 2, 3, 5}, layer) || layer%10 == 0
}
