package main

import (
	"path/filepath"
	"testing"
)

// TestErrorsNameFlags: where a file is not there, the error names the flag that it is the value of, and no
// other; of an argument it names none.
func TestErrorsNameFlags(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "absent")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"sftseq: --data: stat " + absent + ": no such file", []string{"train", "custom", "--data", absent, "--out", filepath.Join(dir, "run")}},
		{"sftseq: --data: open " + absent + ".arrow: no such file", []string{"eval", "--model", goldenPath("pre"), "--data", absent + ".arrow"}},
		{"sftseq: --data: stat " + absent + ": no such file", []string{"data", "baselines", "--data", absent}},
		{"sftseq: --model: " + absent + ": expected a model directory", []string{"predict", "--model", absent}},
		{"sftseq: --model: " + absent + "/: expected a model directory", []string{"predict", "--model", absent + "/"}},
		{"sftseq: --input: stat " + absent + ".csv: no such file", []string{"predict", "--model", goldenPath("pre"), "--input", absent + ".csv", "--text", "t"}},
		{"sftseq: --input: open " + absent + ": no such file", []string{"grads", "--model", goldenPath("pre"), "--input", absent, "--output", filepath.Join(dir, "g.safetensors")}},
		{"sftseq: --from: stat " + absent + ".csv: no such file", []string{"data", "convert", "--from", absent + ".csv", "--to", filepath.Join(dir, "to"), "--text", "t"}},
		{"sftseq: --from: open " + absent + ".jsonl: no such file", []string{"data", "convert", "graph", "--from", absent + ".jsonl", "--to", filepath.Join(dir, "to")}},
		{"sftseq: --config: open " + absent + ".json: no such file", []string{"train", "listops", "--config", absent + ".json"}},
		{"sftseq: open " + absent + ": no such file", []string{"data", "info", absent}},
	} {
		refuse(t, exitError, c.want, "", c.args...)
	}
}
