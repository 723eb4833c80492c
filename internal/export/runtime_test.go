package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

const (
	goldens = "../../sft/testdata/golden"
	runner  = "../../examples/onnx/run.mjs" // scores lines with ONNX Runtime
)

// line is an input: a sequence of tokens, a pair, points or a graph.
type line struct {
	ID     int     `json:"id"`
	Tokens []int32 `json:"tokens,omitzero"`
	A      []int32 `json:"tokens_a,omitempty"`
	B      []int32 `json:"tokens_b,omitempty"`

	// Hashes are inputs of models with n-grams of words.
	Hashes  []string `json:"word_hashes,omitempty"`
	HashesA []string `json:"word_hashes_a,omitempty"`
	HashesB []string `json:"word_hashes_b,omitempty"`

	Features [][]float32 `json:"features,omitempty"`
	Edges    [][]float32 `json:"edges,omitempty"` // source, target and features of each edge
}

// output is the output of a model for a line.
type output struct {
	ID        int       `json:"id"`
	Error     string    `json:"error"`
	Logits    []float32 `json:"logits"`
	Numbers   []float32 `json:"numbers"`
	Positions []int     `json:"positions"`
	Embedding []float32 `json:"embedding"`
	A         []float32 `json:"embedding_a"`
	B         []float32 `json:"embedding_b"`
}

// TestGoldens compares the logits of ONNX Runtime with each golden folder.
func TestGoldens(t *testing.T) {
	needRuntime(t)
	folders, err := filepath.Glob(filepath.Join(goldens, "*/expected.jsonl"))
	if err != nil || len(folders) < 14 {
		t.Fatalf("%d golden folders, want at least 14; error %v", len(folders), err)
	}
	for _, expected := range folders {
		dir := filepath.Dir(expected)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m := must.Get(sft.Load(dir))(t)
			if m.Config.Chunks != nil {
				return // TestStructure checks the refusal
			}
			got := onRuntime(t, m, readLines[line](t, filepath.Join(dir, "inputs.jsonl")))
			for i, want := range readLines[output](t, expected) {
				compare(t, want.ID, "logits", got[i].Logits, want.Logits, 1e-5)
			}
		})
	}
}

// TestVariants compares the outputs of ONNX Runtime with package sft for every variant.
func TestVariants(t *testing.T) {
	needRuntime(t)
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			m := fresh(t, change)
			lengths := []int{1, 2, 11, 12, 21, 22, 23, 60, 700}
			if m.Config.MovingAverages > 0 { // around multiples of averageChunk
				lengths = append(lengths, 32, 33, 64)
			}
			lines := randomLines(m.Config, lengths)
			got := onRuntime(t, m, lines)
			for i, want := range onCPU(t, m, lines) {
				if got[i].Error != "" {
					t.Fatalf("line %d: %s", i, got[i].Error)
				}
				compare(t, i, "logits", got[i].Logits, want.Logits, 2e-5)
				compare(t, i, "embedding", got[i].Embedding, want.Embedding, 2e-5)
				compare(t, i, "embedding_a", got[i].A, want.A, 2e-5)
				compare(t, i, "embedding_b", got[i].B, want.B, 2e-5)
				for n, y := range want.Numbers {
					compare(t, i, "numbers", got[i].Numbers[n:n+1], []float32{y}, 1e-5*max(1, math.Abs(float64(y))))
				}
				if !slices.Equal(got[i].Positions, want.Positions) {
					t.Errorf("line %d: positions of masks %v, want %v", i, got[i].Positions, want.Positions)
				}
			}
		})
	}
}

// TestTies compares the logits of many equal tokens with package sft, for several hidden sizes. They
// agree only if equal tokens have exactly equal scores and the same random keys break the ties.
func TestTies(t *testing.T) {
	needRuntime(t)
	for _, hidden := range []int{1, 7, 18, 31, 50} {
		m := fresh(t, func(c *sft.Config) {
			c.HiddenSize, c.NumHeads, c.Relative = hidden, 1, "none"
		})
		lines := []line{{Tokens: make([]int32, 500)}}
		for i := range lines[0].Tokens {
			lines[0].Tokens[i] = int32(i % 5)
		}
		got, want := onRuntime(t, m, lines), onCPU(t, m, lines)
		compare(t, hidden, "logits", got[0].Logits, want[0].Logits, 2e-5)
	}
}

// TestRefusedInputs checks that inputs that the program refuses are errors of the graph, too.
func TestRefusedInputs(t *testing.T) {
	needRuntime(t)
	m := fresh(t, func(c *sft.Config) {
		c.PadTokenID, c.InputWindow = new(int32(2)), &config.InputWindow{Length: 20, Policy: "error"}
	})
	long := slices.Repeat([]int32{1}, 21)
	lines := []line{{Tokens: []int32{1, 5}}, {Tokens: []int32{-1, 1}}, {Tokens: []int32{1, 2}}, {Tokens: []int32{}},
		{Tokens: long}, {Tokens: long[:20]}}
	wants := []string{"token_is_accepted", "token_is_accepted", "token_is_accepted", "length_is_accepted",
		"length_is_accepted", ""}
	for i, a := range onRuntime(t, m, lines) {
		if !strings.Contains(a.Error, wants[i]) || (a.Error == "") != (wants[i] == "") {
			t.Errorf("line %d: %q, want %q", i, a.Error, wants[i])
		}
	}
}

func compare(t *testing.T, id int, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("line %d: %d %s, want %d", id, len(got), what, len(want))
	}
	for i, w := range want {
		if off := math.Abs(float64(got[i]) - float64(w)); !(off <= tolerance) {
			t.Fatalf("line %d: %s[%d] is %v, want %v", id, what, i, got[i], w)
		}
	}
}

// onCPU returns the outputs of package sft on a CPU for lines.
func onCPU(t *testing.T, m *sft.Model, lines []line) (out []output) {
	t.Helper()
	s := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
	defer s.Close()
	for _, l := range lines {
		window := func(tokens []int32) []int32 {
			tokens = must.Get(m.Config.Window(tokens))(t)
			return tokens
		}
		var a output
		switch {
		case m.Config.Task == config.FillMask:
			tokens := [][]int32{window(l.Tokens)}
			filled, err := s.Fill(t.Context(), tokens)
			embedded, err2 := s.Embeddings(t.Context(), tokens)
			must.Succeed(t, errors.Join(err, err2))
			a.Logits, a.Embedding = slices.Concat(filled[0]...), embedded[0]
			for at, token := range tokens[0] {
				if token == *m.Config.MaskTokenID {
					a.Positions = append(a.Positions, at)
				}
			}
		default:
			e := l.example()
			var err error
			switch {
			case l.Features != nil:
				e.Features, e.Edges, err = m.Config.WindowGraph(e.Features, e.Edges)
			case l.A != nil:
				e.A, e.B = window(l.A), window(l.B)
			default:
				e.A = window(l.Tokens)
			}
			must.Succeed(t, err)
			outputs := must.Get(s.Examples(t.Context(), []seq.Example{e}))(t)
			a.Logits, a.Numbers = outputs[0].Logits, outputs[0].Numbers
			if a.Embedding = outputs[0].Embeddings[0]; l.A != nil {
				a.A, a.B, a.Embedding = a.Embedding, outputs[0].Embeddings[1], nil
			}
		}
		out = append(out, a)
	}
	return out
}

// onRuntime returns the outputs of the exported model in ONNX Runtime for lines.
func onRuntime(t *testing.T, m *sft.Model, lines []line) []output {
	t.Helper()
	var in strings.Builder
	for _, l := range lines {
		if n := m.Config.NGrams; n != nil && n.MaxWords > 0 {
			l.Hashes, l.HashesA, l.HashesB = wordHashes(m, l.Tokens), wordHashes(m, l.A), wordHashes(m, l.B)
		}
		must.Succeed(t, json.NewEncoder(&in).Encode(l))
	}
	outputs := runtimeOutputs(t, m, in.String())
	if len(outputs) != len(lines) {
		t.Fatalf("got %d outputs for %d lines, want one for each", len(outputs), len(lines))
	}
	return outputs
}

// wordHashes returns for each byte the hash of the word that ends at the byte, or "0".
func wordHashes(m *sft.Model, tokens []int32) []string {
	tokens = seq.Cut(m.Config.ReadWindow(), tokens)
	hashes := slices.Repeat([]string{"0"}, len(tokens))
	for _, u := range ngram.NewExtractor(ngram.Options{Units: ngram.Words}).Units(tokens, nil) {
		hashes[u.To-1] = strconv.FormatInt(int64(u.Hash), 10)
	}
	return hashes
}

// runtimeOutputs runs the exported model in ONNX Runtime on JSON lines and returns the outputs.
func runtimeOutputs(t *testing.T, m *sft.Model, text string) []output {
	t.Helper()
	file := must.Get(ONNX(m))(t)
	path := filepath.Join(t.TempDir(), "model.onnx")
	must.Succeed(t, os.WriteFile(path, file, 0o666))
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), "node", runner, path)
	command.Stdin, command.Stderr = strings.NewReader(text), &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return decode[output](t, bytes.NewReader(out))
}

func readLines[T any](t *testing.T, path string) []T {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	return decode[T](t, f)
}

func decode[T any](t *testing.T, r io.Reader) (out []T) {
	t.Helper()
	for d := json.NewDecoder(bufio.NewReader(r)); ; {
		var v T
		if err := d.Decode(&v); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
}

// needRuntime skips the test unless Node.js and ONNX Runtime are installed.
func needRuntime(t *testing.T) {
	t.Helper()
	testenv.Long(t, "runs Node.js for each model")
	testenv.NeedPrograms(t, "node")
	testenv.NeedFile(t, "npm's onnxruntime-node", filepath.Join(filepath.Dir(runner), "node_modules/onnxruntime-node"))
}
