package lra

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/randomwalk"
	"github.com/sftseq/sftseq/seq"
)

// TestPublishedKinds: the tasks of clouds and graphs have as many labels and features as the published
// ones.
func TestPublishedKinds(t *testing.T) {
	for _, c := range []struct {
		task                                    *Task
		labels, numbers, features, edgeFeatures int
	}{
		{ModelNet40, 40, 0, 6, 0}, {ShapeNetPart, 50, 0, 6, 0}, {PeptidesFunc, 10, 0, 174, 13}, {PeptidesStruct, 0, 11, 174, 13}, {PascalVOC, 21, 0, 14, 2},
	} {
		spec, err := c.task.Spec()
		if err != nil {
			t.Fatal(err)
		}
		if len(spec.LabelNames) != c.labels || len(spec.NumberNames) != c.numbers || len(spec.FeatureNames) != c.features || len(spec.EdgeFeatureNames) != c.edgeFeatures || spec.Edged() != (c.edgeFeatures > 0) {
			t.Errorf("%s: %+v", c.task.Name, spec)
		}
		for _, names := range [][]string{spec.LabelNames, spec.NumberNames, spec.FeatureNames, spec.EdgeFeatureNames} {
			if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
				t.Errorf("%s: a name is there twice: %q", c.task.Name, names)
			}
		}
		if err := spec.Validate(); err != nil {
			t.Errorf("%s: %v", c.task.Name, err)
		}
	}
	if !slices.IsSorted(ModelNet40.Labels) || ShapeNetPart.Labels[47] != "Table/47" || ShapeNetPart.Labels[16] != "Earphone/16" || ShapeNetPart.Labels[30] != "Motorbike/30" {
		t.Errorf("%q, %q", ModelNet40.Labels, ShapeNetPart.Labels)
	}
}

// TestTakes: data are of a task by their kind, labels and features; those of a random walk may be there.
func TestTakes(t *testing.T) {
	spec := func(task *Task, change func(*seq.Spec)) *seq.Spec {
		s, err := task.Spec()
		if err != nil {
			t.Fatal(err)
		}
		change(&s)
		return &s
	}
	walk := func(n int) func(*seq.Spec) {
		return func(s *seq.Spec) { s.FeatureNames = append(slices.Clip(s.FeatureNames), randomwalk.Names(n)...) }
	}
	for _, c := range []struct {
		task *Task
		of   *seq.Spec
		want bool
	}{
		{Text, spec(Text, func(*seq.Spec) {}), true},
		{PeptidesFunc, spec(PeptidesFunc, func(*seq.Spec) {}), true},
		{PeptidesFunc, spec(PeptidesFunc, walk(24)), true},
		{ModelNet40, spec(ModelNet40, walk(24)), false},
		{PeptidesFunc, spec(PeptidesFunc, func(s *seq.Spec) { s.FeatureNames = append(slices.Clip(s.FeatureNames), "x") }), false},
		{PeptidesFunc, spec(PeptidesFunc, func(s *seq.Spec) { s.FeatureNames = s.FeatureNames[:9] }), false},
		{PeptidesFunc, spec(PeptidesFunc, func(s *seq.Spec) { s.EdgeFeatureNames = nil }), false},
		{PeptidesFunc, spec(PeptidesStruct, func(*seq.Spec) {}), false},
		{PeptidesStruct, spec(PeptidesStruct, func(s *seq.Spec) { s.NumberNames = s.NumberNames[1:] }), false},
		{PascalVOC, spec(PascalVOC, func(s *seq.Spec) { s.LabelNames = s.LabelNames[1:] }), false},
		{ModelNet40, spec(ShapeNetPart, func(*seq.Spec) {}), false},
	} {
		if got := c.task.Takes(c.of); got != c.want {
			t.Errorf("%s takes %s with %d features: %v", c.task.Name, c.of.Name, len(c.of.FeatureNames), got)
		}
	}
}

// TestDifferences: other numbers of rows than the published ones are told, of splits that are there.
func TestDifferences(t *testing.T) {
	rows := func(counts map[string]int64) *seq.Manifest {
		m := &seq.Manifest{Splits: map[string]seq.SplitInfo{}}
		for split, n := range counts {
			m.Splits[split] = seq.SplitInfo{Rows: n}
		}
		return m
	}
	for _, c := range []struct {
		of   map[string]int64
		want string
	}{
		{map[string]int64{"train": 8843, "val": 1000, "test": 2468}, ""},
		{map[string]int64{"test": 2468}, ""},
		{map[string]int64{"train": 9843}, ""},
		{map[string]int64{"train": 8843, "val": 999, "test": 2467}, "train and val: found 9842 rows, the published task has 9843 there: what is measured on them is not comparable\ntest: found 2467 rows, the published task has 2468 there: what is measured on them is not comparable"},
	} {
		if got := strings.Join(ModelNet40.Differences(rows(c.of)), "\n"); got != c.want {
			t.Errorf("%v: %q, expected %q", c.of, got, c.want)
		}
	}
}
