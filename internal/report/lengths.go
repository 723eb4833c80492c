package report

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
)

// lengthChart shows the accuracy by sequence length of runs with equal length bins, such as runs that were
// evaluated on the same rows.
type lengthChart struct {
	Runs       []string
	One        *metrics.LengthBin // the only bin, shown without a chart; nil if there are several
	Accuracies []string           // accuracy in the first bin, by run
	Chart      template.HTML
}

// lengthCharts groups the runs whose length bins have equal limits and numbers of rows, and returns a chart
// per group.
func lengthCharts(runs []Run) (out []lengthChart) {
	var groups [][]int
	for i, r := range runs {
		if r.Results == nil {
			continue
		}
		group := slices.IndexFunc(groups, func(g []int) bool {
			return slices.EqualFunc(runs[g[0]].Results.Report.ByLength, r.Results.Report.ByLength,
				func(a, b metrics.LengthBin) bool {
					return a.From == b.From && a.To == b.To && a.Rows == b.Rows
				})
		})
		if group < 0 {
			groups, group = append(groups, nil), len(groups)
		}
		groups[group] = append(groups[group], i)
	}
	for _, g := range groups {
		out = append(out, newLengthChart(runs, g))
	}
	return out
}

func newLengthChart(runs []Run, group []int) lengthChart {
	var c lengthChart
	bins := runs[group[0]].Results.Report.ByLength
	for _, i := range group {
		c.Runs = append(c.Runs, runs[i].Name)
		c.Accuracies = append(c.Accuracies, fmt.Sprintf("%.2f%%", 100*runs[i].Results.Report.ByLength[0].Accuracy))
	}
	if len(bins) == 1 {
		c.One = &bins[0]
		return c
	}
	lengths := chart.Chart{X: chart.Axis{Label: "length (tokens)", Low: 0, High: float64(len(bins))},
		Y: chart.Axis{Label: "accuracy (%)", Zero: true}, Width: 540, Height: 270}
	width := min(0.8/float64(len(group)), 0.4)
	for b, bin := range bins {
		name := fmt.Sprintf("%d–%d", bin.From, bin.To)
		if bin.From == bin.To {
			name = fmt.Sprint(bin.From)
		}
		middle := float64(b) + 0.5
		lengths.X.Ticks = append(lengths.X.Ticks,
			chart.Tick{Value: middle, Label: name, Note: fmt.Sprintf("%d rows", bin.Rows)})
		for n, i := range group {
			accuracy := 100 * runs[i].Results.Report.ByLength[b].Accuracy
			left := middle + (float64(n)-float64(len(group))/2)*width
			lengths.Boxes = append(lengths.Boxes, chart.Box{From: left, To: left + 0.94*width, Value: accuracy,
				Ink:   chart.StyleOf(i).Ink,
				Label: fmt.Sprintf("%.1f", accuracy), Title: fmt.Sprintf("%s, %s tokens: %.2f%%",
					runs[i].Name, name, accuracy)})
		}
	}
	c.Chart = lengths.Scene().Inline()
	return c
}
