package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// refuseTable returns an error if path is a table, a model, a folder of data sets or another folder of files
// instead of a data set. For tables and folders of files, the error names the command that converts them.
func refuseTable(path string) error {
	return refuseTableWith(path, "--text COLUMN --label COLUMN", " (pretrain needs no --label)")
}

// refuseTestTable returns the errors of refuseTable, but with the columns and the tokenizer of the model in dir, and a
// test split alone.
func refuseTestTable(path, dir string) error {
	input, target, tokenizer := "--text COLUMN", "--label COLUMN", " --tokenizer "+shellQuote("from:"+dir)
	if c, err := config.Read(filepath.Join(dir, "config.json")); err == nil {
		switch {
		case c.HasFeatures():
			input, tokenizer = "--features COLUMN", ""
		case c.Sequences() == 2:
			input = "--pair A,B"
		}
		switch {
		case c.IsRegression():
			target = "--numbers COLUMN"
		case c.PerToken():
			target = "--tags COLUMN"
		}
	}
	return refuseTableWith(path, input+" "+target+tokenizer+" --split 0,0,1", "")
}

// refuseTableWith returns the errors of refuseTable. flags are the flags of the command for the columns, and note is a
// text after the command.
func refuseTableWith(path, flags, note string) error {
	info, err := os.Stat(path)
	if path == "-" || err != nil {
		return nil // opening the path reports the error
	}
	found := "a folder of files"
	if !info.IsDir() {
		format, err := table.FormatOf(path)
		if err != nil || format == "arrow" {
			return nil
		}
		found = "a table (" + format + ")"
	} else if arrowFiles, _ := filepath.Glob(filepath.Join(path, "*.arrow*")); arrowFiles != nil || !hasFiles(path) {
		return nil
	} else if _, err := os.Stat(filepath.Join(path, "dataset.json")); err == nil {
		return nil
	}
	if sets, _ := filepath.Glob(filepath.Join(path, "*", "dataset.json")); sets != nil {
		return fmt.Errorf("%s: expected a data set, found a folder of data sets: choose one of them, such as %s",
			path, shellQuote(filepath.Dir(sets[0])))
	}
	if _, err := os.Stat(filepath.Join(path, "config.json")); err == nil {
		return fmt.Errorf("%s: expected a data set, found a model (sftseq info %s shows it): pass a directory that "+
			"sftseq data convert wrote", path, shellQuote(path))
	}
	name := filepath.Base(path)
	name, _, _ = strings.Cut(name, ".")
	return fmt.Errorf("%s: expected a data set, found %s: convert it first, for example:\n  sftseq data convert "+
		"--from %s --to %s %s\nand pass that directory%s",
		path, found, shellQuote(path), shellQuote("data/"+name), flags, note)
}

// hasFiles reports whether a directory is readable and not empty.
func hasFiles(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// refuseNonLines returns an error if path is a directory, or if its name has the extension of a format
// other than JSON lines, JSON or text. The error names the flags to use instead.
func refuseNonLines(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: expected a FILE of JSON lines, found a directory: read folders with --input DIR "+
			"--text COLUMN", path)
	}
	switch format, err := table.FormatOf(path); {
	case err != nil:
		if advice := table.UnsupportedAdvice(path); advice != "" {
			return fmt.Errorf("%s: expected a FILE of JSON lines (pass other files and folders with --input): %s",
				path, advice)
		}
		return nil
	case format == "arrow":
		return fmt.Errorf("%s: expected a FILE of JSON lines, found %s: read it with --input %s --output "+
			"FILE.arrow", path,
			format, shellQuote(path))
	case format != "jsonl" && format != "json" && format != "text":
		return fmt.Errorf("%s: expected a FILE of JSON lines, found %s: read tables with --input %s --text "+
			"COLUMN", path,
			format, shellQuote(path))
	}
	return nil
}

// lineFields matches the input fields of JSON lines, to distinguish them from table columns.
var lineFields = regexp.MustCompile(`"(text|tokens|bytes|features)`)

// linesHint returns lineAdvice for a model, as a function of the first line. The advice suggests
// --pair for a model of pairs and --text for other models.
func linesHint(c *sft.Config) func(first []byte) string {
	columns := "--text COLUMN"
	if c.Sequences() == 2 {
		columns = "--pair A,B"
	}
	return func(first []byte) string { return lineAdvice(first, columns) }
}

// lineAdvice returns advice to append to an error if the first line of an input looks like a table,
// lacks the fields of requests or is plain text, otherwise "". columns is the flag that names the
// columns of a table.
func lineAdvice(first []byte, columns string) string {
	trimmed := bytes.TrimSpace(first)
	switch {
	case bytes.HasPrefix(trimmed, []byte("PAR1")), bytes.HasPrefix(trimmed, []byte("ARROW1")):
		return "; the input is a table: read it with --input FILE"
	case bytes.HasPrefix(trimmed, []byte("{")) && json.Valid(trimmed) && !lineFields.Match(trimmed):
		return "; read other columns of JSON lines with --input FILE " + columns
	case len(trimmed) == 0 || !utf8.Valid(trimmed) || trimmed[0] == '{' || trimmed[0] == '[':
		return ""
	case bytes.ContainsAny(trimmed, ",;\t"):
		return "; the first line looks like a CSV table: read it with --input FILE.csv " + columns
	}
	return "; expected one JSON object per line, such as {\"text\": \"…\"} (read lines of text with --input FILE.txt)"
}

// describeRuns returns an error text that lists the models in subfolders of dir, such as the
// runs of train --seeds. It returns "" for fewer than two models. flag is the flag that selects a model,
// with a trailing space, or "" if the model is an argument.
func describeRuns(dir, flag string) string {
	members := membersOf(dir)
	if len(members) < 2 {
		return ""
	}
	names, example := baseNames(members), members[0]
	// More commands support a model with layers, and only models without n-grams can start other models.
	for best, i := 0, 0; i < len(members); i++ {
		cfg, err := config.Read(filepath.Join(members[i], "config.json"))
		if err != nil || cfg.IsLinear() {
			continue
		}
		rank := 1
		if cfg.NGrams == nil {
			rank = 2
		}
		if rank > best {
			example, best = members[i], rank
		}
	}
	return fmt.Sprintf("%s: expected a model, found a folder of %d models: choose one of them, such as %s%s (%s)",
		dir, len(names), flag, shellQuote(example), shortList(names, 10))
}

// canStart reports whether the model in dir has weights that another model can start from.
func canStart(dir string) bool {
	c, err := config.Read(filepath.Join(dir, "config.json"))
	return err == nil && !c.IsLinear() && c.NGrams == nil
}

// recordedData returns the --data path that the run in dir recorded, or "".
func recordedData(dir string) string {
	if dir == "" {
		return ""
	}
	dir = membersOf(dir)[0]
	cfg, err := config.Read(filepath.Join(dir, "config.json"))
	if err != nil { // a run without a model yet has a checkpoint
		run, err := train.LoadCheckpoint(dir)
		if err != nil {
			return ""
		}
		cfg = run.Config
	}
	p, err := provenance.Of(cfg)
	if err != nil {
		return ""
	}
	return string(p.DataDir)
}

// recordedHint returns a hint that names the training data of the run in dir, or "" if the run
// recorded none.
func recordedHint(dir string) string {
	data := recordedData(dir)
	switch _, err := os.Stat(data); {
	case data == "":
		return ""
	case err == nil:
		return fmt.Sprintf("; %s was trained on --data %s", dir, shellQuote(data))
	case filepath.IsAbs(data):
		return fmt.Sprintf("; %s was trained on %s, which no longer exists: pass its new path with "+
			"--data", dir, shellQuote(data))
	}
	return fmt.Sprintf("; %s was trained on %s, which does not exist relative to this directory: pass its path with "+
		"--data", dir, shellQuote(data))
}

// runDirectory returns the run directory that a command reads: --model, or --out with --resume. It
// returns "" if the flag is not set, or if the model is built into the program.
func runDirectory(c *cli.Context) string {
	switch {
	case c.Bool("resume"):
		return c.String("out")
	case isBuiltin(c):
		return ""
	}
	return c.String("model")
}
