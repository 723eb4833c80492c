package main

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestCheckFit checks that the features of a file must match the model's features. A file with
// classes also fits models of tags and of numbers, but RequireLabels returns an error for these models.
func TestCheckFit(t *testing.T) {
	points := &sft.Config{
		Task:   config.Classification,
		Inputs: config.Inputs{FeatureNames: []string{"x", "y"}},
		Head:   config.Head{NumLabels: 2},
	}
	for _, names := range [][]string{nil, {"x"}, {"y", "x"}} {
		err := checkFit(points, &seq.Spec{Task: seq.Classification, FeatureNames: names})
		if err == nil || !strings.Contains(err.Error(), `the model's "x", "y"`) {
			t.Errorf("features %q: %v, want an error with the model's features", names, err)
		}
	}
	must.Check(t, checkFit(points, &seq.Spec{Task: seq.Classification, FeatureNames: []string{"x", "y"}}))
	classes := &seq.Spec{Task: seq.Classification, VocabSize: 5}
	for want, c := range map[string]*sft.Config{
		"x: expected a label for each token (task tagging), found task classification": {Task: config.Tagging,
			Inputs: config.Inputs{VocabSize: 5}, Head: config.Head{NumLabels: 2}},
		`x: expected the numbers "size" to compare with, found none`: {Task: config.Regression,
			Inputs: config.Inputs{VocabSize: 5},
			Head:   config.Head{NumLabels: 1, Numbers: []config.Number{{Name: "size"}}}},
	} {
		must.Check(t, checkFit(c, classes))
		if err := task.Of(c).RequireLabels(classes, "x"); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
