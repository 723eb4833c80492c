package graphlines

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// readKnown writes lines to a file and returns the graphs that k reads from it.
func readKnown(t *testing.T, k *Known, lines string) (out []seq.Example, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "g.jsonl")
	must.Succeed(t, os.WriteFile(path, []byte(lines), 0o666))
	err = k.Read(context.Background(), path, nil, func(e seq.Example) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// knownSpec returns a reader of graphs with two categories of nodes and one of edges.
func knownSpec(task string) *Known {
	k := &Known{Nodes: []Category{{"kind", 3}, {"ring", 2}}, Edges: []Category{{"bond", 2}}}
	k.Spec = seq.Spec{Task: task, FeatureNames: Indicators(k.Nodes), EdgeFeatureNames: Indicators(k.Edges)}
	if task == seq.Regression {
		k.Spec.NumberNames = []string{"a", "b"}
	} else {
		k.Spec.LabelNames = []string{"x", "y", "1"}
	}
	return k
}

// TestKnown checks that indicators replace categories, that return probabilities follow the indicators,
// and that a label is looked up as a name before it is used as an index.
func TestKnown(t *testing.T) {
	const graph = `"features": [[2, 1], [0, 0]], "edges": [[0, 1, 1], [1, 0, 0]]`
	if names := Indicators(knownSpec(seq.MultiLabel).Nodes); !reflect.DeepEqual(names,
		[]string{"kind_0", "kind_1", "kind_2", "ring_0", "ring_1"}) {
		t.Errorf("got names %q, want kind_0 to kind_2, ring_0 and ring_1", names)
	}
	features := [][]float32{{0, 0, 1, 0, 1}, {1, 0, 0, 1, 0}}
	edges := []seq.Edge{{Source: 0, Target: 1, Features: []float32{0, 1}},
		{Source: 1, Target: 0, Features: []float32{1, 0}}}
	for task, want := range map[string]seq.Example{
		seq.Classification: {Label: 1},
		seq.MultiLabel:     {Label: seq.NoLabel, Labels: []int32{0, 2}},
		seq.Tagging:        {Label: seq.NoLabel, Labels: []int32{seq.NoLabel, 2}},
		seq.Regression:     {Label: seq.NoLabel, Numbers: []float32{0.5, -1}},
	} {
		target := map[string]string{seq.Classification: `"label": "y"`, seq.MultiLabel: `"label": [1, "x"]`,
			seq.Tagging: `"tags": [null, 2]`, seq.Regression: `"b": -1, "a": 0.5`}[task]
		want.Features, want.Edges = features, edges
		got, err := readKnown(t, knownSpec(task), "{"+graph+", "+target+"}\n")
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: got %+v, error %v, want %+v", task, got, err, want)
		}
	}
	k := knownSpec(seq.Regression)
	k.RandomWalk, k.Spec.FeatureNames = 2, append(k.Spec.FeatureNames, WalkNames(2)...)
	got, err := readKnown(t, k, "{"+graph+`, "a": 1, "b": 2}`)
	if err != nil || !reflect.DeepEqual(got[0].Features, [][]float32{{0, 0, 1, 0, 1, 0, 1}, {1, 0, 0, 1, 0, 0, 1}}) {
		t.Errorf("with a random walk: got %+v, error %v; want features [[0 0 1 0 1 0 1] [1 0 0 1 0 0 1]]", got, err)
	}
	plain := &Known{Spec: seq.Spec{Task: seq.Classification, LabelNames: []string{"x", "y"},
		FeatureNames: []string{"u", "v"}, EdgeFeatureNames: []string{}}}
	got, err = readKnown(t, plain, `{"features": [[2.5, 1]], "edges": [], "label": 1}`)
	if err != nil || got[0].Label != 1 || !reflect.DeepEqual(got[0].Features, [][]float32{{2.5, 1}}) {
		t.Errorf("without categories: got %+v, error %v; want label 1 and features [[2.5 1]]", got, err)
	}
}

// TestKnownRefuses checks that a line which does not match the specification is refused with its
// file and line.
func TestKnownRefuses(t *testing.T) {
	const good = `{"features": [[2, 1], [0, 0]], "edges": [[0, 1, 1]], "label": ["x"]}`
	for _, c := range []struct{ task, line, want string }{
		{seq.MultiLabel, strings.Replace(good, "[2, 1]", "[3, 1]", 1),
			"features: node 0: kind: found 3, expected a whole number from 0 to 2"},
		{seq.MultiLabel, strings.Replace(good, "[0, 0]", "[0, -1]", 1),
			"features: node 1: ring: found -1, expected a whole number from 0 to 1"},
		{seq.MultiLabel, strings.Replace(good, "[2, 1]", "[1.5, 1]", 1), "kind: found 1.5, expected a whole number"},
		{seq.MultiLabel, strings.Replace(good, "[2, 1]", "[2]", 1), "features: node 0: found 1 numbers, expected 2"},
		{seq.MultiLabel, strings.Replace(good, "[0, 1, 1]", "[0, 1]", 1), "edges: edge 0: found 0 numbers, expected 1"},
		{seq.MultiLabel, strings.Replace(good, "[0, 1, 1]", "[0, 2, 1]", 1),
			"edges: index 0, target: expected a node from 0 to 1, found 2"},
		{seq.MultiLabel, strings.Replace(good, `["x"]`, `["z"]`, 1),
			`label: found "z", expected one of "x", "y", "1", or an index from 0 to 2`},
		{seq.MultiLabel, strings.Replace(good, `["x"]`, `[0, 0, 2]`, 1), "expected distinct labels"},
		{seq.MultiLabel, strings.Replace(good, `["x"]`, `"x"`, 1),
			"found label (a class), expected label (a list of labels)"},
		{seq.MultiLabel, strings.Replace(good, `"label": ["x"]`, `"tags": ["x", "x"]`, 1),
			"found tags (a list with a label for each node), expected label (a list of labels)"},
		{seq.Classification, good, "found label (a list of labels), expected label (a class)"},
		{seq.Tagging, good, "found label (a list of labels), expected tags"},
		{seq.Tagging, strings.Replace(good, `"label": ["x"]`, `"tags": ["x"]`, 1),
			"expected a list of 2, one for each node, found 1"},
		{seq.Regression, good, "a: expected a number, found nothing"},
		{seq.MultiLabel, strings.Replace(good, "[[2, 1], [0, 0]]", "[]", 1), ""},
	} {
		for walk := range 3 {
			k := knownSpec(c.task)
			k.RandomWalk, k.Spec.FeatureNames = walk, append(k.Spec.FeatureNames, WalkNames(walk)...)
			_, err := readKnown(t, k, c.line+"\n")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "g.jsonl:1: ") {
				t.Errorf("%s %s, a walk of %d steps: got error %v, want %s", c.task, c.line, walk, err, c.want)
			}
		}
	}
}

// TestKnownSize checks that a row with too many nodes or edges is refused before its indicators are
// allocated, because they would take far more memory than the line.
func TestKnownSize(t *testing.T) {
	k := &Known{Nodes: []Category{{"kind", 1 << 12}}, Edges: []Category{{"bond", 1 << 12}}}
	k.Spec = seq.Spec{Task: seq.Regression, FeatureNames: Indicators(k.Nodes), EdgeFeatureNames: Indicators(k.Edges),
		NumberNames: []string{"a"}}
	nodes := func(n int) string { return "[0]" + strings.Repeat(",[0]", n-1) }
	for want, line := range map[string]string{
		"features: expected at most 16384 tokens, found 16385": `{"features": [` + nodes(16385) +
			`], "edges": [], "a": 1}`,
		"edges: expected at most 16376 edges, found 16385": `{"features": [[0]], "edges": [[0,0,0]` +
			strings.Repeat(",[0,0,0]", 16384) + `], "a": 1}`,
	} {
		before, after := new(runtime.MemStats), new(runtime.MemStats)
		runtime.ReadMemStats(before)
		_, err := readKnown(t, k, line+"\n")
		if err == nil || !strings.Contains(err.Error(), "g.jsonl:1: "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if runtime.ReadMemStats(after); after.TotalAlloc-before.TotalAlloc > 64<<20 {
			t.Errorf("%s: allocated %d bytes for a line of %d bytes, want at most %d",
				want, after.TotalAlloc-before.TotalAlloc, len(line), 64<<20)
		}
	}
}

// FuzzKnown checks that graphs accepted from arbitrary bytes have one value per category and known
// labels.
func FuzzKnown(f *testing.F) {
	f.Add(`{"features": [[2, 1], [0, 0]], "edges": [[0, 1, 1]], "label": ["x", 1]}`)
	f.Add(`{"features": [[2, 1]], "edges": [], "label": []}` + "\n" +
		`{"features": [[1e40, 1]], "edges": [], "label": []}`)
	f.Add(`{"features": [[-0.0, 1]], "edges": [[0, 0, 2]], "label": ["1", "2"]}`)
	f.Fuzz(func(t *testing.T, lines string) {
		defer testenv.FuzzLimits(t, 16<<20+2000*len(lines))()
		rows, _ := readKnown(t, knownSpec(seq.MultiLabel), lines)
		for _, e := range rows {
			for _, numbers := range e.Features {
				if len(numbers) != 5 || numbers[0]+numbers[1]+numbers[2] != 1 || numbers[3]+numbers[4] != 1 {
					t.Fatalf("got a node with features %v, want 3 numbers with sum 1, then 2 with sum 1", numbers)
				}
			}
			for _, edge := range e.Edges {
				if len(edge.Features) != 2 || edge.Features[0]+edge.Features[1] != 1 {
					t.Fatalf("got an edge with features %v, want 2 numbers with sum 1", edge.Features)
				}
			}
			for i, label := range e.Labels {
				if label < 0 || label > 2 || i > 0 && label <= e.Labels[i-1] {
					t.Fatalf("got labels %v, want different labels from 0 to 2 in ascending order", e.Labels)
				}
			}
		}
	})
}
