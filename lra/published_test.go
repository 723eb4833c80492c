package lra

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// TestPublishedKinds checks the counts of labels, numbers and features: the tasks of clouds and graphs
// must have the published counts, and generated tasks the counts for which their presets were measured.
func TestPublishedKinds(t *testing.T) {
	for _, c := range []struct {
		task                                    *Task
		labels, numbers, features, edgeFeatures int
	}{
		{ModelNet40, 40, 0, 6, 0}, {ShapeNetPart, 50, 0, 6, 0}, {PeptidesFunc, 10, 0, 174, 13},
		{PeptidesStruct, 0, 11, 174, 13}, {PascalVOC, 21, 0, 14, 2},
		{Shapes, 9, 0, 6, 0}, {ShapeParts, 15, 0, 6, 0},
	} {
		spec := must.Get(c.task.Spec())(t)
		if len(spec.LabelNames) != c.labels || len(spec.NumberNames) != c.numbers ||
			len(spec.FeatureNames) != c.features || len(spec.EdgeFeatureNames) != c.edgeFeatures ||
			spec.Edged() != (c.edgeFeatures > 0) {
			t.Errorf("%s: specification %+v, want %d labels, %d numbers, %d features and %d features of edges",
				c.task.Name, spec, c.labels, c.numbers, c.features, c.edgeFeatures)
		}
		for _, names := range [][]string{spec.LabelNames, spec.NumberNames, spec.FeatureNames, spec.EdgeFeatureNames} {
			if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
				t.Errorf("%s: a name occurs twice: %q", c.task.Name, names)
			}
		}
		must.Check(t, spec.Validate(), c.task.Name)
	}
}

// TestPublishedNames checks that labels, numbers, categories and row counts equal the published
// lists.
func TestPublishedNames(t *testing.T) {
	counts := func(p []PublishedRows) (out []string) {
		for _, r := range p {
			out = append(out, fmt.Sprint(strings.Join(r.Splits, "+"), " ", r.Rows))
		}
		return out
	}
	kinds := func(categories []graphlines.Category) (out []string) {
		for _, c := range categories {
			out = append(out, fmt.Sprint(c.Name, " ", c.Kinds))
		}
		return out
	}
	for want, got := range map[string][]string{
		"Airplane/0 Airplane/1 Airplane/2 Airplane/3 Bag/4 Bag/5 Cap/6 Cap/7 Car/8 Car/9 Car/10 Car/11 Chair/12 Chair/13 Chair/14 Chair/15 Earphone/16 Earphone/17 Earphone/18 " +
			"Guitar/19 Guitar/20 Guitar/21 Knife/22 Knife/23 Lamp/24 Lamp/25 Lamp/26 Lamp/27 Laptop/28 Laptop/29 Motorbike/30 Motorbike/31 Motorbike/32 Motorbike/33 Motorbike/34 " +
			"Motorbike/35 Mug/36 Mug/37 Pistol/38 Pistol/39 Pistol/40 Rocket/41 Rocket/42 Rocket/43 Skateboard/44 Skateboard/45 Skateboard/46 Table/47 Table/48 Table/49": ShapeNetPart.Labels,
		"antifungal cell_cell_communication anticancer drug_delivery_vehicle antimicrobial antiviral antihypertensive antibacterial antiparasitic toxic":          PeptidesFunc.Labels,
		"Inertia_mass_a Inertia_mass_b Inertia_mass_c Inertia_valence_a Inertia_valence_b Inertia_valence_c length_a length_b length_c Spherocity Plane_best_fit": PeptidesStruct.Numbers,
		"background aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep sofa train tvmonitor":       PascalVOC.Labels,
		"atomic_num 119 chirality 5 degree 12 formal_charge 12 num_h 10 num_radical_e 6 hybridization 6 is_aromatic 2 is_in_ring 2":                               kinds(atomCategories),
		"bond_type 5 bond_stereo 6 is_conjugated 2": kinds(bondCategories),
		"train+val 9843 test 2468":                  counts(ModelNet40.Rows),
		"train 12137 val 1870 test 2874":            counts(ShapeNetPart.Rows),
		"train 10873 val 2331 test 2331":            counts(PeptidesFunc.Rows),
		"train 8498 val 1428 test 1429":             counts(PascalVOC.Rows),
	} {
		if got := strings.Join(got, " "); got != want {
			t.Errorf("names or counts %s, want %s", got, want)
		}
	}
	if !slices.IsSorted(ModelNet40.Labels) {
		t.Errorf("labels %q are not sorted", ModelNet40.Labels)
	}
}

// TestMatches checks that kind, labels, numbers and features determine whether data belong to a task.
// Additional features of a random walk are allowed.
func TestMatches(t *testing.T) {
	spec := func(task *Task, change func(*seq.Spec)) *seq.Spec {
		s := must.Get(task.Spec())(t)
		change(&s)
		return &s
	}
	walk := func(n int) func(*seq.Spec) {
		return func(s *seq.Spec) { s.FeatureNames = append(slices.Clip(s.FeatureNames), graphlines.WalkNames(n)...) }
	}
	for _, c := range []struct {
		task *Task
		spec *seq.Spec
		want bool
	}{
		{Text, spec(Text, func(*seq.Spec) {}), true},
		{PeptidesFunc, spec(PeptidesFunc, func(*seq.Spec) {}), true},
		{PeptidesFunc, spec(PeptidesFunc, walk(24)), true},
		{ModelNet40, spec(ModelNet40, walk(24)), false},
		{PascalVOC, spec(PascalVOC, walk(8)), true},
		{Shapes, spec(ShapeParts, func(*seq.Spec) {}), false},
		{PeptidesFunc, spec(PeptidesFunc,
			func(s *seq.Spec) { s.FeatureNames = append(slices.Clip(s.FeatureNames), "x") }), false},
		{PeptidesFunc, spec(PeptidesFunc, func(s *seq.Spec) { s.FeatureNames = s.FeatureNames[:9] }), false},
		{PeptidesFunc, spec(PeptidesFunc, func(s *seq.Spec) { s.EdgeFeatureNames = nil }), false},
		{PeptidesFunc, spec(PeptidesStruct, func(*seq.Spec) {}), false},
		{PeptidesStruct, spec(PeptidesStruct, func(s *seq.Spec) { s.NumberNames = s.NumberNames[1:] }), false},
		{PascalVOC, spec(PascalVOC, func(s *seq.Spec) { s.LabelNames = s.LabelNames[1:] }), false},
		{ModelNet40, spec(ShapeNetPart, func(*seq.Spec) {}), false},
		{ModelNet40, spec(ModelNet40,
			func(s *seq.Spec) { s.FeatureNames = []string{"x", "y", "z", "red", "green", "blue"} }), false},
		{PascalVOC, spec(PascalVOC,
			func(s *seq.Spec) { s.EdgeFeatureNames = []string{"border_pixels", "mean_gradient"} }), false},
	} {
		if got := c.task.Matches(c.spec); got != c.want {
			t.Errorf("%s matches %s with %d features: %v, want %v", c.task.Name, c.spec.Name,
				len(c.spec.FeatureNames), got,
				c.want)
		}
	}
}

// TestDifferences checks that Differences reports existing splits whose number of rows differs from
// the published number.
func TestDifferences(t *testing.T) {
	rows := func(counts map[string]int64) *seq.Manifest {
		m := &seq.Manifest{Splits: map[string]seq.SplitInfo{}}
		for split, n := range counts {
			m.Splits[split] = seq.SplitInfo{Rows: n}
		}
		return m
	}
	for _, c := range []struct {
		counts map[string]int64
		want   string
	}{
		{map[string]int64{"train": 8843, "val": 1000, "test": 2468}, ""},
		{map[string]int64{"test": 2468}, ""},
		{map[string]int64{"train": 9843}, ""},
		{map[string]int64{"train": 8843, "val": 999, "test": 2467},
			"train and val: expected the 9843 rows of the published task, found 9842: results are not comparable with published results\ntest: expected the 2468 rows of the published task, found 2467: results are not comparable with published results"},
	} {
		if got := strings.Join(ModelNet40.Differences(rows(c.counts)), "\n"); got != c.want {
			t.Errorf("%v: differences %q, want %q", c.counts, got, c.want)
		}
	}
}
