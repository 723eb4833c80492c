package main

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/export"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
)

// checkNoAttention checks that info and report of a model without attention do not describe
// attention, and that bench model measures such a model.
func checkNoAttention(t *testing.T, data, model string) {
	t.Helper()
	var i struct {
		Costs []struct {
			Operations []part `json:"operations_per_token"`
		}
	}
	must.Succeed(t, json.Unmarshal([]byte(printed(t, "", "info", "--model", model, "--json")), &i))
	for _, p := range i.Costs[0].Operations {
		if slices.Contains([]string{"sampler", "projections", "attention", "relative"}, p.Name) {
			t.Errorf("info lists operations of the part %s, want none", p.Name)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	done(t, "", "report", "--data", data, "--out", page, model)
	text := readText(t, page)
	contains(t, text, "The head reads the mean of all tokens")
	notContains(t, text, "Each layer attends")
	done(t, "", "bench", "model", "--config", "listops", "--k", "0", "--length", "8", "--batch", "1", "--reps", "1",
		"--device", "cpu")
}

// TestTrainLexical trains a model with n-gram embeddings beside a linear model. It checks that a resumed
// run has the same bits, and that the model is described, evaluated and exported. --init-from refuses a
// model with n-grams.
func TestTrainLexical(t *testing.T) {
	for name, tokenizer := range map[string]string{"bytes": "byte", "words": "words:200"} {
		t.Run(name, func(t *testing.T) {
			data := tableData(t, "reviews.csv", readText(t, proseTable(t, 600)), "--text", "review", "--label", "mood",
				"--split", "0.6,0.2,0.2", "--tokenizer", tokenizer)
			small := []string{"--members", "linear,lexical", "--seed", "1", "--device", "cpu", "--hidden", "8",
				"--layers", "1",
				"--steps", "20"}
			dir := t.TempDir()
			out, again := filepath.Join(dir, "out"), filepath.Join(dir, "again")
			contains(t, runCustom(t, data, out, small...), "lexical: validation accuracy ",
				"members on the validation split", "  lexical  accuracy ")
			runCustom(t, data, again, append(small, "--stop-at", "7")...)
			done(t, "", "train", "custom", "--members", "linear,lexical", "--out", again, "--resume")
			sameFusion(t, out, again, "lexical")

			lexical := filepath.Join(out, "lexical")
			c := must.Get(config.Read(filepath.Join(lexical, "config.json")))(t)
			units := map[string]string{"bytes": "bytes:3-6+2:2^20:2", "words": "tokens:1-2:2^18:2"}[name]
			if c.NGrams == nil || c.NGrams.String() != units || c.HasAttention() != (name == "bytes") {
				t.Errorf("n-grams %v, %d sampled tokens, expected %s, attention for bytes only", c.NGrams,
					c.NumSampledTokens, units)
			}
			var i struct{ Parameters []part }
			must.Succeed(t, json.Unmarshal([]byte(printed(t, "", "info", "--model", lexical, "--json")), &i))
			if p := i.Parameters[len(i.Parameters)-2]; p.Name != "n-grams" || p.Count < 100*c.HiddenSize {
				t.Errorf("parameters %+v, want a part of n-grams", i.Parameters)
			}
			contains(t, printed(t, "", "info", "--model", lexical), "embeddings of n-grams: ", " of memory")
			if name == "words" {
				checkNoAttention(t, data, lexical)
			}
			contains(t, printed(t, "", "eval", "--model", lexical, "--data", data, "--device", "cpu"), "accuracy")
			back := filepath.Join(dir, "back")
			succeed(t, "", "export", "pytorch", lexical, "--output", filepath.Join(dir, "pytorch"))
			succeed(t, "", "import", "pytorch", filepath.Join(dir, "pytorch"), "--output", back)
			equal(t, readText(t, filepath.Join(back, "model.safetensors")),
				readText(t, filepath.Join(lexical, "model.safetensors")))
			t.Run("onnx", func(t *testing.T) { exportLexical(t, data, lexical) })
			refuse(t, exitError, "the initial model has embeddings of n-grams", "", "train", "custom", "--members", "sft",
				"--data", data, "--init-from", lexical, "--ngrams", "none", "--out", filepath.Join(t.TempDir(), "o"))
			refuse(t, exitUsage, `--ngrams "words": expected UNITS:LENGTHS[+WORDS]:SLOTS[:MINCOUNT[:FEATURES]]`, "",
				"train", "custom",
				"--members", "sft", "--data", data, "--ngrams", "words", "--out", filepath.Join(t.TempDir(), "o"))
		})
	}
}

// exportLexical checks that the ONNX graph of a model with n-grams computes the logits of predict for
// rows of the test split. The exported word_hashes.py computes the hashes of words. An existing
// word_hashes.py with other content is not overwritten.
func exportLexical(t *testing.T, data, model string) {
	dir := t.TempDir()
	path, module := filepath.Join(dir, "model.onnx"), filepath.Join(dir, export.WordHashesFile)
	words := must.Get(config.Read(filepath.Join(model, "config.json")))(t).NGrams.MaxWords > 0
	if words {
		must.Succeed(t, os.WriteFile(module, []byte("import this\n"), 0o666))
		refuse(t, exitError, "word_hashes.py: expected no file or an earlier export", "", "export", "onnx", model,
			"--output", path)
		must.Succeed(t, os.Remove(module))
	}
	for range 2 {
		succeed(t, "", "export", "onnx", model, "--output", path)
	}
	if _, err := os.Stat(module); (err == nil) != words {
		t.Errorf("%s: error %v, want the file to exist: %t", module, err, words)
	}
	testenv.Long(t, "runs Node.js")
	testenv.NeedPrograms(t, "node", "python3")
	testenv.NeedFile(t, "npm's onnxruntime-node", filepath.Join(examplesDir, "onnx/node_modules/onnxruntime-node"))
	lines := succeed(t, "", "data", "head", "--tokens", "--rows", "40", "--split", "test", data)
	want := replyLines(t, succeed(t, lines, "predict", "--model", model, "--device", "cpu"))
	if words {
		c := exec.CommandContext(t.Context(), "python3", "-c", `import json, sys
from word_hashes import word_hashes
for line in map(json.loads, sys.stdin):
    print(json.dumps({**line, "word_hashes": list(map(str, word_hashes(line["tokens"])))}))`)
		c.Dir, c.Stdin = dir, strings.NewReader(lines)
		lines = string(must.Get(c.Output())(t))
	}
	got := replyLines(t, client(t, lines, []string{"node", filepath.Join(examplesDir, "onnx/run.mjs")}, path))
	if len(want) != 40 || len(got) != len(want) {
		t.Fatalf("got %d predictions of the ONNX graph and %d of predict, want 40 of each", len(got), len(want))
	}
	for i, w := range want {
		for n, v := range w.Logits {
			if off := math.Abs(float64(v) - float64(got[i].Logits[n])); !(off <= 1e-4) {
				t.Errorf("line %d with %d tokens: the logits differ by %.1e, want at most 1e-4", i, w.Length, off)
			}
		}
	}
}
