package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestErrorsNameFlags checks that the error about a missing file names exactly the flag with the
// path. If the path is an argument, the error names no flag.
func TestErrorsNameFlags(t *testing.T) {
	dir := t.TempDir()
	absent, table := filepath.Join(dir, "absent"), writeText(t, filepath.Join(dir, "t.csv"), "t\na\n")
	refuseAll(t, exitError, nil, []refusal{
		{"sftseq: --data: " + absent + ": no such file", []string{"train", "custom", "--members", "sft",
			"--data", absent, "--out",
			filepath.Join(dir, "run")}},
		{"sftseq: --data: " + absent + ".arrow: no such file", []string{"eval", "--model", goldenPath("pre"),
			"--data", absent + ".arrow"}},
		{"sftseq: --data: " + absent + ": no such file", []string{"data", "baselines", "--data", absent}},
		{"sftseq: --model: " + absent + ": expected a model directory", []string{"predict", "--model", absent}},
		{"sftseq: --model: " + absent + "/: expected a model directory", []string{"predict", "--model", absent + "/"}},
		{"sftseq: --input: " + absent + ".csv: no such file", []string{"predict", "--model", goldenPath("pre"),
			"--input", absent + ".csv", "--text", "t"}},
		{"sftseq: --input: " + absent + ".xyz: no such file", []string{"predict", "--model", goldenPath("pre"),
			"--input", absent + ".xyz", "--text", "t"}},
		{"sftseq: --input: " + absent + ": no such file", []string{"grads", "--model", goldenPath("pre"),
			"--input", absent, "--output", filepath.Join(dir, "g.safetensors")}},
		{"sftseq: --from: " + absent + ".csv: no such file", []string{"data", "convert", "--from", absent + ".csv",
			"--to", filepath.Join(dir, "to"), "--text", "t"}},
		{"sftseq: --from: " + absent + ".jsonl: no such file", []string{"data", "convert", "graph", "--from",
			absent + ".jsonl", "--to", filepath.Join(dir, "to")}},
		{"sftseq: --config " + absent + ".json: no such file",
			[]string{"train", "listops", "--config", absent + ".json"}},
		{"sftseq: --to: " + filepath.Join(table, "to") + ": creating the folder: " + table +
			" is a regular file: expected a folder\n",
			[]string{"data", "convert", "--name", dir, "--from", table, "--to", filepath.Join(table, "to"), "--text",
				"t", "--tokenizer", "byte"}},
		{"sftseq: " + absent + ": no such file", []string{"data", "info", absent}},
	})
}

// TestFileFlags checks that flags whose help mentions a file or folder are marked as file flags.
// Shells complete these flags, and errors name them.
func TestFileFlags(t *testing.T) {
	path := regexp.MustCompile("`[^`]*(FILE|DIR)[^`]*`")
	found := 0
	var walk func(name string, flags []cli.Flag, commands []*cli.Command)
	walk = func(name string, flags []cli.Flag, commands []*cli.Command) {
		for _, f := range flags {
			usage, takes := "", false
			switch f := f.(type) {
			case *cli.StringFlag:
				usage, takes = f.Usage, f.TakesFile
			case *cli.StringSliceFlag:
				usage, takes = f.Usage, f.TakesFile
			}
			if !path.MatchString(usage) {
				continue
			}
			if found++; !takes {
				t.Errorf("%s --%s is not marked as a file flag, but its help is %s", name, f.Names()[0], usage)
			}
		}
		for _, c := range commands {
			walk(name+" "+c.Name, c.Flags, c.Subcommands)
		}
	}
	app := newApp()
	if walk(app.Name, app.Flags, app.Commands); found < 100 {
		t.Errorf("%d file flags, want at least 100", found)
	}
}
