package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// TestEvalSaysUnfinished checks that eval of an unfinished run prints the step of its weights, for
// numbers, labels, tags and masked tokens.
func TestEvalSaysUnfinished(t *testing.T) {
	_, conll := sentences(40)
	for _, c := range []struct {
		task, name, table string
		convert, train    []string
	}{
		{"numbers", "t.csv", motifRows(40, 24), []string{"--text", "sequence", "--numbers", "count", "--tokenizer",
			"dna:1"}, []string{"train", "custom", "--members", "sft", "--data"}},
		{"labels", "t.csv", labelledRows(60), []string{"--text", "sequence", "--label", "topics", "--label-separator",
			"|"}, []string{"train", "custom", "--members", "sft", "--data"}},
		{"tags", "t.conll", conll, nil, []string{"train", "custom", "--members", "sft", "--data"}},
		{"masked tokens", "t.csv", motifRows(40, 24), []string{"--text", "sequence", "--tokenizer",
			"dna:1"}, []string{"pretrain"}},
	} {
		t.Run(c.task, func(t *testing.T) {
			dir := t.TempDir()
			data, model := filepath.Join(dir, "data"), filepath.Join(dir, "model")
			done(t, "", append([]string{"data", "convert", "--from", writeText(t, filepath.Join(dir, c.name), c.table),
				"--to", data, "--split", "0.5,0.25,0.25"}, c.convert...)...)
			done(t, "", append(append([]string{}, c.train...), data, "--out", model, "--hidden", "8", "--layers", "1",
				"--k", "4", "--steps", "3", "--stop-at", "2", "--eval-every", "2", "--device", "cpu")...)
			measured := []string{"eval", "--model", model, "--data", data, "--device", "cpu"}
			hasPrefix(t, succeed(t, "", measured...),
				model+" at step 2 (training has not ended) on "+data+" (split test): ")
			var result struct {
				Step       int
				Unfinished bool
			}
			if err := json.Unmarshal([]byte(succeed(t, "", append(measured, "--json")...)), &result); err != nil ||
				result.Step != 2 || !result.Unfinished {
				t.Errorf("got result %+v, error %v, want the unfinished step 2", result, err)
			}
		})
	}
}
