package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// shellWord matches the first word of a command. The word may have quoted or escaped spaces.
var shellWord = regexp.MustCompile(`^(?:'[^']*'|\\.|[^\s'\\])+`)

// advice suggests commands that may train a better model than the model in dir. It suggests a wider
// and deeper model, an ensemble, and, if rows are truncated, a longer input window. If a run with
// --steps ended while its validation score was still improving, advice suggests only a longer run.
// It returns "" for a linear model, and if the command of the run is unknown, has no --out or
// contains &&. longest is the length in tokens of the longest row, or 0 if unknown.
func advice(config *sft.Config, dir string, longest int, improving bool) string {
	if config.IsLinear() {
		return ""
	}
	p, err := provenance.Of(config)
	if err != nil || p.Command == "" {
		return ""
	}
	command, rest, ok := strings.Cut(p.Command, " --out ")
	if !ok || strings.Contains(p.Command, "&&") {
		return ""
	}
	command += shellWord.ReplaceAllString(rest, "") // keeps --epochs and --steps, which follow --out
	try := func(suffix, flags string, replaced ...string) string {
		without := regexp.MustCompile(` --(`+strings.Join(replaced, "|")+`)[ =]\S+`).ReplaceAllString(command, "")
		return without + flags + " --out " + shellQuote(filepath.Clean(dir)+suffix)
	}
	if improving && p.Settings.Steps > 0 {
		return "; the validation score was still improving: train longer first, for example without --steps: " +
			try("-longer", "", "steps", "epochs")
	}
	var out []string
	if w := config.ReadWindow(); w.Length > 0 && longest > w.Length {
		longer := seq.Window{Length: longest}
		if 2*w.Length < longest {
			longer = seq.Window{Length: 2 * w.Length, Tail: 2 * w.Tail}
		}
		out = append(out, try("-window", " --input-window "+longer.String(), "input-window"))
	}
	out = append(out, try("-wide", fmt.Sprintf(" --hidden %d --layers %d --k %d", 2*config.HiddenSize,
		config.NumLayers+1, 2*config.NumSampledTokens), "hidden", "layers", "k"),
		try("-three", " --seeds 1,2,3", "seed"))
	return "; try: " + strings.Join(out, "; or: ")
}

// evalAdvice returns a line with the command that evaluates the model in dir on the test split of a data set,
// or on the validation split if there is no test split.
func evalAdvice(dir string, set *seq.Dataset) string {
	split := ""
	if set.Manifest.Splits["test"].Rows == 0 {
		split = " --split val"
	}
	return fmt.Sprintf("evaluate with: sftseq eval --model %s --data %s%s\n", shellQuote(dir), shellQuote(set.Dir), split)
}
