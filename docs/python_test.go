package docs_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// python is Debian's, which has python3-torch.
const python = "/usr/bin/python3"

// TestPython runs the script of python.md on models whose logits are known.
func TestPython(t *testing.T) {
	requireTorch(t)
	script := filepath.Join(t.TempDir(), "sft.py")
	if err := os.WriteFile(script, []byte(codeBlock(t, "python.md", "python")), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pre", "post", "ties", "conv", "conv_post"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, "sft/testdata/golden", name)
			got := runScript(t, script, dir)
			file, err := os.Open(filepath.Join(dir, "expected.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			want := logitLines(t, file)
			if len(got) != len(want) || len(want) == 0 {
				t.Fatalf("%d lines, want %d", len(got), len(want))
			}
			for i, w := range want {
				compareLogits(t, got[i], w)
			}
		})
	}
}

// TestPythonRefuses: a configuration that the script does not cover is named.
func TestPythonRefuses(t *testing.T) {
	requireTorch(t)
	script := filepath.Join(t.TempDir(), "sft.py")
	if err := os.WriteFile(script, []byte(codeBlock(t, "python.md", "python")), 0o666); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, script, filepath.Join(root, "sft/testdata/golden/lily"))
	out, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "score is lily") {
		t.Errorf("the script ended with %v and said %q", err, out)
	}
}

// importTorch tries what the script imports.
var importTorch = sync.OnceValues(func() ([]byte, error) {
	return exec.Command(python, "-c", "import numpy, torch").CombinedOutput()
})

// requireTorch skips where PyTorch is not installed. In CI it must be.
func requireTorch(t *testing.T) {
	t.Helper()
	out, err := importTorch()
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s cannot import numpy and torch: %v\n%s", python, err, out)
	}
	t.Skipf("%s cannot import torch; install Debian's python3-torch (make deps)", python)
}

// codeBlock returns the only fenced block of a language in a page.
func codeBlock(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
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

func runScript(t *testing.T, script, dir string) []logitLine {
	t.Helper()
	input, err := os.Open(filepath.Join(dir, "inputs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	var out, stderr bytes.Buffer
	command := exec.Command(python, script, dir)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS=1") // the models are tiny
	command.Stdin, command.Stdout, command.Stderr = input, &out, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return logitLines(t, &out)
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
			t.Errorf("line %d, logit %d: %v, want %v", want.ID, i, got.Logits[i], w)
		}
	}
}
