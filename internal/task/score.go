package task

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/baseline"
)

// Score is the score of a baseline in the metric that compares it with the model.
type Score struct {
	Name, Text string  // Text is the printed line, or ""
	Value      float64 // larger is better; NaN if undefined on these rows
}

// DescribeBetterBaseline returns a sentence if the best baseline scores at least as high as the model,
// whose score is own. It returns "" if the model is better than all baselines, or if both scores are 1,
// the maximum.
func DescribeBetterBaseline(scores []Score, own float64, show func(v float64) string) string {
	var best Score
	for _, s := range scores {
		if s.Value >= own && (best.Name == "" || s.Value > best.Value) {
			best = s
		}
	}
	switch {
	case best.Name == "" || best.Value == own && own == 1:
		return ""
	case best.Value == own:
		return fmt.Sprintf("the model (%s) is no better than %s (%s)", show(own), best.Name, show(best.Value))
	}
	return fmt.Sprintf("%s (%s) is better than the model (%s)", best.Name, show(best.Value), show(own))
}

// advise writes the last line of an evaluation if a baseline is at least as good as the model: the
// sentence of [DescribeBetterBaseline] and commands to try. A linear model is not compared with n-gram
// baselines, which are linear as well.
func (e Evaluated) advise(w io.Writer, scores []Score, own float64, show func(v float64) string) error {
	if e.Linear {
		scores = WithoutNGrams(scores)
	}
	better := DescribeBetterBaseline(scores, own, show)
	if better == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s%s\n", better, e.Advice)
	return err
}

// WithoutNGrams returns the scores without those of n-gram baselines.
func WithoutNGrams(scores []Score) []Score {
	return slices.DeleteFunc(slices.Clone(scores), func(s Score) bool {
		return s.Name == baseline.WordNGrams || s.Name == baseline.TokenNGrams
	})
}

// Named returns a function that formats a score with the name of its metric in front.
func Named(measure string) func(v float64) string {
	return func(v float64) string { return fmt.Sprintf("%s %.4f", measure, v) }
}

// OrNaN returns the score, or NaN for nil. Every ordered comparison with NaN is false.
func OrNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// Accuracies returns the accuracy of each classification baseline as a [Score].
func Accuracies(r *baseline.Result) (out []Score) {
	for _, l := range r.Lines() {
		out = append(out, Score{l.Name, "", l.Accuracy})
	}
	return out
}

// AsPercent formats a fraction as a percentage with two decimals.
func AsPercent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
