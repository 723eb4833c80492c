package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestTrainChunks checks that a stopped and resumed fusion with a chunked model equals an uninterrupted
// one. It runs the commands that support chunked models, and checks the errors of unsupported commands
// and flags.
func TestTrainChunks(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", "byte")
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	out := at("run")
	flags := []string{"train", "custom", "--data", data, "--device", "cpu", "--hidden", "8", "--layers", "3",
		"--steps", "20", "--chunks", "32", "--out", out}
	output := done(t, "", append(flags, "--stop-at", "9")...)
	contains(t, output, " --chunks 32 ")
	done(t, "", append(flags, "--resume")...)
	whole := at("whole")
	done(t, "", slices.Concat(flags[:len(flags)-1], []string{whole})...)
	sameFusion(t, whole, out, "lexical")
	member := filepath.Join(out, "lexical")
	m := must.Get(sft.Load(member))(t)
	equal(t, *m.Config.Chunks, config.Chunks{Rule: "content", Average: 32, Exports: 4, Layers: 2})
	equal(t, m.Config.MaxLength, config.MaxDocument)
	contains(t, done(t, "", "eval", "--model", out, "--data", data), "sum")
	contains(t, done(t, "", "info", "--model", member), "exports", "1048576")
	info := decode[modelInfo](t, done(t, "", "info", "--model", member, "--json"))
	if first, last := info.Costs[0].Edit, info.Costs[len(info.Costs)-1].Edit; first < 0.02 || !(last > 0.02 && last < first) {
		t.Errorf("the cost of an edit is %v of the cost of the shortest and %v of that of the longest document, "+
			"want more than 0.02 for both and a lower fraction for the longest", first, last)
	}
	fixed := *m.Config
	fixed.Chunks = &config.Chunks{Rule: "fixed", Average: 32, Exports: 4, Layers: 2}
	equal(t, editCost(&fixed, 4096), 0)
	page := at("page.html")
	done(t, "", "report", "--model", out, "--data", data, "--out", page)
	contains(t, readText(t, page), "lexical")
	const row = `{"id":"x","text":"a good film of this time, and a moving story with wonderful people in it"}`
	contains(t, done(t, row, "predict", "--model", member), `"label":`)
	contains(t, done(t, row, "embed", "--model", member), `"embedding":`)
	contains(t, done(t, row, "predict", "--model", member, "--explain"), `"chunks":[{"start":0,"end":`)
	evidence := []string{"eval", "--model", out, "--data", data, "--evidence", "10"}
	contains(t, done(t, "", evidence...), "same class from a tenth of tokens", "(p = ")
	contains(t, done(t, "", append(evidence, "--json")...), `"rows": 10`)
	refuse(t, exitError, "found a linear model, whose tokens have no weights", "", "eval", "--data", data, "--evidence",
		"20", "--model", filepath.Join(out, "linear"))
	refuseAll(t, exitUsage, evidence, []refusal{
		{"--evidence 0: expected 1 or more", []string{"--evidence", "0"}},
		{"--evidence prints no other metrics: expected no --errors", []string{"--errors", "wrong.csv"}},
	})
	for _, format := range []string{"onnx", "pytorch"} {
		refuse(t, exitError, "export does not support chunked models: export a model trained without --chunks", "", "export", format, "--model", member,
			"--output", at("m."+format))
	}
	refuse(t, exitError, "--config "+member+": expected a model without chunks, found chunks of 32 tokens", "", "bench",
		"model", "--config", member)
	first := []string{"train", "custom", "--data", data, "--out", at("refused"), "--members", "sft"}
	refuseAll(t, exitUsage, first, []refusal{
		{"--chunk-exports needs --chunks: the model reads rows without chunks", []string{"--chunk-exports", "3"}},
		{"--local-layers needs --chunks: the model reads rows without chunks", []string{"--local-layers", "1"}},
		{"--chunks \"x\": expected the average number of tokens of a chunk, a power of two from 16 to",
			[]string{"--chunks", "x"}},
		{"--chunks \"60\": expected the average number of tokens of a chunk, a power of two",
			[]string{"--chunks", "60"}},
		{"--chunk-exports 61: expected 1 to 60", []string{"--chunks", "fixed:60", "--chunk-exports", "61"}},
		{"--layers 1: expected at least 2 with chunks", []string{"--chunks", "64", "--layers", "1"}},
		{"--local-layers 2: expected at least 1 and less than --layers 2: the document encoder has the other layers",
			[]string{"--chunks", "64", "--local-layers", "2", "--layers", "2"}},
		{"--input-window 9: expected none (0) with chunks, which cover whole sequences",
			[]string{"--chunks", "64", "--input-window", "9"}},
	})
}

// TestChunkLengths checks the length limit of chunked models, and the advice for rows that are too long.
func TestChunkLengths(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", "byte")
	out := filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--members", "sft", "--data", data, "--device", "cpu", "--hidden", "8",
		"--steps", "2", "--chunks", "32", "--out", out, "--max-length"}
	refuse(t, exitError, "the model accepts at most 20 (max_position_embeddings): accept it with --max-length ", "",
		append(flags, "20")...)
	done(t, "", append(flags, "5000")...)
	equal(t, must.Get(sft.Load(out))(t).Config.MaxLength, 5000)
	refuse(t, exitError, "the run was started with other settings (", "", "train", "custom", "--out", out, "--resume",
		"--chunk-exports", "2")
	refuse(t, exitError, out+" already contains a run: continue it with --resume", "", append(flags, "5000")...)

	command := &cli.App{Commands: []*cli.Command{trainCustomCommand()}}
	long := &train.LengthError{File: "f", Row: 1, Tokens: 1<<20 + 1, Longest: 1 << 20}
	command.Commands[0].Action = func(c *cli.Context) error {
		chunked, flat := must.Get(sft.Load(out))(t).Config, config.Config{}
		equal(t, lengthAdvice(c, chunked, long), "divide the row")
		equal(t, lengthAdvice(c, &flat, long), "read it in chunks with --chunks 1024, or read the beginning of longer "+
			"rows with --input-window 1048576")
		return nil
	}
	must.Succeed(t, command.Run([]string{"sftseq", command.Commands[0].Name}))
}

// TestChunkedSeedsResumed checks that --resume with the flags of the run trains a chunked model for a missing seed.
func TestChunkedSeedsResumed(t *testing.T) {
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", "byte")
	out := filepath.Join(t.TempDir(), "run")
	flags := []string{"train", "custom", "--members", "sft", "--data", data, "--device", "cpu", "--hidden", "8",
		"--steps", "2", "--seeds", "1,2", "--chunks", "32", "--chunk-exports", "2", "--out", out}
	done(t, "", flags...)
	second := filepath.Join(out, "seed-2")
	must.Succeed(t, os.RemoveAll(second))
	done(t, "", append(flags, "--resume")...)
	equal(t, *must.Get(sft.Load(second))(t).Config.Chunks,
		config.Chunks{Rule: "content", Average: 32, Exports: 2, Layers: 1})
}
