package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

const (
	goldens = "../../sft/testdata/golden"
	runner  = "../../examples/onnx/run.mjs" // which answers lines by ONNX Runtime
)

// line is a sequence, or a pair.
type line struct {
	ID     int     `json:"id"`
	Tokens []int32 `json:"tokens,omitzero"`
	A      []int32 `json:"tokens_a,omitempty"`
	B      []int32 `json:"tokens_b,omitempty"`
}

// answer is what a model says of a line.
type answer struct {
	ID        int       `json:"id"`
	Error     string    `json:"error"`
	Logits    []float32 `json:"logits"`
	Numbers   []float32 `json:"numbers"`
	Positions []int     `json:"positions"`
	Embedding []float32 `json:"embedding"`
	A         []float32 `json:"embedding_a"`
	B         []float32 `json:"embedding_b"`
}

// TestGoldens: ONNX Runtime computes of each golden folder the logits that are known.
func TestGoldens(t *testing.T) {
	needRuntime(t)
	folders, err := filepath.Glob(filepath.Join(goldens, "*/expected.jsonl"))
	if err != nil || len(folders) < 14 {
		t.Fatalf("%d golden folders, %v", len(folders), err)
	}
	for _, expected := range folders {
		dir := filepath.Dir(expected)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := sft.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			if m.Config.FeatureNames != nil {
				return // refused, as TestStructure has it
			}
			got := onRuntime(t, m, readLines[line](t, filepath.Join(dir, "inputs.jsonl")))
			for i, want := range readLines[answer](t, expected) {
				compare(t, want.ID, "logits", got[i].Logits, want.Logits, 1e-5)
			}
		})
	}
}

// variants are configurations that no golden folder has.
var variants = map[string]func(*sft.Config){
	"relu":           func(c *sft.Config) { c.Probability = "relu" },
	"softmax":        func(c *sft.Config) { c.Probability, c.Score = "softmax", "dot" },
	"lily post":      func(c *sft.Config) { c.Score, c.NormPosition = "lily", "post" },
	"standardized":   func(c *sft.Config) { c.Score = "maxout_standardized" },
	"no relation":    func(c *sft.Config) { c.Relative, c.NumLayers = "none", 3 },
	"residual scale": func(c *sft.Config) { c.ResidualScale = true },
	"noise":          func(c *sft.Config) { c.SamplerNoise = "always" },
	"large seed":     func(c *sft.Config) { c.SamplerSeed = math.MaxUint64 },
	"one key":        func(c *sft.Config) { c.NumSampledTokens = 1 },
	"wide kernel": func(c *sft.Config) {
		c.Convolutions = []sft.Convolution{{KernelSize: 3, Dilation: 1000}, {KernelSize: 1, Dilation: 1}}
	},
	"head window":     func(c *sft.Config) { c.InputWindow = &sft.InputWindow{Length: 40, Policy: "head"} },
	"untied mask":     func(c *sft.Config) { mask(c) },
	"tied mask, post": func(c *sft.Config) { mask(c); c.TieEmbeddings, c.NormPosition = true, "post" },
	"tagging window": func(c *sft.Config) {
		c.Task, c.InputWindow = sft.Tagging, &sft.InputWindow{Length: 40, Policy: "head"}
	},
	"numbers": func(c *sft.Config) {
		c.Task, c.NumLabels, c.Numbers = sft.Regression, 4, []sft.Number{{Name: "a", Mean: 1e6, Deviation: 3}, {Name: "b", Deviation: 0}, {Name: "c", Deviation: 1e-6}, {Name: "beyond float32", Mean: 1e39}}
	},
	"pairs": func(c *sft.Config) {
		c.Task, c.InputWindow = sft.Retrieval, &sft.InputWindow{Length: 40, Policy: "head"}
	},
}

// mask makes a model of masked tokens.
func mask(c *sft.Config) {
	c.Task, c.VocabSize, c.NumLabels, c.MaskTokenID, c.MaskRate, c.MaskSpan = sft.FillMask, 6, 5, new(int32(5)), 0.2, 1
}

// small is a configuration with odd sizes and few tokens, so that scores tie.
func small() *sft.Config {
	return &sft.Config{ModelType: "sft", Task: sft.Classification, VocabSize: 5, NumLabels: 3, HiddenSize: 21, NumLayers: 2, NumHeads: 3,
		IntermediateSize: 29, NumSampledTokens: 11, MaxLength: 1 << 20, SinusoidDim: 10, SinusoidBase: 10000, NormPosition: "pre", LayerNormEps: 1e-5,
		Score: "maxout", Probability: "leaky_relu", Relative: "sinusoid_hadamard", SamplerSeed: 1 << 40, SamplerNoise: "train",
		Tokenizer: json.RawMessage(`{"type":"dna"}`)}
}

// fresh is a model none of whose weights is zero.
func fresh(t *testing.T, change func(*sft.Config)) *sft.Model {
	t.Helper()
	c := small()
	change(c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	m := sft.NewModel(c, 5)
	draw := rand.New(rand.NewPCG(1, 2))
	for _, p := range m.Parameters.List {
		for i := range m.Parameters.Slice(m.Weights, p) {
			m.Weights[p.Offset+i] += float32(0.2 * draw.NormFloat64())
		}
	}
	return m
}

// TestVariants: ONNX Runtime answers as the program does, whatever a configuration says.
func TestVariants(t *testing.T) {
	needRuntime(t)
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			m := fresh(t, change)
			lines := randomLines(m.Config, []int{1, 2, 11, 12, 21, 22, 23, 60, 700})
			got := onRuntime(t, m, lines)
			for i, want := range onProcessor(t, m, lines) {
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
					t.Errorf("line %d: masks at %v, want %v", i, got[i].Positions, want.Positions)
				}
			}
		})
	}
}

// TestTies: equal tokens tie exactly in every layer where nothing tells their places, and a tie is
// decided by its keys, whatever the width of a row.
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
		got, want := onRuntime(t, m, lines), onProcessor(t, m, lines)
		compare(t, hidden, "logits", got[0].Logits, want[0].Logits, 2e-5)
	}
}

// TestRefusedInputs: what the program refuses to read is an error of the graph, too.
func TestRefusedInputs(t *testing.T) {
	needRuntime(t)
	m := fresh(t, func(c *sft.Config) {
		c.PadTokenID, c.InputWindow = new(int32(2)), &sft.InputWindow{Length: 20, Policy: "error"}
	})
	long := slices.Repeat([]int32{1}, 21)
	lines := []line{{0, []int32{1, 5}, nil, nil}, {1, []int32{-1, 1}, nil, nil}, {2, []int32{1, 2}, nil, nil}, {3, []int32{}, nil, nil}, {4, long, nil, nil}, {5, long[:20], nil, nil}}
	wants := []string{"token_is_accepted", "token_is_accepted", "token_is_accepted", "length_is_accepted", "length_is_accepted", ""}
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

// onProcessor is what the program says of lines.
func onProcessor(t *testing.T, m *sft.Model, lines []line) (out []answer) {
	t.Helper()
	s, err := sft.NewScorer(m, cpu.New(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, l := range lines {
		window := func(tokens []int32) []int32 {
			tokens, err := m.Config.Window(tokens)
			if err != nil {
				t.Fatal(err)
			}
			return tokens
		}
		var a answer
		switch {
		case m.Config.Task == sft.FillMask:
			tokens := [][]int32{window(l.Tokens)}
			filled, err := s.Fill(t.Context(), tokens)
			embedded, err2 := s.Embeddings(t.Context(), tokens)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			a.Logits, a.Embedding = slices.Concat(filled[0]...), embedded[0]
			for at, token := range tokens[0] {
				if token == *m.Config.MaskTokenID {
					a.Positions = append(a.Positions, at)
				}
			}
		default:
			e := seq.Example{}
			if l.A != nil {
				e.A, e.B = window(l.A), window(l.B)
			} else {
				e.A = window(l.Tokens)
			}
			outputs, err := s.Examples(t.Context(), []seq.Example{e})
			if err != nil {
				t.Fatal(err)
			}
			a.Logits, a.Numbers = outputs[0].Logits, outputs[0].Numbers
			if a.Embedding = outputs[0].Embeddings[0]; l.A != nil {
				a.A, a.B, a.Embedding = a.Embedding, outputs[0].Embeddings[1], nil
			}
		}
		out = append(out, a)
	}
	return out
}

// onRuntime is what ONNX Runtime says of lines by the exported model.
func onRuntime(t *testing.T, m *sft.Model, lines []line) []answer {
	t.Helper()
	file, err := ONNX(m)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	var in, stderr bytes.Buffer
	for _, l := range lines {
		if err := json.NewEncoder(&in).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "node", runner, path)
	command.Stdin, command.Stderr = &in, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	answers := decode[answer](t, bytes.NewReader(out))
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines\n%s", len(answers), len(lines), &stderr)
	}
	return answers
}

func readLines[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
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

// needRuntime skips where Node.js or ONNX Runtime is missing. In CI neither may be.
func needRuntime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs Node.js for each model")
	}
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(runner), "node_modules/onnxruntime-node"))
	}
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skipf("%v; install it (make deps)", err)
	}
}
