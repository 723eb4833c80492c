package docs_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// TestPython checks that the script in python.md computes the known logits of golden models.
func TestPython(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	script := pageScript(t)
	names := []string{"pre", "post", "ties", "retrieval", "conv", "conv_post", "regression", "multilabel", "tagging",
		"ngrams", "ngrams_bytes", "averages"}
	var runs []scriptRun
	for _, name := range names {
		dir := filepath.Join(root, "sft/testdata/golden", name)
		runs = append(runs, scriptRun{dir, filepath.Join(dir, "inputs.jsonl")})
	}
	for i, lines := range runScript(t, script, runs...) {
		t.Run(names[i], func(t *testing.T) { compareLines(t, lines, goldenLines(t, names[i])) })
	}
}

// TestPythonNoise checks that the script draws the same noise as the program for models that sample
// randomly in prediction.
func TestPythonNoise(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	script := pageScript(t)
	names := []string{"pre", "post", "ties", "retrieval"}
	var runs []scriptRun
	for _, name := range names {
		runs = append(runs, scriptRun{noisy(t, name), filepath.Join(root, "sft/testdata/golden", name, "inputs.jsonl")})
	}
	for i, lines := range runScript(t, script, runs...) {
		name := names[i]
		t.Run(name, func(t *testing.T) {
			want := scoredLines(t, runs[i].dir, runs[i].inputs)
			compareLines(t, lines, want)
			moved := 0.0
			for i, quiet := range goldenLines(t, name) {
				for c, v := range quiet.Logits {
					moved = max(moved, math.Abs(v-want[i].Logits[c]))
				}
			}
			if moved < 1e-3 {
				t.Errorf("the noise changes logits by at most %g, want at least 1e-3", moved)
			}
		})
	}
}

// TestPythonOfTheProgram checks that the script loads models that train custom has trained on a
// table, and computes the same logits as predict.
func TestPythonOfTheProgram(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	script, dir := pageScript(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	program := func(stdin string, args ...string) string {
		command := exec.Command(at("sftseq"), args...)
		var out, stderr bytes.Buffer
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &out, &stderr
		if err := command.Run(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, stderr.Bytes())
		}
		return out.String()
	}
	if out, err := exec.Command("go", "build", "-o", at("sftseq"), root+"/cmd/sftseq").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	table, inputs := "review,stars\n", ""
	for i := range 60 {
		text := strings.Repeat([]string{"Not bad at all. ", "Dreadful. ", "Ümläüte? "}[i%3], 1+i%7) + strconv.Itoa(i)
		table += fmt.Sprintf("%s,%d\n", text, i%3)
		tokens := []int{}
		for _, b := range []byte(text) {
			tokens = append(tokens, int(b)+1)
		}
		line := must.Get(json.Marshal(map[string]any{"id": i, "tokens": tokens}))(t)
		inputs += string(line) + "\n"
	}
	for name, text := range map[string]string{"reviews.csv": table, "inputs.jsonl": inputs} {
		must.Succeed(t, os.WriteFile(at(name), []byte(text), 0o666))
	}
	program("", "data", "convert", "--from", at("reviews.csv"), "--to", at("data"), "--text",
		"review", "--label", "stars",
		"--tokenizer", "byte", "--split", "0.5,0.25,0.25")
	for _, flags := range [][]string{{"--members", "sft"}, {"--members", "lexical"},
		{"--members", "sft", "--k", "0"}} {
		model := at(strings.Join(flags[1:], ""))
		program("", slices.Concat([]string{"train", "custom", "--data", at("data"), "--out", model, "--device", "cpu",
			"--steps", "8", "--hidden", "16", "--sampler-noise", "always", "--drop-token", "0.2",
			"--input-window", "50:tail=20"}, flags)...)
		if flags[1] == "lexical" { // the export writes word_hashes.py, which n-grams of words need
			program("", "export", "onnx", model, "--output", filepath.Join(filepath.Dir(script), "model.onnx"))
		}
		want := logitLines(t, strings.NewReader(program(inputs, "predict", "--model", model, "--device", "cpu")))
		input := must.Get(os.Open(at("inputs.jsonl")))(t)
		defer input.Close()
		compareLines(t, logitLines(t, strings.NewReader(runPython(t, input, script, model))), want)
	}
}

// noisy returns the directory of a copy of a golden model. The copy samples randomly in prediction.
func noisy(t *testing.T, name string) string {
	t.Helper()
	m := must.Get(sft.Load(filepath.Join(root, "sft/testdata/golden", name)))(t)
	m.Config.SamplerNoise = "always"
	dir := t.TempDir()
	must.Succeed(t, m.Save(dir))
	return dir
}

// scoredLines returns the logits that [sft.Scorer] computes for a file of inputs.
func scoredLines(t *testing.T, dir, inputs string) (lines []logitLine) {
	t.Helper()
	m := must.Get(sft.Load(dir))(t)
	scorer := must.Get(sft.NewScorer(m, cpu.New(1)))(t)
	defer scorer.Close()
	text := must.Get(os.ReadFile(inputs))(t)
	for line := range bytes.Lines(text) {
		var in struct {
			ID     int     `json:"id"`
			Tokens []int32 `json:"tokens"`
			A      []int32 `json:"tokens_a"`
			B      []int32 `json:"tokens_b"`
		}
		must.Succeed(t, json.Unmarshal(line, &in))
		out := must.Get(scorer.Examples(t.Context(), []seq.Example{{A: append(in.Tokens, in.A...), B: in.B}}))(t)
		l := logitLine{ID: in.ID}
		for _, v := range out[0].Logits {
			l.Logits = append(l.Logits, float64(v))
		}
		lines = append(lines, l)
	}
	return lines
}

func goldenLines(t *testing.T, name string) []logitLine {
	t.Helper()
	file := must.Get(os.Open(filepath.Join(root, "sft/testdata/golden", name, "expected.jsonl")))(t)
	defer file.Close()
	return logitLines(t, file)
}

func compareLines(t *testing.T, got, want []logitLine) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("got %d lines, want %d and at least 1", len(got), len(want))
	}
	for i, w := range want {
		compareLogits(t, got[i], w)
	}
}

// pageScript writes the script of python.md to a file and returns its path. It skips the test if the
// script cannot run.
func pageScript(t *testing.T) string {
	t.Helper()
	testenv.NeedTorch(t)
	script := filepath.Join(t.TempDir(), "sft.py")
	must.Succeed(t, os.WriteFile(script, []byte(codeBlock(t, "python.md", "python")), 0o666))
	return script
}

// TestPythonRefuses checks that the script's error names the unsupported part of a configuration.
func TestPythonRefuses(t *testing.T) {
	testenv.Long(t, "runs PyTorch")
	text := must.Get(os.ReadFile(filepath.Join(root, "sft/testdata/golden/pre/config.json")))(t)
	// A single process loads each of the configurations below.
	load := `import sys; sys.path.insert(0, sys.argv[1]); import sft
for folder in sys.argv[2:]:
    try: sft.load(folder)
    except AssertionError as e: print(e)`
	args, want := []string{"-c", load, filepath.Dir(pageScript(t))}, ""
	for _, c := range []struct {
		key   string
		value any
		shown string
	}{
		{"score", "lily", "lily"}, {"relative", "none", "none"}, {"task", "fill-mask", "fill-mask"},
		{"residual_scale", true, "True"}, {"what_comes_next", true, "True"},
		{"chunks", map[string]any{"average": 1024}, "{'average': 1024}"},
	} {
		var config map[string]any
		must.Succeed(t, json.Unmarshal(text, &config))
		config[c.key] = c.value
		changed := must.Get(json.Marshal(config))(t)
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "config.json"), changed, 0o666))
		args = append(args, dir)
		want += fmt.Sprintf("%s: %s is %s, this script covers\n", dir, c.key, c.shown)
	}
	out, err := exec.Command(testenv.Python, args...).CombinedOutput()
	if got := regexp.MustCompile(`(?m) \[.*\]$`).ReplaceAllString(string(out), ""); err != nil || got != want {
		t.Errorf("error %v, got output\n%s\nwant\n%s", err, out, want)
	}
}

// codeBlock returns the only fenced code block of a language in a page.
func codeBlock(t *testing.T, page, language string) string {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
	parts := strings.Split(string(text), "```"+language+"\n")
	if len(parts) != 2 {
		t.Fatalf("%s has %d blocks of %s, want 1", page, len(parts)-1, language)
	}
	code, _, found := strings.Cut(parts[1], "\n```")
	if !found {
		t.Fatalf("%s: the block does not end", page)
	}
	return code + "\n"
}

// scriptRun is a model and the file of its inputs.
type scriptRun struct{ dir, inputs string }

// running is a Python program that runs the script repeatedly in one process, because importing
// PyTorch takes most of the time. A form feed on its own line ends the output of a run.
const running = `
import runpy, sys
script, *rest = sys.argv[1:]
for folder, inputs in zip(rest[::2], rest[1::2]):
    sys.argv = [script, folder]
    with open(inputs) as sys.stdin:
        runpy.run_path(script, run_name="__main__")
    print("\f", flush=True)
`

// runScript returns the lines that the script prints for each run.
func runScript(t *testing.T, script string, runs ...scriptRun) (all [][]logitLine) {
	t.Helper()
	args := []string{"-c", running, script}
	for _, r := range runs {
		args = append(args, r.dir, r.inputs)
	}
	texts := strings.Split(runPython(t, nil, args...), "\f\n")
	if len(texts) != len(runs)+1 || texts[len(runs)] != "" {
		t.Fatalf("got %d outputs, followed by %q; want %d, followed by \"\"", len(texts)-1, texts[len(texts)-1],
			len(runs))
	}
	for _, text := range texts[:len(runs)] {
		all = append(all, logitLines(t, strings.NewReader(text)))
	}
	return all
}

func runPython(t *testing.T, stdin io.Reader, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	command := exec.Command(testenv.Python, args...)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1") // the models are tiny
	command.Stdin, command.Stdout, command.Stderr = stdin, &out, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return out.String()
}

type logitLine struct {
	ID     int       `json:"id"`
	Logits []float64 `json:"logits"`
}

func logitLines(t *testing.T, r io.Reader) (lines []logitLine) {
	t.Helper()
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var l logitLine
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			t.Fatalf("%v in %q", err, scanner.Text())
		}
		lines = append(lines, l)
	}
	if scanner.Err() != nil {
		t.Fatal(scanner.Err())
	}
	return lines
}

func compareLogits(t *testing.T, got, want logitLine) {
	t.Helper()
	if got.ID != want.ID || len(got.Logits) != len(want.Logits) {
		t.Fatalf("line %d has %d logits, want line %d with %d", got.ID, len(got.Logits), want.ID, len(want.Logits))
	}
	for i, w := range want.Logits {
		if !(math.Abs(got.Logits[i]-w) <= 1e-4) {
			t.Errorf("line %d, logit %d: got %v, want %v", want.ID, i, got.Logits[i], w)
		}
	}
}
