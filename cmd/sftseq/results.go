package main

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// results prints results: each as a line of JSON immediately, or all of them as a table at the end.
type results struct {
	json bool
	out  io.Writer
	text int // columns of words, aligned to the left; those of numbers follow
	rows [][]string
}

func newResults(c *cli.Context, text int, columns ...string) *results {
	return &results{json: c.Bool("json"), out: c.App.Writer, text: text, rows: [][]string{columns}}
}

// add adds a result and its row of the table.
func (r *results) add(value any, row ...string) error {
	r.rows = append(r.rows, row)
	return r.note(value)
}

// note prints a value that is not a row of the table, if JSON is requested.
func (r *results) note(value any) error {
	if !r.json {
		return nil
	}
	return json.NewEncoder(r.out).Encode(value)
}

// finish prints the table, and notes below it.
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
	t := &lines{w: r.out}
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
