package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestClouds: clouds are generated, a model learns them, and eval, predict, embed and
// serve take them.
func TestClouds(t *testing.T) {
	mustRun := func(t *testing.T, args ...string) string {
		t.Helper()
		status, out, errs := program(nil, args...)
		if status != 0 {
			t.Fatalf("%v: status %d\n%s\n%s", args, status, out, errs)
		}
		return out
	}
	data, dir := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "run")
	mustRun(t, "data", "generate", "shapes", "--out", data, "--train", "60", "--val", "10", "--test", "6", "--points", "24")
	mustRun(t, "train", "custom", "--data", data, "--out", dir, "--epochs", "2", "--k", "8", "--hidden", "16", "--intermediate", "16", "--input", "ones")
	mustRun(t, "eval", "--model", dir, "--data", data, "--split", "test")
	test := filepath.Join(data, "test.arrow")
	lines := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(lines, []byte(mustRun(t, "data", "head", test, "--rows", "6")), 0o666); err != nil {
		t.Fatal(err)
	}
	replies := strings.Split(strings.TrimSpace(mustRun(t, "predict", "--model", dir, lines)), "\n")
	if len(replies) != 6 {
		t.Fatalf("%d replies", len(replies))
	}
	for _, line := range replies {
		var reply struct {
			Label         string    `json:"label"`
			Probabilities []float64 `json:"probabilities"`
			Length        int       `json:"length"`
		}
		if err := json.Unmarshal([]byte(line), &reply); err != nil || reply.Label == "" || len(reply.Probabilities) != 9 || reply.Length != 24 {
			t.Errorf("%s: %v", line, err)
		}
	}
	if n := strings.Count(mustRun(t, "embed", "--model", dir, lines), `"embedding"`); n != 6 {
		t.Errorf("%d embeddings", n)
	}
	scored := filepath.Join(t.TempDir(), "scored.arrow")
	mustRun(t, "predict", "--model", dir, "--input", test, "--output", scored)
	if _, err := os.Stat(scored); err != nil {
		t.Error(err)
	}
	for want, args := range map[string][]string{
		"--embedding-init fourier: expected tokens":    {"train", "custom", "--data", data, "--out", dir + "2", "--embedding-init", "fourier"},
		"its tokens have features, and pretrain masks": {"pretrain", "--data", data, "--out", dir + "3"},
		"token_deletion and token_replacement must":    {"train", "custom", "--data", data, "--out", dir + "4", "--token-deletion", "0.1"},
	} {
		if status, _, errs := program(nil, args...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
	servedAsPredicted(t, dir, lines)
	drawnInReport(t, dir, "points; pooling weights")
}

// servedAsPredicted expects the answers of predict to the lines of a file from the server, to
// bare lines and to requests; an index of what has no ids is refused.
func servedAsPredicted(t *testing.T, dir, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	predicted := succeed(t, string(text), "predict", "--model", dir)
	if bare := succeed(t, string(text), "serve", "--model", dir); bare != predicted {
		t.Errorf("the server answers\n%s\nexpected\n%s", bare, predicted)
	}
	requests := `{"jsonrpc":"2.0","id":0,"method":"initialize"}` + "\n"
	for line := range strings.Lines(string(text)) {
		n := strings.Count(requests, "\n")
		for i, method := range []string{"classify", "embed"} {
			requests += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sequence/%s","params":%s}`+"\n", 2*n+i, method, unlabelled(t, line))
		}
	}
	answers := strings.Split(strings.TrimSpace(succeed(t, requests, "serve", "--model", dir, "--log", "error")), "\n")
	embedded := strings.Split(strings.TrimSpace(succeed(t, string(text), "embed", "--model", dir)), "\n")
	found := map[string]bool{}
	for _, a := range answers {
		if _, result, ok := strings.Cut(a, `"result":{`); ok {
			found[strings.TrimSuffix(result, "}}")] = true
		}
	}
	for i, line := range append(strings.Split(strings.TrimSpace(predicted), "\n"), embedded...) {
		_, rest, _ := strings.Cut(line, ",") // behind the id
		if !found[strings.TrimSuffix(rest, "}")] {
			t.Errorf("line %d: no answer is %s\n%s", i, rest, answers)
		}
	}
	if status, _, errs := program(nil, "serve", "--model", dir, "--index", filepath.Join(t.TempDir(), "index")); status == 0 || !strings.Contains(errs, "expected no --index") {
		t.Errorf("serve: status %d, %s", status, errs)
	}
}

// unlabelled is a line without what a request does not know.
func unlabelled(t *testing.T, line string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if name != "features" && name != "edges" {
			delete(fields, name)
		}
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// drawnInReport expects pictures of rows, and what stands below them.
func drawnInReport(t *testing.T, dir, below string) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "report.html")
	if status, _, errs := program(nil, "report", "--out", page, dir); status != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), below) || !strings.Contains(string(text), `aria-label="layer 1 sampled"`) {
		t.Errorf("no drawing with %q", below)
	}
}

// TestAugmentedClouds: a run that turns, scales and moves its clouds goes on after an
// interruption with the same bits, which a run without does not have; what is no range is refused.
func TestAugmentedClouds(t *testing.T) {
	testenv.NoRace(t, "goes the ways of TestClouds, TestConvertCloud and TestGraphs")
	data := filepath.Join(t.TempDir(), "data")
	must := func(args ...string) {
		t.Helper()
		if status, _, errs := program(nil, args...); status != 0 {
			t.Fatalf("%v: status %d\n%s", args, status, errs)
		}
	}
	must("data", "generate", "shapes", "--out", data, "--train", "40", "--val", "9", "--test", "9", "--points", "16", "--no-baselines")
	weights := func(interrupted bool, more ...string) string {
		out := filepath.Join(t.TempDir(), "run")
		args := append([]string{"train", "custom", "--data", data, "--out", out, "--epochs", "2", "--k", "4", "--hidden", "8", "--batch", "8"}, more...)
		if interrupted {
			must(append(args, "--stop-at", "3")...)
			args = append(args, "--resume")
		}
		must(args...)
		text, err := os.ReadFile(filepath.Join(out, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	augmented := []string{"--point-scale", "0.6:1.4", "--point-stretch", "0.8:1.25", "--point-rotation", "any", "--point-shift", "0.005"}
	whole := weights(false, augmented...)
	if weights(true, augmented...) != whole {
		t.Error("the resumed run has other weights")
	}
	if weights(false) == whole || weights(false, "--point-rotation", "z") == whole {
		t.Error("runs without have the same weights")
	}
	for want, flags := range map[string][]string{
		`--point-scale: "2", expected LEAST:MOST`:                          {"--point-scale", "2"},
		`--point-stretch: "0.5", expected LEAST:MOST`:                      {"--point-stretch", "0.5"},
		"point stretch is [0 1], expected two factors from 1e-06 to 1e+06": {"--point-stretch", "0:1"},
		"point scale is [2 1], expected two factors from 1e-06 to 1e+06":   {"--point-scale", "2:1"},
		`--point-rotation "round", expected one of none, z, any`:           {"--point-rotation", "round"},
		"point shift is -1, expected a number from 0 to 1e+06":             {"--point-shift", "-1"},
	} {
		refuse(t, exitUsage, want, "", append([]string{"train", "custom", "--data", data, "--out", filepath.Join(t.TempDir(), "run")}, flags...)...)
	}
}
