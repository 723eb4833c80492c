package main

import (
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestRestoredFlags checks that a fusion, resumed without its flags, prints them in the command to
// continue the run, and uses them for members that have not started. If an earlier
// --resume has changed the number of steps or epochs, later ones keep it.
func TestRestoredFlags(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", "byte")
	out := filepath.Join(t.TempDir(), "run")
	output := runCustom(t, data, out, "--members", "lexical,sft", "--device", "cpu", "--hidden", "8", "--layers", "3",
		"--steps", "8", "--chunks", "32", "--chunk-exports", "2", "--local-layers", "1", "--stop-at", "2")
	command := func(steps string) string {
		return "continue with:\n  sftseq train custom --members lexical,sft --data " + data + " --steps " + steps +
			" --chunks 32 --chunk-exports 2 --local-layers 1 --hidden 8 --layers 3 --out " + out + " --resume"
	}
	contains(t, output, command("8"))
	resume := []string{"train", "custom", "--out", out, "--device", "cpu", "--resume"}
	contains(t, done(t, "", append(resume, "--stop-at", "4")...), command("8"))
	contains(t, done(t, "", append(resume, "--steps", "10", "--stop-at", "5")...), command("10"))
	contains(t, done(t, "", append(resume, "--stop-at", "6")...), command("10"))
	contains(t, done(t, "", append(resume, "--epochs", "4", "--stop-at", "7")...), " --epochs 4 ")
	for name, value := range map[string]string{"chunks": "64", "chunk-exports": "3", "local-layers": "2"} {
		_, errs := exits(t, exitError, "", append(resume, "--"+name, value)...)
		contains(t, errs, "--"+name+" "+value+": the run was started with other settings (chunks was {")
	}
	done(t, "", resume...)
	for _, name := range []string{"lexical", "sft"} {
		m := must.Get(sft.Load(filepath.Join(out, name)))(t).Config
		equal(t, *m.Chunks, config.Chunks{Rule: "content", Average: 32, Exports: 2, Layers: 1})
		equal(t, m.HiddenSize, 8)
		equal(t, m.NumLayers, 3)
	}
}
