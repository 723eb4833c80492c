package report

import (
	"fmt"
	"slices"

	"sftseq/internal/metrics"
)

// lengthChart has a bar for each bin of lengths and each of the runs that were measured
// on rows of the same lengths.
type lengthChart struct {
	Runs          []string
	One           *metrics.LengthBin // the only bin, which needs no picture
	Accuracies    []string           // of that
	Width, Height float64
	Left, Right   float64
	Top, Bottom   float64
	Y             []tick
	Bins          []lengthBin
	Bars          []bar
}

type lengthBin struct {
	Middle     float64
	Name, Rows string
}

type bar struct {
	mark
	X, Y, Width, Height float64
	Middle              float64
	Label, Title        string
}

// lengthCharts joins the runs whose rows have the same lengths.
func lengthCharts(runs []Run) (out []lengthChart) {
	var groups [][]int
	for i, r := range runs {
		if r.Results == nil {
			continue
		}
		at := slices.IndexFunc(groups, func(g []int) bool {
			return slices.EqualFunc(runs[g[0]].Results.Report.ByLength, r.Results.Report.ByLength, func(a, b metrics.LengthBin) bool {
				return a.From == b.From && a.To == b.To && a.Rows == b.Rows
			})
		})
		if at < 0 {
			groups, at = append(groups, nil), len(groups)
		}
		groups[at] = append(groups[at], i)
	}
	for _, g := range groups {
		out = append(out, newLengthChart(runs, g))
	}
	return out
}

func newLengthChart(runs []Run, group []int) lengthChart {
	c := lengthChart{Width: 720, Height: 270, Left: 62, Right: 708, Top: 22, Bottom: 210}
	bins := runs[group[0]].Results.Report.ByLength
	for _, i := range group {
		c.Runs = append(c.Runs, runs[i].Name)
		c.Accuracies = append(c.Accuracies, fmt.Sprintf("%.2f%%", 100*runs[i].Results.Report.ByLength[0].Accuracy))
	}
	if len(bins) == 1 {
		c.One = &bins[0]
		return c
	}
	highest := 0.0
	for _, i := range group {
		for _, b := range runs[i].Results.Report.ByLength {
			highest = max(highest, 100*b.Accuracy)
		}
	}
	y := axis{low: 0, high: max(1, highest*1.05), from: c.Bottom, to: c.Top}
	c.Y = y.ticks(5)
	room := (c.Right - c.Left) / float64(len(bins))
	width := min(64, room*0.8/float64(len(group)))
	for b, bin := range bins {
		middle := c.Left + (float64(b)+0.5)*room
		name := fmt.Sprintf("%d–%d", bin.From, bin.To)
		if bin.From == bin.To {
			name = fmt.Sprint(bin.From)
		}
		c.Bins = append(c.Bins, lengthBin{middle, name, fmt.Sprintf("%d rows", bin.Rows)})
		for n, i := range group {
			accuracy := 100 * runs[i].Results.Report.ByLength[b].Accuracy
			top := y.at(accuracy)
			item := bar{mark: markOf(i), X: middle + (float64(n)-float64(len(group))/2)*width, Y: top, Width: width, Height: c.Bottom - top,
				Title: fmt.Sprintf("%s, %s tokens: %.2f%%", runs[i].Name, name, accuracy)}
			item.Middle = item.X + width/2
			if width >= 30 {
				item.Label = fmt.Sprintf("%.1f", accuracy)
			}
			c.Bars = append(c.Bars, item)
		}
	}
	return c
}
