package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
)

func dataStatsCommand() *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "compare lengths, labels and numbers of the splits of a data set",
		ArgsUsage: "FILE|DIR",
		UsageText: "sftseq data stats [--plot FILE] FILE|DIR\n\nExample: sftseq data stats --plot lengths.png data/reviews",
		Description: `Prints rows, lengths, labels and numbers of each split side by side. --plot draws a histogram of the
lengths, in bins that grow with the length.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.StringFlag{Name: "plot", Usage: "draw the lengths to `FILE`: .png, .svg or .pdf", TakesFile: true},
		},
		Action: dataStats,
	}
}

func dataStats(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one FILE or DIR, found %d arguments", c.NArg())
	}
	if err := checkPlotPath(c, "plot"); err != nil {
		return err
	}
	path := c.Args().First()
	if err := refuseTable(path); err != nil {
		return err
	}
	names := []string{filepath.Base(path)}
	open := func(string) (*seq.Reader, error) { return seq.Open(path) }
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		d, err := seq.OpenDataset(path)
		if err != nil {
			return err
		}
		names, open = d.Manifest.SplitNames(), d.Reader
	}
	var stats []metrics.Stats
	for _, name := range names {
		r, err := open(name)
		if err != nil {
			return err
		}
		s, err := metrics.SplitStats(name, r)
		if err != nil {
			return err
		}
		stats = append(stats, s)
	}
	if err := show(c, stats, func(w io.Writer) error { return writeStats(w, stats) }); err != nil {
		return err
	}
	if to := c.String("plot"); to != "" {
		return plotLengths(stats, to)
	}
	return nil
}

func writeStats(w io.Writer, stats []metrics.Stats) error {
	out := &lineWriter{w: w}
	row := func(name string, value func(s *metrics.Stats) string) {
		line := fmt.Sprintf("%-12s", name)
		for i := range stats {
			line += fmt.Sprintf("  %14s", value(&stats[i]))
		}
		out.add("%s", strings.TrimRight(line, " "))
	}
	row("", func(s *metrics.Stats) string { return s.Name })
	row("rows", func(s *metrics.Stats) string { return fmt.Sprint(s.Rows) })
	for _, q := range []struct {
		name  string
		value func(seq.Quantiles) int64
	}{
		{"shortest", func(q seq.Quantiles) int64 { return q.Min }},
		{"25%", func(q seq.Quantiles) int64 { return q.P25 }},
		{"50%", func(q seq.Quantiles) int64 { return q.P50 }}, {"75%", func(q seq.Quantiles) int64 { return q.P75 }},
		{"95%", func(q seq.Quantiles) int64 { return q.P95 }},
		{"longest", func(q seq.Quantiles) int64 { return q.Max }},
	} {
		row(q.name, func(s *metrics.Stats) string { return fmt.Sprint(q.value(s.Lengths)) })
	}
	row("mean", func(s *metrics.Stats) string { return fmt.Sprintf("%.1f", s.Lengths.Mean) })
	for i, n := range stats[0].Numbers { // all splits of a data set have the same targets
		for _, q := range []struct {
			name  string
			value func(seq.NumberSummary) float64
		}{
			{"smallest", func(n seq.NumberSummary) float64 { return n.Min }},
			{"mean", func(n seq.NumberSummary) float64 { return n.Mean }},
			{"deviation", func(n seq.NumberSummary) float64 { return n.Deviation }},
			{"largest", func(n seq.NumberSummary) float64 { return n.Max }},
		} {
			row(n.Name+" "+q.name, func(s *metrics.Stats) string { return fmt.Sprintf("%.6g", q.value(s.Numbers[i])) })
		}
	}
	labels := map[string]bool{}
	for _, s := range stats {
		for name := range s.Labels {
			labels[name] = true
		}
	}
	count := func(title, name string) {
		row(title, func(s *metrics.Stats) string {
			return fmt.Sprintf("%d (%.1f%%)", s.Labels[name],
				100*float64(s.Labels[name])/float64(max(1, s.Rows, s.Tokens)))
		})
	}
	for _, name := range labelRows(labels) {
		title := "label " + name
		if name == seq.Unlabelled {
			title = withoutLabel
		}
		count(title, name)
	}
	maxLabels := 0
	for _, s := range stats {
		maxLabels = max(maxLabels, len(s.PerRow))
	}
	for n := range maxLabels {
		row(formatLabelCount(n), func(s *metrics.Stats) string {
			rows := int64(0)
			if n < len(s.PerRow) {
				rows = s.PerRow[n]
			}
			return fmt.Sprintf("%d (%.1f%%)", rows, 100*float64(rows)/float64(max(1, s.Rows)))
		})
	}
	return out.err
}

// withoutLabel is the heading for rows or tokens without a label. They do not form a class.
const withoutLabel = "without label"

// labelRows returns the labels in alphabetical order, with [seq.Unlabelled] last.
func labelRows[N any](counts map[string]N) []string {
	names := slices.Sorted(maps.Keys(counts))
	if i := slices.Index(names, seq.Unlabelled); i >= 0 {
		names = append(slices.Delete(names, i, i+1), seq.Unlabelled)
	}
	return names
}

// plotLengths plots the percentage of rows by length on a logarithmic axis. With percentages, splits
// with different numbers of rows are comparable.
func plotLengths(stats []metrics.Stats, path string) error {
	p := chart.Chart{X: chart.Axis{Label: "length (tokens)", Logarithmic: true},
		Y: chart.Axis{Label: "rows (%)", Zero: true}, Width: 640, Height: 340}
	for i, s := range stats {
		style := chart.StyleOf(i)
		style.Shape = chart.None // the corners of the outline are not measurements
		p.Series = append(p.Series, chart.Series{Name: s.Name, Style: style, Points: outline(&s)})
	}
	return savePlot(chart.Figure{Title: "Lengths of the sequences", Charts: []chart.Chart{p}}.Scene(), path)
}

// outline returns the outline of the histogram of lengths in percent of the rows. It is 0 between
// separate bins and at both ends.
func outline(s *metrics.Stats) (points []chart.Datum) {
	add := func(length int64, y float64) {
		points = append(points, chart.Datum{X: float64(max(1, length)), Y: y})
	}
	last := int64(-1)
	for _, b := range s.Histogram {
		if b.From != last {
			if last >= 0 {
				add(last, 0)
			}
			add(b.From, 0)
		}
		percent := 100 * float64(b.Rows) / float64(s.Rows)
		add(b.From, percent)
		add(b.To, percent)
		last = b.To
	}
	if last >= 0 {
		add(last, 0)
	}
	return points
}
