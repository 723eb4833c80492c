package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft"
)

// A simpleScore is a baseline, and its score in the measure by which it is compared with the model.
type simpleScore struct {
	name, text string
	value      float64 // larger is better; NaN where the rows define none
}

// ahead says that the best baseline is better than the model, whose score is own, or as good; "" where the model
// is better than all. A perfect model, whose score is 1, may be as good as a baseline.
func ahead(scores []simpleScore, own float64, show func(v float64) string) string {
	var best simpleScore
	for _, s := range scores {
		if s.value >= own && (best.name == "" || s.value > best.value) {
			best = s
		}
	}
	switch {
	case best.name == "" || best.value == own && own == 1:
		return ""
	case best.value == own:
		return fmt.Sprintf("the model (%s) is no better than %s (%s)", show(own), best.name, show(best.value))
	}
	return fmt.Sprintf("%s (%s) is better than the model (%s)", best.name, show(best.value), show(own))
}

// advise writes the closing line of an evaluation, if a baseline is as good as the model or better: which one, and
// commands to try.
func (e evaluated) advise(w io.Writer, scores []simpleScore, own float64, show func(v float64) string) error {
	better := ahead(scores, own, show)
	if better == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s%s\n", better, e.advice)
	return err
}

// named returns a function that shows a score behind the name of its measure.
func named(measure string) func(v float64) string {
	return func(v float64) string { return fmt.Sprintf("%s %.4f", measure, v) }
}

// orNaN returns the score, or NaN, which no score exceeds, if the rows define none.
func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// accuracies are the scores of baselines of classes.
func accuracies(r *baseline.Result) (out []simpleScore) {
	for _, l := range r.Lines() {
		out = append(out, simpleScore{l.Name, "", l.Accuracy})
	}
	return out
}

func asPercent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }

// shellWord is the first word of a command, whose spaces may be quoted.
var shellWord = regexp.MustCompile(`^(?:'[^']*'|\\.|[^\s'\\])+`)

// advice names commands that may train a better model than that in dir: one that reads more of each
// row where it does not read all, a wider and deeper one, and several that answer together. The
// length of the longest row is in tokens; 0 means unknown.
func advice(config *sft.Config, dir string, longest int) string {
	p, err := provenance.Of(config)
	if err != nil || p.Command == "" {
		return ""
	}
	command, rest, ok := strings.Cut(p.Command, " --out ")
	if !ok || strings.Contains(p.Command, "&&") {
		return ""
	}
	command += shellWord.ReplaceAllString(rest, "") // how long the run is
	try := func(suffix, flags string, replaced ...string) string {
		without := regexp.MustCompile(` --(`+strings.Join(replaced, "|")+`)[ =]\S+`).ReplaceAllString(command, "")
		return without + flags + " --out " + shellQuote(filepath.Clean(dir)+suffix)
	}
	var out []string
	if n := config.TruncatesAt(); n > 0 && longest > n {
		out = append(out, try("-window", fmt.Sprintf(" --input-window %d", min(longest, 2*n)), "input-window"))
	}
	out = append(out, try("-wide", fmt.Sprintf(" --hidden %d --layers %d --k %d", 2*config.HiddenSize, config.NumLayers+1, 2*config.NumSampledTokens), "hidden", "layers", "k"),
		try("-three", " --seeds 1,2,3", "seed"))
	return "; try: " + strings.Join(out, "; or: ")
}
