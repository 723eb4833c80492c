package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/seq"
)

// examples returns the rows of a split.
func examples(t *testing.T, set *seq.Dataset, split string) (out []seq.Example) {
	t.Helper()
	f := must.Get(set.Open(split))(t)
	defer f.Close()
	for i := range f.Len() {
		out = append(out, must.Get(f.Example(i))(t))
	}
	return out
}

// writeSequences writes sequences to an Arrow file and returns its path.
func writeSequences(t *testing.T, spec seq.Spec, rows ...seq.Example) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sequences.arrow")
	w := must.Get(seq.Create(path, spec))(t)
	for _, e := range rows {
		must.Succeed(t, w.Write(e))
	}
	must.Succeed(t, w.Close())
	return path
}

// tableData writes a table, converts it with additional flags of data convert and returns the
// directory of the data set.
func tableData(t *testing.T, name, text string, flags ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	from := writeText(t, filepath.Join(t.TempDir(), name), text)
	done(t, "", append([]string{"data", "convert", "--from", from, "--to", dir}, flags...)...)
	return dir
}

// runCustom runs train custom with additional flags and returns the printed text.
func runCustom(t *testing.T, data, out string, flags ...string) string {
	t.Helper()
	return done(t, "", append([]string{"train", "custom", "--members", "sft", "--data", data,
		"--out", out}, flags...)...)
}

// prediction is an output line of predict with a class.
type prediction struct {
	ID            json.RawMessage `json:"id,omitempty"`
	Label         any             `json:"label"`
	Logits        []float32       `json:"logits"`
	Probabilities []float32       `json:"probabilities"`
	requests.Sizes
	requests.Explained
}
