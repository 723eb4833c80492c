package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/seq"
)

func dataStatsCommand() *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "lengths and labels of a data set, split by split",
		ArgsUsage: "FILE|DIR",
		UsageText: "sftseq data stats [--plot FILE] FILE|DIR\n\nExample: sftseq data stats --plot lengths.png data/reviews",
		Description: `Reads all rows and prints rows, lengths and labels of each split side by side. With
--plot the lengths are drawn as a histogram, whose classes grow with the length.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "as JSON, for programs"},
			&cli.StringFlag{Name: "plot", Usage: "draw the lengths into `FILE`: png, svg or pdf", TakesFile: true},
		},
		Action: dataStats,
	}
}

// splitStats is what there is of a split.
type splitStats struct {
	Name      string           `json:"split"`
	Rows      int64            `json:"rows"`
	Lengths   seq.Quantiles    `json:"lengths"`
	Labels    map[string]int64 `json:"labels"`
	Histogram []bin            `json:"histogram"`
}

// bin counts the rows of lengths from From to below To.
type bin struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Rows int64 `json:"rows"`
}

func dataStats(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one FILE or DIR, found %d arguments", c.NArg())
	}
	if err := checkPicture(c, "plot"); err != nil {
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
	var all []splitStats
	for _, name := range names {
		r, err := open(name)
		if err != nil {
			return err
		}
		s, err := statsOf(name, r)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if err := show(c, all, func(w io.Writer) error { return writeStats(w, all) }); err != nil {
		return err
	}
	if to := c.String("plot"); to != "" {
		return plotLengths(all, to)
	}
	return nil
}

// statsOf reads a file, and closes it.
func statsOf(name string, r *seq.Reader) (splitStats, error) {
	defer r.Close()
	summary, counts := seq.NewSummary(), map[int]int64{} // by bin
	for {
		rows, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return splitStats{}, err
		}
		for i := range rows.Len() {
			label, ok := rows.Label(i)
			if !ok {
				label = seq.NoLabel
			}
			summary.Add(rows.Length(i), label)
			counts[binOf(int64(rows.Length(i)))]++
		}
	}
	s := splitStats{Name: name, Rows: summary.Rows(), Lengths: summary.Lengths(), Labels: summary.Labels(r.Spec().LabelNames)}
	for _, at := range slices.Sorted(maps.Keys(counts)) {
		s.Histogram = append(s.Histogram, bin{binEdges[at], binEdges[at+1], counts[at]})
	}
	return s, nil
}

// binEdges are where bins begin: eight between two powers of two, where there is room
// for them.
var binEdges = func() (edges []int64) {
	for k := 0.0; k < 8*40; k++ {
		if edge := int64(math.Ceil(math.Exp2(k / 8))); len(edges) == 0 || edge > edges[len(edges)-1] {
			edges = append(edges, edge)
		}
	}
	return edges
}()

// binOf is the number of a length's bin.
func binOf(length int64) int {
	at, found := slices.BinarySearch(binEdges, max(1, length))
	if !found {
		at--
	}
	return at
}

func writeStats(w io.Writer, all []splitStats) error {
	out := &lines{w: w}
	row := func(name string, value func(s *splitStats) string) {
		line := fmt.Sprintf("%-12s", name)
		for i := range all {
			line += fmt.Sprintf("  %14s", value(&all[i]))
		}
		out.add("%s", strings.TrimRight(line, " "))
	}
	row("", func(s *splitStats) string { return s.Name })
	row("rows", func(s *splitStats) string { return fmt.Sprint(s.Rows) })
	for _, q := range []struct {
		name string
		of   func(seq.Quantiles) int64
	}{
		{"shortest", func(q seq.Quantiles) int64 { return q.Min }}, {"25%", func(q seq.Quantiles) int64 { return q.P25 }},
		{"50%", func(q seq.Quantiles) int64 { return q.P50 }}, {"75%", func(q seq.Quantiles) int64 { return q.P75 }},
		{"95%", func(q seq.Quantiles) int64 { return q.P95 }}, {"longest", func(q seq.Quantiles) int64 { return q.Max }},
	} {
		row(q.name, func(s *splitStats) string { return fmt.Sprint(q.of(s.Lengths)) })
	}
	row("mean", func(s *splitStats) string { return fmt.Sprintf("%.1f", s.Lengths.Mean) })
	labels := map[string]bool{}
	for _, s := range all {
		for name := range s.Labels {
			labels[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		row("label "+name, func(s *splitStats) string {
			return fmt.Sprintf("%d (%.1f%%)", s.Labels[name], 100*float64(s.Labels[name])/float64(max(1, s.Rows)))
		})
	}
	return out.err
}

// histogramLine is the outline of a histogram in percent of the rows, which is zero
// between bins and at both ends.
func histogramLine(bins []bin, rows int64) (points []chart.Datum) {
	add := func(length int64, y float64) {
		points = append(points, chart.Datum{X: float64(max(1, length)), Y: y})
	}
	last := int64(-1)
	for _, b := range bins {
		if b.From != last {
			if last >= 0 {
				add(last, 0)
			}
			add(b.From, 0)
		}
		part := 100 * float64(b.Rows) / float64(rows)
		add(b.From, part)
		add(b.To, part)
		last = b.To
	}
	if last >= 0 {
		add(last, 0)
	}
	return points
}

// plotLengths draws the part of the rows, in percent, by length on a logarithmic axis:
// splits of different sizes can be compared.
func plotLengths(all []splitStats, path string) error {
	p := chart.Chart{X: chart.Axis{Label: "length (tokens)", Logarithmic: true}, Y: chart.Axis{Label: "rows (%)", Zero: true}, Width: 640, Height: 340}
	for i, s := range all {
		style := chart.StyleOf(i)
		style.Shape = chart.None // the outline's corners are no measurements
		p.Series = append(p.Series, chart.Series{Name: s.Name, Style: style, Points: histogramLine(s.Histogram, s.Rows)})
	}
	return savePicture(chart.Figure{Title: "Lengths of the sequences", Charts: []chart.Chart{p}}.Scene(), path)
}
