package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestNodeTagExample checks that a row is shown with its labels and predictions in the colours of the
// tags, and with its errors in another colour. Unlabelled tokens must be pale.
func TestNodeTagExample(t *testing.T) {
	c := &sft.Config{
		Task:   config.Tagging,
		Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}},
		Head:   config.Head{NumLabels: 3, LabelNames: []string{"a/1", "a/2", "a/3"}},
	}
	x := &seq.Example{Index: 7, Features: [][]float32{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		Labels: []int32{2, 0, 2, -1}}
	e := NewNodeTagExample(x, "mug", []int32{2, 2, 2, 0})
	if want := []TagCounts{{0, 1, 0, 0}, {2, 2, 3, 2}}; !slices.Equal(e.Tags, want) || e.Length != 4 ||
		e.ID != "mug" || e.Row != 7 {
		t.Fatalf("got example %+v, want tags %+v, length 4, id mug and row 7", e, want)
	}
	v := newNodeTagExampleView(c, &e)
	if v.Right != 2 || v.Tagged != 3 || v.Shown != 0 || v.What != "points" || len(v.Panels) != 3 ||
		v.Tags[1].Name != "a/3" {
		t.Fatalf("got %d of %d %s correct, %d shown, %d panels, tags %+v; want 2 of 3 points, 0, 3, second tag a/3",
			v.Right, v.Tagged, v.What, v.Shown, len(v.Panels), v.Tags)
	}
	// dots returns the number of points of a panel with the given CSS class, which sets their colour.
	dots := func(panel int, class string) (n int) {
		for _, path := range strings.Split(string(v.Panels[panel].Scene.Inline()), "<path")[1:] {
			if strings.Contains(path, `class="`+class+`"`) {
				n += strings.Count(path, "M")
			}
		}
		return n
	}
	for _, want := range []struct {
		panel int
		class string
		dots  int
	}{{0, "c0", 1}, {0, "c1", 2}, {0, "frame", 1}, {1, "c0", 0}, {1, "c1", 3}, {2, "no", 1}, {2, "frame", 3}} {
		if n := dots(want.panel, want.class); n != want.dots {
			t.Errorf("%s: got %d points of %s, want %d\n%s", v.Panels[want.panel].Name, n, want.class, want.dots,
				v.Panels[want.panel].Scene.Inline())
		}
	}
}

// TestManyNodeTags checks that only some points of a large cloud are kept, but all are counted. A large
// graph has no drawing, and only the tags with the most tokens are shown.
func TestManyNodeTags(t *testing.T) {
	const n = 3 * maxPoints
	points := &sft.Config{
		Task:   config.Tagging,
		Inputs: config.Inputs{FeatureNames: []string{"x", "y", "z"}},
		Head:   config.Head{NumLabels: 1, LabelNames: []string{"a"}},
	}
	x := &seq.Example{Features: slices.Repeat([][]float32{{1, 2, 3}}, n), Labels: make([]int32, n)}
	e := NewNodeTagExample(x, "", make([]int32, n))
	if v := newNodeTagExampleView(points, &e); len(e.Features) != maxPoints || v.Shown != maxPoints ||
		v.Length != n || v.Right != n {
		t.Errorf("got %d points kept, %d shown of %d, %d correct; want %d, %d of %d, %d", len(e.Features), v.Shown,
			v.Length, v.Right, maxPoints, maxPoints, n, n)
	}
	if &e.Features[0][0] == &x.Features[0][0] {
		t.Error("the kept points share memory with the row")
	}
	graph := &sft.Config{
		Task:   config.Tagging,
		Inputs: config.Inputs{FeatureNames: []string{"mass"}, EdgeFeatureNames: []string{}},
		Head:   config.Head{NumLabels: 1, LabelNames: []string{"a"}},
	}
	x.Edges = []seq.Edge{{Source: 0, Target: n - 1}}
	run := Run{Name: "g", Config: graph, Metrics: &train.Metrics{},
		NodeTags: &NodeTags{Lines: []NodeTagLine{{Of: "the model"}},
			Examples: []NodeTagExample{NewNodeTagExample(x, "", make([]int32, n))}}}
	for i := range maxClasses + 2 {
		run.NodeTags.Tags = append(run.NodeTags.Tags, TagRow{Name: "tag", Count: int64(i), Scores: []float64{0.5}})
	}
	v := newNodeTagsView(run)
	if v.HiddenTags != 2 || len(v.Tags) != maxClasses || v.Tags[0].Count != maxClasses+1 ||
		len(v.Rows[0].Panels) != 0 {
		t.Errorf("got %d hidden tags and %d panels, want 2 and 0", v.HiddenTags, len(v.Rows[0].Panels))
	}
	var page strings.Builder
	must.Succeed(t, Write(&page, []Run{run}, Rule{}))
	for _, want := range []string{"large graphs have no drawing",
		"2 tags with fewer tokens are not shown", "macro F1 of tags"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
