package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
)

// sumName is the name of the weighted sum in tables.
const sumName = "sum"

// memberTable formats scores as a table. If classes is true, the table includes the accuracy.
func memberTable(scores []task.MemberScore, classes bool) string {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, s := range scores {
		accuracy, weight := "", fmt.Sprintf("weight %.3g", s.Weight)
		if classes {
			accuracy = fmt.Sprintf("accuracy %.2f%%\t", 100*s.Accuracy)
		}
		if s.Name == sumName {
			weight = ""
		}
		fmt.Fprintf(t, "  %s\t%sloss %.4f\t%s\n", s.Name, accuracy, s.Loss, weight)
	}
	_ = t.Flush() // writing to a strings.Builder cannot fail
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// betterMember returns a line on the member with the highest accuracy or, if classes is false, with the
// lowest loss, or "" if the sum is at least as good. dir is the directory of the fusion.
func betterMember(scores []task.MemberScore, classes bool, dir string) string {
	measure, value := "lower loss", func(s task.MemberScore) float64 { return -s.Loss }
	if classes {
		measure, value = "higher accuracy", func(s task.MemberScore) float64 { return s.Accuracy }
	}
	sum := scores[len(scores)-1]
	best := slices.MaxFunc(scores, func(a, b task.MemberScore) int { return cmp.Compare(value(a), value(b)) })
	if !(value(best) > value(sum)) {
		return ""
	}
	kind, seed, _ := strings.Cut(best.Name, "-")
	if seed != "" {
		seed = " --seed " + seed
	}
	return fmt.Sprintf("%s alone has a %s than the sum: use --model %s, or train only this member with --members "+
		"%s%s\n", best.Name, measure, shellQuote(filepath.Join(dir, best.Name)), kind, seed)
}

// validationScores returns the validation scores of a fusion's members and of their sum, and whether
// the scores include accuracy.
func validationScores(f *sft.Fusion) (scores []task.MemberScore, classes bool) {
	classes = f.Accuracies != nil
	for i, name := range f.Members {
		s := task.MemberScore{Name: name, Weight: f.Weights[i]}
		if i < len(f.Losses) {
			s.Loss = f.Losses[i]
		}
		if i < len(f.Accuracies) {
			s.Accuracy = f.Accuracies[i]
		}
		scores = append(scores, s)
	}
	return append(scores, task.MemberScore{Name: sumName, FusionScore: metrics.FusionScore{Loss: f.Loss,
		Accuracy: f.Accuracy}}), classes
}

// describeFusion formats the validation results of the members, their weights, and the names of the
// models that are kept.
func describeFusion(f *sft.Fusion, dir string) string {
	scores, classes := validationScores(f)
	kept := f.Kept().Members
	text := fmt.Sprintf("members on the validation split (%s):\n%s", countRows(f.Rows), memberTable(scores, classes))
	if len(kept) == 1 {
		return text + fmt.Sprintf("kept: only %s, because the sum is not better (model in %s)\n", kept[0], dir)
	}
	return text + betterMember(scores, classes, dir) +
		fmt.Sprintf("kept: the sum of %s (model in %s)\n", strings.Join(kept, ", "), dir)
}
