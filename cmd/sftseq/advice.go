package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// shellWord matches the first word of a command. The word may have quoted or escaped spaces.
var shellWord = regexp.MustCompile(`^(?:'[^']*'|\\.|[^\s'\\])+`)

// advice suggests commands that may train a better model than the model in dir. It suggests a wider
// and deeper model, an ensemble, and, if rows are truncated, a longer input window. If a run with --steps
// had its best evaluation at the end, advice suggests only a longer run. For a linear model, it suggests the
// default members, and for a fusion [fusionAdvice]. It returns "" if the command of the run is unknown, has
// no --out or contains &&. longest is the length in tokens of the longest row, or 0 if unknown.
func advice(config *sft.Config, dir string, longest int, endedAtBest bool) string {
	if f, err := sft.ReadFusion(dir); err == nil && f != nil {
		return fusionAdvice(dir)
	}
	p, err := provenance.Of(config)
	if err != nil || p.Command == "" {
		return ""
	}
	if config.IsLinear() {
		if p.DataDir == "" {
			return ""
		}
		return fmt.Sprintf("; try a model with layers beside the linear model: sftseq train custom --data %s --out %s",
			shellQuote(string(p.DataDir)), shellQuote(filepath.Clean(dir)+"-members"))
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
	if endedAtBest && p.Settings.Steps > 0 {
		return "; the last evaluation was the best: train longer first, for example without --steps: " +
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

// fusionAdvice suggests a longer run of the fusion in dir and, if it has no member [sftMember], a run with
// this member. It returns "" if the members do not record the flags of the run.
func fusionAdvice(dir string) string {
	p := fusionRecord(dir)
	if p.Members == "" || p.DataDir == "" {
		return ""
	}
	flags, limit := "", defaultTime
	for _, f := range p.Flags {
		switch value := string(f.Value); f.Name {
		case "members", "steps", "epochs":
		case "time":
			if d, err := time.ParseDuration(value); err == nil {
				limit = d
			}
		default:
			flags += fmt.Sprintf(" --%s=%s", f.Name, shellQuote(value))
		}
	}
	try := func(members string, within time.Duration, suffix string) string {
		return fmt.Sprintf("sftseq train custom --members %s --data %s%s --time %s --out %s", members,
			shellQuote(string(p.DataDir)), flags, within, shellQuote(filepath.Clean(dir)+suffix))
	}
	text := "; try: " + try(p.Members, 3*limit, "-longer")
	if !slices.Contains(strings.Split(p.Members, ","), sftMember) {
		text += "; or: " + try(linearMember+","+sftMember, limit, "-"+sftMember)
	}
	return text
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
