package main

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// results prints measurements, either immediately as JSON lines or as a table at the end.
type results struct {
	json bool
	out  io.Writer
	text int // number of text columns, which are left-aligned and precede the columns of numbers
	rows [][]string
}

func newResults(c *cli.Context, text int, columns ...string) *results {
	return &results{json: c.Bool("json"), out: c.App.Writer, text: text, rows: [][]string{columns}}
}

// add adds a result and its table row.
func (r *results) add(value any, row ...string) error {
	r.rows = append(r.rows, row)
	return r.writeJSON(value)
}

// writeJSON prints a value as a line of JSON with --json. It adds no table row.
func (r *results) writeJSON(value any) error {
	if !r.json {
		return nil
	}
	return json.NewEncoder(r.out).Encode(value)
}

// finish prints the table and the notes, or nothing with --json.
func (r *results) finish(notes ...string) error {
	if r.json {
		return nil
	}
	width := make([]int, len(r.rows[0]))
	for _, row := range r.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	t := &lineWriter{w: r.out}
	for _, row := range r.rows {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i < r.text {
				line.WriteString(cell + space + "  ")
			} else {
				line.WriteString(space + cell + "  ")
			}
		}
		t.add("%s", strings.TrimRight(line.String(), " "))
	}
	for _, n := range notes {
		t.add("\n%s", n)
	}
	return t.err
}
