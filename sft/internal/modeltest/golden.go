package modeltest

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// GoldenDir is the path of the golden folders from package sft or from a package directly below it.
var GoldenDir = func() string {
	const folder = "testdata/golden"
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	return filepath.Join("..", folder)
}()

// EvaluationFolders returns the names of the golden folders with logits and gradients of the independent
// implementation: see testdata/golden/README.md. With -short it leaves out "long", which takes minutes
// under the race detector and tests no further concurrency.
func EvaluationFolders() []string {
	folders := []string{"pre", "post", "lily", "standardized", "odd", "ties", "retrieval",
		"vanilla", "conv", "conv_post"}
	if !testing.Short() {
		folders = append(folders, "long")
	}
	return folders
}

type goldenLine struct {
	Tokens   []int32     `json:"tokens"`
	TokensA  []int32     `json:"tokens_a"`
	TokensB  []int32     `json:"tokens_b"`
	Label    int32       `json:"label"`
	Numbers  []float32   `json:"numbers"`
	Labels   []int32     `json:"labels"`
	Features [][]float32 `json:"features"`
	Edges    []seq.Edge  `json:"edges"`
	Logits   []float64   `json:"logits"`
}

// GoldenLines reads a JSON Lines file of a golden folder.
func GoldenLines(t *testing.T, path string) []goldenLine {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	var out []goldenLine
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		var l goldenLine
		must.Succeed(t, json.Unmarshal(s.Bytes(), &l))
		out = append(out, l)
	}
	if s.Err() != nil || len(out) == 0 {
		t.Fatalf("reading %s: %d lines, error %v; want at least 1 line, error <nil>", path, len(out), s.Err())
	}
	return out
}

func goldenExamples(t *testing.T, dir string) []seq.Example {
	t.Helper()
	var out []seq.Example
	for i, l := range GoldenLines(t, filepath.Join(dir, "inputs.jsonl")) {
		e := seq.Example{Index: uint32(i), A: l.Tokens, Label: l.Label, Numbers: l.Numbers, Labels: l.Labels,
			Features: l.Features, Edges: l.Edges}
		if l.Tokens == nil {
			e.A, e.B = l.TokensA, l.TokensB
		}
		out = append(out, e)
	}
	return out
}

// LoadGolden returns the model and the examples of a golden folder.
func LoadGolden(t *testing.T, name string) (*sft.Model, []seq.Example) {
	t.Helper()
	dir := filepath.Join(GoldenDir, name)
	m := must.Get(sft.Load(dir))(t)
	return m, goldenExamples(t, dir)
}
