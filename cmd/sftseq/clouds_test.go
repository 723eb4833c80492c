package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClouds: clouds are generated, a model learns them, and eval, predict and embed take them. The
// server refuses the model.
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
		"have features, and a report shows token ids": {"report", dir},
		"--embedding-init fourier: expected tokens":   {"train", "custom", "--data", data, "--out", dir + "2", "--embedding-init", "fourier"},
		"task: fill-mask, expected one of a sequence": {"pretrain", "--data", data, "--out", dir + "3"},
		"token_deletion and token_replacement must":   {"train", "custom", "--data", data, "--out", dir + "4", "--token-deletion", "0.1"},
	} {
		if status, _, errs := program(nil, args...); status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
	if status, _, errs := program(nil, "serve", "--model", dir); status == 0 || !strings.Contains(errs, "the server takes ids so far") {
		t.Errorf("serve: status %d, %s", status, errs)
	}
}
