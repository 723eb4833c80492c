package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestShardKey checks that an existing part is refused if the command, a flag or a file of the model
// has changed since the part was written.
func TestShardKey(t *testing.T) {
	model := moodModel(t)
	in := writeText(t, filepath.Join(t.TempDir(), "in.jsonl"), `{"text":"aab","key":"a","ids":[1,2]}`)
	flags := []string{"--model", model, "--input", in, "--id", "key", "--text", "text", "--keep", "text", "--output",
		filepath.Join(t.TempDir(), "parts") + "/"}
	with := func(name string, value ...string) []string {
		i := slices.Index(flags, name)
		if i < 0 {
			return slices.Concat(flags, []string{name}, value)
		}
		return slices.Concat(flags[:i], value, flags[i+2:])
	}
	succeed(t, "", append([]string{"predict"}, flags...)...)
	for _, args := range map[string][]string{
		"command":  append([]string{"embed"}, flags...),
		"sources":  append([]string{"predict"}, with("--text", "--text", "key")...),
		"tokens":   append([]string{"predict"}, with("--text", "--tokens", "ids")...),
		"id":       append([]string{"predict"}, with("--id")...),
		"keep":     append([]string{"predict"}, with("--keep", "--keep", "key")...),
		"truncate": append([]string{"predict"}, with("--truncate")...),
		"max_line": append([]string{"predict"}, with("--max-line", "999")...),
		"errors":   append([]string{"predict"}, with("--on-error", "column")...),
	} {
		refuse(t, exitError, "exists, but not from this job: options: expected", "", args...)
	}
	contains(t, succeed(t, "", append([]string{"predict"}, flags...)...), "nothing to do")
	writeText(t, filepath.Join(model, "tokenizer.json"), "{}")
	refuse(t, exitError, "exists, but not from this job: model (SHA-256): expected", "",
		append([]string{"predict"}, flags...)...)
}

// TestEvalShardKey checks that eval refuses an existing part if --on-error differs.
func TestEvalShardKey(t *testing.T) {
	flags := []string{"eval", "--model", moodModel(t), "--data", customData(t, "--label", "mood"), "--output",
		filepath.Join(t.TempDir(), "parts")}
	succeed(t, "", flags...)
	refuse(t, exitError, "exists, but not from this job: options: expected", "", append(flags, "--on-error", "column")...)
}

// TestShardTokens checks that every file of token ids must have the model's tokenizer, not only the
// first file.
func TestShardTokens(t *testing.T) {
	model, dir := moodModel(t), t.TempDir()
	first := writeText(t, filepath.Join(dir, "a.arrow"),
		readText(t, filepath.Join(customData(t, "--label", "mood"), "train.arrow")))
	flags := []string{"predict", "--model", model, "--tokens", "tokens", "--output",
		filepath.Join(t.TempDir(), "parts") + "/"}
	succeed(t, "", append(flags, "--input", first)...)
	flags[len(flags)-1] = filepath.Join(t.TempDir(), "parts") + "/"
	second := writeText(t, filepath.Join(dir, "b.arrow"),
		readText(t, filepath.Join(customData(t, "--label", "mood", "--tokenizer", "words"), "train.arrow")))
	refuse(t, exitError, second+": expected the tokenizer byte, found words", "", append(flags, "--input", dir)...)
	if entries, err := os.ReadDir(flags[len(flags)-1]); err == nil && len(entries) > 0 {
		t.Errorf("got the files %v in --output, want none", entries)
	}
}

// TestShardWarns checks that a run with shards warns of a requested column that no row has.
func TestShardWarns(t *testing.T) {
	in := writeText(t, filepath.Join(t.TempDir(), "in.jsonl"), `{"text":"aab"}`)
	_, errs := exits(t, exitOK, "", "predict", "--model", moodModel(t), "--input", in, "--text", "text", "--keep",
		"kex", "--output", filepath.Join(t.TempDir(), "parts")+"/")
	contains(t, errs, `no row has the column "kex"`)
}

// TestEvalShardRanks checks that eval refuses shards on several ranks, because each rank would
// write the part.
func TestEvalShardRanks(t *testing.T) {
	app := &cli.App{Metadata: map[string]any{ranksKey: &ranks{}}}
	err := evalShards(cli.NewContext(app, flag.NewFlagSet("eval", flag.ContinueOnError), nil))
	if err == nil || !strings.Contains(err.Error(), "expected one process, because ranks share the rows of one run") {
		t.Errorf("got error %v, want an error about ranks that share the rows", err)
	}
}
