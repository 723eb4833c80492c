package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/baseline"
)

// formatScores returns the scores of a run's model and of the strongest baseline on the same rows,
// with the names of the rows and the baseline. An unknown score is [none], and so are the scores of
// regression models, which have a table of their own.
func formatScores(r Run) (model, strongest string) {
	model, strongest = none, none
	switch {
	case r.Results != nil:
		model = fmt.Sprintf("accuracy %.2f%% (%s)", 100*r.Results.Report.Accuracy, r.Results.Data)
		if b := strongestBaseline(r.Results.Baseline); b != nil {
			strongest = fmt.Sprintf("accuracy %.2f%% (%s)", 100*b.Accuracy, b.Name)
		}
	case r.Tags != nil:
		show := func(l TagLine, source string) string {
			return fmt.Sprintf("span F1 %.4f, token accuracy %.2f%% (%s)", l.SpanF1, 100*l.Accuracy, source)
		}
		model = show(r.Tags.Lines[0], r.Tags.Data)
		if rest := r.Tags.Lines[1:]; len(rest) > 0 {
			best := slices.MaxFunc(rest, func(a, b TagLine) int {
				return cmp.Or(cmp.Compare(a.SpanF1, b.SpanF1), cmp.Compare(a.Accuracy, b.Accuracy))
			})
			strongest = show(best, best.Of)
		}
	case r.NodeTags != nil:
		show := func(l NodeTagLine, source string) string {
			return fmt.Sprintf("token accuracy %.2f%% (%s)", 100*l.Accuracy, source)
		}
		model = show(r.NodeTags.Lines[0], r.NodeTags.Data)
		if rest := r.NodeTags.Lines[1:]; len(rest) > 0 {
			best := slices.MaxFunc(rest, func(a, b NodeTagLine) int { return cmp.Compare(a.Accuracy, b.Accuracy) })
			strongest = show(best, best.Of)
		}
	case r.Labels != nil:
		if f := r.Labels.Report.MacroF1; f != nil {
			model = fmt.Sprintf("macro F1 %.4f (%s)", *f, r.Labels.Data)
		}
		if b := r.Labels.Frequencies; b != nil && b.MacroF1 != nil {
			strongest = fmt.Sprintf("macro F1 %.4f (frequencies of the labels in training)", *b.MacroF1)
		}
	}
	return model, strongest
}

// strongestBaseline returns the most accurate baseline, or nil if none was measured.
func strongestBaseline(r *baseline.Result) *baseline.Line {
	if r == nil {
		return nil
	}
	best := slices.MaxFunc(r.Lines(), func(a, b baseline.Line) int { return cmp.Compare(a.Accuracy, b.Accuracy) })
	return &best
}
