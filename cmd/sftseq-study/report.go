package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/chart"
)

// pointsName is the name of the file with a study's points. It is written last, so a directory with this file
// contains a complete study.
const pointsName = "points.jsonl"

// report collects the results of a study.
type report struct {
	study   *study
	command string // command line that repeats the study
	dir     string
	log     io.Writer // progress output

	rows   [][]string // rows of the table
	points []any      // lines of points.jsonl
	title  string     // title of the figure
	charts []chart.Chart
	notes  []string // paragraphs below the table
}

// checkOutput returns an error if the directory contains a complete study and force is not set.
func (r *report) checkOutput(force bool) error {
	path := filepath.Join(r.dir, pointsName)
	_, err := os.Stat(path)
	if force || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s already exists from an earlier run: choose another --out, or replace it with --force", path)
}

// add adds a point, and a row to the table unless row is empty.
func (r *report) add(point any, row ...string) {
	r.points = append(r.points, point)
	if row != nil {
		r.rows = append(r.rows, row)
	}
}

func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// finish writes the files and prints the table and the notes.
func (r *report) finish(w io.Writer) error {
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return err
	}
	figure, points := filepath.Join(r.dir, r.study.name+".svg"), filepath.Join(r.dir, pointsName)
	scene := chart.Figure{Title: r.title, Charts: r.charts}.Scene()
	if err := atomicfile.Write(figure, func(w io.Writer) error { return scene.Write(w, "svg") }); err != nil {
		return err
	}
	if err := atomicfile.Write(points, func(w io.Writer) error {
		e := json.NewEncoder(w)
		for _, p := range r.points {
			if err := e.Encode(p); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{r.study.columns}, r.rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	r.note("wrote %s and %s", points, figure)
	for _, n := range r.notes {
		fmt.Fprintf(t, "\n%s\n", n)
	}
	return t.Flush()
}

// progressEvery is the minimum time between two lines of progress.
const progressEvery = 10 * time.Second

// progress returns a function that counts completed units and regularly logs their number. The
// function is safe for concurrent use.
func (r *report) progress(total int, units string) func(n int) {
	var mu sync.Mutex
	done, last := 0, time.Now()
	return func(n int) {
		mu.Lock()
		defer mu.Unlock()
		done += n
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			fmt.Fprintf(r.log, "%s: %d of %d %s (%d%%)\n", r.study.name, done, total, units, 100*done/total)
		}
	}
}

// spread is the mean, the minimum and the maximum of several values.
type spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// newSpread returns the spread of values, which must not be empty. It divides the sum by the count,
// instead of averaging step by step, so that the mean of equal integers is exact.
func newSpread(values []float64) spread {
	s := spread{Min: slices.Min(values), Max: slices.Max(values)}
	for _, v := range values {
		s.Mean += v
	}
	s.Mean /= float64(len(values))
	return s
}

// text formats a spread as "3.10 (3.00 to 4.00)", or as a single number if all values are equal.
func (s spread) text(format string) string {
	mean := fmt.Sprintf(format, s.Mean)
	if s.Min == s.Max {
		return mean
	}
	return fmt.Sprintf("%s (%s to %s)", mean, fmt.Sprintf(format, s.Min), fmt.Sprintf(format, s.Max))
}

func percent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }

// newChart returns a chart of the usual size.
func newChart(name string, x, y chart.Axis) chart.Chart {
	return chart.Chart{Name: name, X: x, Y: y, Width: 460, Height: 320}
}

// sampledAxis returns the axis for numbers of sampled tokens.
func sampledAxis(sampled []int) chart.Axis {
	a := chart.Axis{Label: "sampled tokens", Logarithmic: true}
	for _, k := range sampled {
		a.Ticks = append(a.Ticks, chart.Tick{Value: float64(k), Label: strconv.Itoa(k)})
	}
	return a
}

// addLine adds a line in the n-th style to a chart.
func addLine(c *chart.Chart, n int, name string, points []chart.Datum) {
	c.Series = append(c.Series, chart.Series{Name: name, Style: chart.StyleOf(n), Points: points})
}

// maxMarkedPoints is the maximum number of points of a line that is drawn with markers.
const maxMarkedPoints = 19

// addBand adds a line of means in the n-th style to a chart. If the values of a point differ, it also
// adds the minima and the maxima as pale lines.
func addBand(c *chart.Chart, n int, name string, x []int, values []spread) {
	var mean, low, high []chart.Datum
	differ := false
	for i, s := range values {
		x0 := float64(x[i])
		mean, low, high = append(mean, chart.Datum{X: x0, Y: s.Mean}), append(low, chart.Datum{X: x0, Y: s.Min}),
			append(high, chart.Datum{X: x0, Y: s.Max})
		differ = differ || s.Min < s.Max
	}
	style := chart.StyleOf(n)
	pale := style
	pale.Pale, pale.Shape = true, chart.None
	if len(x) > maxMarkedPoints {
		style.Shape = chart.None
	}
	if differ {
		c.Series = append(c.Series, chart.Series{Style: pale, Points: low}, chart.Series{Style: pale, Points: high})
	}
	c.Series = append(c.Series, chart.Series{Name: name, Style: style, Points: mean})
}
