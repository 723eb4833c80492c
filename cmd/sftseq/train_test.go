package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// smallData generates a data set on which a few seconds of training suffice.
func smallData(t *testing.T) string {
	t.Helper()
	return generated(t, "--train", "200", "--val", "20", "--test", "20", "--seed", "0", "--min-length",
		"20", "--max-length", "60")
}

// small returns the arguments of a run of a few seconds with every kind of dropout.
func small(data, out string) []string {
	return []string{"train", "listops", "--data", data, "--out", out, "--steps", "60", "--batch", "40",
		"--hidden", "16", "--layers", "2",
		"--k", "8", "--eval-every", "20", "--log-every", "7", "--token-deletion", "0.1", "--token-replacement", "0.1",
		"--drop-token", "0.2", "--attention-dropout", "0.1", "--embedding-dropout", "0.1",
		"--feed-forward-dropout", "0.1", "--save-every", "1ms", "--seed", "5"}
}

// compareRuns checks that two runs have the same weights, metrics and tensors of the checkpoint. It
// ignores times in the metrics.
func compareRuns(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{"model.safetensors", "metrics.jsonl", "last/checkpoint.safetensors"} {
		x := must.Get(os.ReadFile(filepath.Join(a, name)))(t)
		y := must.Get(os.ReadFile(filepath.Join(b, name)))(t)
		if name == "metrics.jsonl" {
			x, y = withoutTimes(t, x), withoutTimes(t, y)
		}
		if strings.HasPrefix(name, "last/") { // its metadata records the size of metrics.jsonl, which varies
			x, y = x[len(x)-tensorBytes(x):], y[len(y)-tensorBytes(y):]
		}
		if !bytes.Equal(x, y) {
			t.Errorf("%s of %s differs from that of %s", name, b, a)
		}
	}
}

// tensorBytes returns the size in bytes of the data section of a safetensors file.
func tensorBytes(file []byte) int {
	header := 0
	for i := 7; i >= 0; i-- {
		header = header<<8 | int(file[i])
	}
	return len(file) - 8 - header
}

// withoutTimes removes the fields that depend on time from lines of metrics.
func withoutTimes(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		delete(fields, "seconds")
		delete(fields, "tokens_per_s")
		delete(fields, "ranks")
		out.Write(append(must.Get(json.Marshal(fields))(t), '\n'))
	}
	return out.Bytes()
}
