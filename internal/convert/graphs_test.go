package convert

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/seq"
)

// graphOptions returns the default options of the convert command, with all graphs in train.
func graphOptions(from ...string) GraphOptions {
	return GraphOptions{From: from, Label: "label", Tags: "tags",
		SplitFractions: []SplitFraction{{Split: "train", Fraction: 1}}}
}

// writeLines writes lines to a file and returns its path.
func writeLines(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// rowTexts returns the rows of a split as texts.
func rowTexts(t *testing.T, d *seq.Dataset, split string) (out []string) {
	t.Helper()
	f, err := d.Open(split)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range f.Len() {
		e, err := f.Example(i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(e.Features, e.Edges, e.Label, e.Labels, e.Numbers))
	}
	return out
}

// TestConvertGraphs checks that classes, lists of labels, node labels and numbers each produce
// the right task and rows.
func TestConvertGraphs(t *testing.T) {
	for _, c := range []struct {
		lines  string
		change func(o *GraphOptions)
		task   string
		labels string
		want   []string
	}{
		{`{"features":[[1]],"edges":[[0,0,0.5]],"label":"b"}
{"features":[[2],[3]],"edges":[],"label":"a","id":"x"}`, func(o *GraphOptions) {}, seq.Classification, "[a b]",
			[]string{"[[1]] [{0 0 [0.5]}] 1 [] []", "[[2] [3]] [] 0 [] []"}},
		{`{"features":[[1]],"edges":[[0,0]],"label":10}
{"features":[[2]],"edges":[],"label":9}`, func(o *GraphOptions) {}, seq.Classification, "[9 10]", []string{"[[1]] [{0 0 []}] 1 [] []", "[[2]] [] 0 [] []"}},
		{`{"features":[[1]],"edges":[[0,0]],"label":["b","a","b"]}
{"features":[[2]],"edges":[],"label":[]}`, func(o *GraphOptions) {}, seq.MultiLabel, "[a b]", []string{"[[1]] [{0 0 []}] -1 [0 1] []", "[[2]] [] -1 [] []"}},
		{`{"features":[[1],[2]],"edges":[[0,1]],"kinds":["C",null],"label":null}
{"features":[[3]],"edges":[],"kinds":["N"]}`, func(o *GraphOptions) { o.Tags = "kinds" }, seq.Tagging, "[C N]",
			[]string{"[[1] [2]] [{0 1 []}] -1 [0 -1] []", "[[3]] [] -1 [1] []"}},
		{`{"features":[[1]],"edges":[],"b":2.5,"a":-1}`,
			func(o *GraphOptions) {
				o.Numbers, o.EdgeFeatureNames = []string{"a", "b"},
					[]string{}
			}, seq.Regression, "[]",
			[]string{"[[1]] [] -1 [] [-1 2.5]"}},
	} {
		o := graphOptions(writeLines(t, c.lines))
		c.change(&o)
		d, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
		if err != nil {
			t.Errorf("%s: %v", c.lines, err)
			continue
		}
		if got := rowTexts(t, d, "train"); d.Manifest.Task != c.task || fmt.Sprint(d.Manifest.LabelNames) != c.labels ||
			strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got task %s, labels %v and rows\n%s\nwant task %s, labels %s and rows\n%s", c.lines,
				d.Manifest.Task, d.Manifest.LabelNames, strings.Join(got, "\n"), c.task, c.labels,
				strings.Join(c.want, "\n"))
		}
	}
}

// TestSplits checks that the split field determines the split of a graph. Without a split field,
// the seed and the graph determine it, so that equal graphs are in the same split.
func TestSplits(t *testing.T) {
	path := writeLines(t, `{"features":[[1]],"edges":[[0,0]],"label":"a","part":"training"}
{"features":[[2]],"edges":[[0,0]],"label":"b","part":"dev"}`)
	o := graphOptions(path)
	o.SplitField = "part"
	d, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil || len(rowTexts(t, d, "train")) != 1 || len(rowTexts(t, d, "val")) != 1 {
		t.Errorf("got %+v and error %v, want one graph in each of train and val", d, err)
	}
	var lines strings.Builder
	for i := range 400 {
		form := []string{`{"features":[[%d]],"edges":[[0,0]],"label":"a"}`,
			`{"label": "a", "features": [[%d.0]], "edges": [[0, 0]]}`}[i%2] // two notations of the same graph
		fmt.Fprintf(&lines, form+"\n", i/2)
	}
	o = graphOptions(writeLines(t, lines.String()))
	o.SplitFractions = []SplitFraction{{Split: "train", Fraction: 0.5}, {Split: "val", Fraction: 0},
		{Split: "test", Fraction: 0.5}}
	d, err = ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o)
	if err != nil {
		t.Fatal(err)
	}
	train := rowTexts(t, d, "train")
	if n := len(train); n < 120 || n > 280 || n%2 != 0 || n+len(rowTexts(t, d, "test")) != 400 {
		t.Errorf("got %d of 400 graphs in train, want an even number of about 200", n)
	}
	o.Seed++
	if other, err := ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o); err != nil ||
		other.Fingerprint() == d.Fingerprint() {
		t.Errorf("another seed: got equal splits or error %v, want different splits", err)
	}
}

// TestStratifiedGraphs checks that the splits of small data sets are stratified and have the
// minimum size.
func TestStratifiedGraphs(t *testing.T) {
	var lines strings.Builder
	for i := range 80 {
		fmt.Fprintf(&lines, `{"features":[[%d]],"edges":[[0,0]],"label":"%c"}`+"\n", i, "aaaab"[i%5])
	}
	o := graphOptions(writeLines(t, lines.String()))
	o.SplitFractions = DefaultSplitFractions
	d := must.Get(ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "data"), o))(t)
	for split, want := range map[string][2]int64{"train": {64, 12}, "val": {8, 2}, "test": {8, 2}} {
		if s := d.Manifest.Splits[split]; s.Rows != want[0] || s.Labels["b"] != want[1] {
			t.Errorf("%s: %d rows, %d of class b, want %v", split, s.Rows, s.Labels["b"], want)
		}
	}
}

// TestInvalidGraphs checks that errors name the line and the cause, and that no data set remains.
func TestInvalidGraphs(t *testing.T) {
	const good = `{"features":[[1,2]],"edges":[[0,0,3]],"label":"a"}` + "\n"
	for _, c := range []struct{ line, want string }{
		{`{"features":[[1,2]],"edges":[[0,1,3]],"label":"a"}`,
			"lines.jsonl:2: column edges: index 0, target: expected a node from 0 to 0, found 1"},
		{`{"features":[[1,2]],"edges":[[0,0]],"label":"a"}`,
			"lines.jsonl:2: column edges: index 0: expected 1 features of the edge, found 0"},
		{`{"features":[[1]],"edges":[],"label":"a"}`,
			"lines.jsonl:2: column features: index 0: expected 2 numbers, found 1"},
		{`{"features":[],"edges":[],"label":"a"}`, "lines.jsonl:2: column features: expected at least one token"},
		{`{"features":[[1,"x"]],"edges":[],"label":"a"}`,
			"lines.jsonl:2: features: index 0: number 1: expected a number, found"},
		{`{"features":[[1,null]],"edges":[],"label":"a"}`,
			"lines.jsonl:2: features: index 0: number 1: expected a number, found"},
		{`{"features":[[1,1e99]],"edges":[],"label":"a"}`,
			"lines.jsonl:2: features: index 0: number 1: expected a finite float32"},
		{`{"features":[[1,2]],"edges":[[0,0,1e99]],"label":"a"}`,
			"lines.jsonl:2: edges: edge 0: feature 0: expected a finite float32, found 1e99"},
		{`{"features":[[1,2]],"edges":[[0.5,0,1]],"label":"a"}`,
			"lines.jsonl:2: edges: edge 0: source: expected a token's index"},
		{`{"features":[[1,2]],"edges":[[0,0,1],[0]],"label":"a"}`,
			"lines.jsonl:2: edges: edge 1: expected a list of source, target and features, found [0]"},
		{`{"features":[[1,2]],"edges":{"a":1},"label":"a"}`, "lines.jsonl:2: edges: expected a list of edges"},
		{`{"features":[[1,2]],"label":"a"}`, "lines.jsonl:2: expected edges"},
		{`{"edges":[],"label":"a"}`, "lines.jsonl:2: expected features"},
		{`{"features":[[1,2]],"edges":[]}`, "lines.jsonl:2: expected label (a class or a list of labels) or tags"},
		{`{"features":[[1,2]],"edges":[],"label":["a"]}`,
			"lines.jsonl:2: expected label (a class), as in the first graph, found label (a list)"},
		{`{"features":[[1,2]],"edges":[],"tags":["a"]}`,
			"lines.jsonl:2: expected label (a class), as in the first graph, found tags (a list)"},
		{`{"features":[[1,2]],"edges":[],"tags":["a","b"]}`,
			"lines.jsonl:2: tags: expected a list of 1, one for each node, found 2"},
		{`{"features":[[1,2]],"edges":[],"tags":"a"}`, "lines.jsonl:2: tags: expected a list"},
		{`{"features":[[1,2]],"edges":[],"label":"a","tags":["a"]}`, "lines.jsonl:2: found both label and tags"},
		{`{"features":[[1,2]],"edges":[],"label":{}}`,
			"lines.jsonl:2: label: expected a string, a number or a boolean, found {}"},
		{`[1]`, "lines.jsonl:2: "},
		{`{"features":`, "lines.jsonl:2: "},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		_, err := ConvertGraphs(t.Context(), dir, graphOptions(writeLines(t, good+c.line)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.line, err, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, seq.ManifestName)); err == nil {
			t.Errorf("%s: a data set remains after the error", c.line)
		}
	}
	if _, err := ConvertGraphs(t.Context(), t.TempDir(), graphOptions(writeLines(t, ""))); err == nil ||
		!strings.Contains(err.Error(), "found none") {
		t.Errorf(`empty file: got error %v, want one with "found none"`, err)
	}
	o := graphOptions(writeLines(t, good))
	o.Labels = []string{"b"}
	if _, err := ConvertGraphs(t.Context(), t.TempDir(), o); err == nil ||
		!strings.Contains(err.Error(), `lines.jsonl:1: label: expected one of "b", found "a"`) {
		t.Errorf(`unlisted label: got error %v, want one with lines.jsonl:1: label: expected one of "b", found "a"`,
			err)
	}
	o = graphOptions(writeLines(t, `{"features":[[1,2]],"edges":[],"n":"x"}`))
	o.Numbers, o.EdgeFeatureNames = []string{"n"}, []string{}
	if _, err := ConvertGraphs(t.Context(), t.TempDir(), o); err == nil ||
		!strings.Contains(err.Error(), "lines.jsonl:1: n: expected a number") {
		t.Errorf("text instead of a number: got error %v, want one with lines.jsonl:1: n: expected a number", err)
	}
}

// TestHash checks that graphs that differ in a feature, an edge or a node have different hashes.
func TestHash(t *testing.T) {
	graph := func() *graphlines.Row {
		return &graphlines.Row{Example: seq.Example{Features: [][]float32{{1, 2}, {3, 4}},
			Edges: []seq.Edge{{Source: 0, Target: 1, Features: []float32{5}}}}}
	}
	seen := map[uint64]string{hashOf(graph()): "no change"}
	for name, change := range map[string]func(x *graphlines.Row){
		"feature":      func(x *graphlines.Row) { x.Features[1][0] = 9 },
		"source":       func(x *graphlines.Row) { x.Edges[0].Source = 1 },
		"target":       func(x *graphlines.Row) { x.Edges[0].Target = 0 },
		"edge feature": func(x *graphlines.Row) { x.Edges[0].Features[0] = 6 },
		"another edge": func(x *graphlines.Row) { x.Edges = append(x.Edges, x.Edges[0]) },
		"another node": func(x *graphlines.Row) { x.Features = append(x.Features, x.Features[0]) },
	} {
		x := graph()
		change(x)
		if other, found := seen[hashOf(x)]; found {
			t.Errorf("%s: got the hash of %s, want another hash", name, other)
		}
		seen[hashOf(x)] = name
	}
}

// TestChanged checks that no data set is written if the files change between two reads.
func TestChanged(t *testing.T) {
	const line = `{"features":[[1,2]],"edges":[[0,0,3]],"label":"a"}` + "\n"
	for name, other := range map[string]string{
		"fewer rows":  line,
		"other label": line + strings.Replace(line, `"a"`, `"b"`, 1),
		"no label":    line + strings.Replace(line, `"a"`, `[]`, 1),
	} {
		o := graphOptions(writeLines(t, line+line))
		s, err := summarize(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.From[0], []byte(other), 0o666); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "data")
		if _, err := s.write(t.Context(), dir, &o); !errors.Is(err, errChanged) {
			t.Errorf("%s: got error %v, want %v", name, err, errChanged)
		}
		if _, err := os.Stat(filepath.Join(dir, seq.ManifestName)); err == nil {
			t.Errorf("%s: a data set remains after the error", name)
		}
	}
}

// FuzzConvert checks that every data set converted from JSON lines can be opened.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(`{"features":[[1]],"edges":[[0,0,0.5]],"label":"b"}`))
	f.Add([]byte(`{"features":[[1],[2]],"edges":[[0,1]],"tags":["C",null]}`))
	f.Add([]byte(`{"features":[[1],[2]],"edges":[[0,1]],"label":["C"],"id":7}`))
	fuzzConvert(f, "lines.jsonl")
}

// fuzzConvert fuzzes the conversion of a file with the given name and checks that every resulting
// data set can be opened.
func fuzzConvert(f *testing.F, name string) {
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		defer testenv.FuzzLimits(t, 64<<20+400*len(file))()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, file, 0o666); err != nil {
			t.Fatal(err)
		}
		o := graphOptions(path)
		o.Replace = true
		d, err := ConvertGraphs(t.Context(), filepath.Join(dir, "data"), o)
		if err != nil {
			return
		}
		if _, err := d.Open("train"); err != nil {
			t.Error(err)
		}
	})
}

// TestSuspiciousEdges checks that a single note is reported if edges look like an edge_index, or if
// no edge has a reverse edge, and no note for other edges.
func TestSuspiciousEdges(t *testing.T) {
	const nodes = `"features":[[1],[2],[3],[4]],"label":"a"`
	for _, c := range []struct{ name, lines, want string }{
		{"edge_index", `{` + nodes + `,"edges":[[0,1,1,2,2,3],[1,0,2,1,3,2]]}` + "\n" + `{` + nodes +
			`,"edges":[[0,1,0,2,0,3],[1,0,2,0,3,0]]}`,
			"edges of all 2 graphs with edges look like a list of sources and a list of targets"},
		{"two edges with features", `{` + nodes + `,"edges":[[0,1,0.5],[1,0,0.5]]}`, ""},
		{"two edges with a kind", `{` + nodes + `,"edges":[[0,1,7],[1,0,7]]}`, ""},
		{"each edge in one direction", `{` + nodes + `,"edges":[[0,1],[1,2]]}` + "\n" + `{` + nodes +
			`,"edges":[[2,3],[0,0]]}`,
			"no edge of 2 graphs has a reverse edge"},
		{"an edge in both directions", `{` + nodes + `,"edges":[[0,1],[1,2],[2,1]]}` + "\n" + `{` + nodes +
			`,"edges":[[2,3]]}`, ""},
		{"without edges", `{` + nodes + `,"edges":[[0,0]]}` + "\n" + `{` + nodes + `,"edges":[]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := graphOptions(writeLines(t, c.lines+"\n"))
			o.SplitFractions = DefaultSplitFractions
			var notes []string
			o.Note = func(text string) { notes = append(notes, text) }
			must.Get(ConvertGraphs(t.Context(), filepath.Join(t.TempDir(), "d"), o))(t)
			if got := strings.Join(notes, "\n"); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
