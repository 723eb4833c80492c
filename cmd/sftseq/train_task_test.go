package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestTrainTaskRefusesOtherData checks that the presets of a published task refuse data with other
// properties, and warn about data that differ only in their name.
func TestTrainTaskRefusesOtherData(t *testing.T) {
	reviews, out := customData(t, "--label", "mood", "--tokenizer", "byte"), filepath.Join(t.TempDir(), "run")
	for task, want := range map[string]string{
		"listops": `expected data of the task listops, classification with the tokenizer listops and the classes "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"; found "data", classification with the tokenizer byte and the classes "bad, good"`,
		"text":    `expected data of the task text, classification with the tokenizer byte and the classes "negative, positive"; found`,
	} {
		refuse(t, exitError, want, "", "train", task, "--data", reviews, "--out", out)
		refuse(t, exitError, "sftseq train custom --data "+reviews, "", "train", task, "--data", reviews, "--out", out)
	}
	noFile(t, out)
	data := tinyData(t)
	steps := []string{"train", "listops", "--data", data, "--out", out, "--steps", "1", "--batch", "4",
		"--hidden", "8", "--k", "4"}
	manifest := filepath.Join(data, "dataset.json")
	keys := decode[map[string]any](t, readText(t, manifest))
	for name, warned := range map[string]bool{"listops": false, "mine": true} {
		keys["name"] = name
		writeText(t, manifest, string(must.Get(json.Marshal(keys))(t)))
		must.Succeed(t, os.RemoveAll(out))
		status, output, errs := program(nil, steps...)
		contains(t, output, "\nevaluate with: sftseq eval --model "+out+" --data "+data+"\n")
		if status != 0 || strings.Contains(errs, `warning: `+data+` has the name "mine"`) != warned {
			t.Errorf("data set named %s: got status %d, want 0, and a warning: %t, in\n%s", name, status, warned, errs)
		}
	}
}
