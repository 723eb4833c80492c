package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
)

// TestTrainLexical: a model with embeddings of n-grams is trained beside a linear one, resumed to the same bits,
// described, evaluated, and refused by exports and as the start of another run.
func TestTrainLexical(t *testing.T) {
	for name, tokenizer := range map[string]string{"bytes": "byte", "words": "words:200"} {
		t.Run(name, func(t *testing.T) {
			data := tableData(t, "reviews.csv", readText(t, proseTable(t, 600)), "--text", "review", "--label", "mood",
				"--split", "0.6,0.2,0.2", "--tokenizer", tokenizer)
			small := []string{"--members", "linear,lexical", "--device", "cpu", "--hidden", "8", "--layers", "1",
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
			if c.NGrams == nil || c.NGrams.String() != units {
				t.Errorf("n-grams %v, expected %s", c.NGrams, units)
			}
			var i struct{ Parameters []part }
			must.Succeed(t, json.Unmarshal([]byte(printed(t, "", "info", "--model", lexical, "--json")), &i))
			if p := i.Parameters[len(i.Parameters)-2]; p.Name != "n-grams" || p.Count < 100*c.HiddenSize {
				t.Errorf("%+v", i.Parameters)
			}
			contains(t, printed(t, "", "info", "--model", lexical), "embeddings of n-grams: ", " of memory")
			contains(t, printed(t, "", "eval", "--model", lexical, "--data", data, "--device", "cpu"), "accuracy")
			for _, format := range []string{"onnx", "pytorch"} {
				refuse(t, exitError, "ngrams: expected no such key", "", "export", format, lexical, "--output",
					filepath.Join(t.TempDir(), "exported"))
			}
			refuse(t, exitError, "embeddings of n-grams there", "", "train", "custom", "--members", "sft",
				"--data", data, "--init-from", lexical, "--ngrams", "none", "--out", filepath.Join(t.TempDir(), "o"))
			refuse(t, exitUsage, `--ngrams: n-grams "words", expected such as tokens:1-2:2^18`, "", "train", "custom",
				"--members", "sft", "--data", data, "--ngrams", "words", "--out", filepath.Join(t.TempDir(), "o"))
		})
	}
}
