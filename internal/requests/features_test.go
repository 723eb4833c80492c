package requests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestFeaturesOfLines checks that each token of a line needs a number per feature, and that the error for
// a wrong value names its position. With an input window, only the tokens inside the window are kept.
func TestFeaturesOfLines(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/clouds/config.json"))(t)
	vector := make([]string, len(cfg.FeatureNames))
	for i := range vector {
		vector[i] = fmt.Sprint(i)
	}
	good := "[" + strings.Join(vector, ",") + "]"
	vector[1] = "null"
	null := "[" + strings.Join(vector, ",") + "]"
	p := NewParser(cfg, "", "f", 1)
	if r := p.Parse([]byte(`{"features":[`+good+","+good+`]}`), 1, nil); r.Failure != nil ||
		len(r.Features) != 2 || r.Features[1][2] != 2 {
		t.Errorf("got features %v, failure %v; want 2 rows and a 2 in column 2 of the second", r.Features, r.Failure)
	}
	for line, want := range map[string]string{
		`{"features":[` + good + "," + null + `]}`: "f:3: features: index 1: number 1: expected a number, found null",
		`{"features":[` + good + `,null]}`:         "f:3: features: index 1: expected a list of numbers, found null",
		`{"features":[` + good + `,[1]]}`:          "f:3: features: token 1 has 1 features, expected",
		`{"features":[]}`:                          "f:3: features: expected at least 1 token",
		`{"features":null}`:                        "f:3: expected features, a list of",
		`{"features":[` + good + `],"text":"a"}`:   "f:3: found both features and text, expected one of them",
	} {
		if r := p.Parse([]byte(line), 3, nil); r.Failure == nil ||
			!strings.HasPrefix(r.Failure.Message, want) || r.Features != nil {
			t.Errorf("%s: got failure %+v, want %q", line, r.Failure, want)
		}
	}
	cfg.InputWindow = &config.InputWindow{Length: 1, Policy: "head"}
	if r := p.Parse([]byte(`{"features":[`+good+","+good+`]}`), 1, nil); r.Failure != nil ||
		len(r.Features) != 1 || r.Lengths[0] != 2 {
		t.Errorf("with a window of 1: got %+v, failure %+v, want 1 of 2 tokens", r, r.Failure)
	}
}

// graphParser returns a parser for the golden model of graphs, and the model's config.
func graphParser(t *testing.T) (*Parser, *sft.Config) {
	t.Helper()
	cfg := must.Get(config.Read("../../sft/testdata/golden/graphs/config.json"))(t)
	return NewParser(cfg, "", "f", 1), cfg
}

// TestMemoryOfGraphs checks that parsing features and edges allocates little more than the memory that
// MemoryOf returns, and that Bytes returns the memory that the request keeps.
func TestMemoryOfGraphs(t *testing.T) {
	p, config := graphParser(t)
	config.MaxLength = 1 << 20
	const n = 20000
	nodes := "[" + strings.Repeat("[1,2],", n-1) + "[1,2]]"
	var edges strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 * n {
		fmt.Fprintf(&edges, ",[%d,%d,1,0.5]", r.IntN(n), r.IntN(n))
	}
	for name, x := range map[string][2]string{
		"a graph":           {nodes, "[" + edges.String()[1:] + "]"},
		"edges as numbers":  {nodes, "[" + strings.Repeat("1,", n) + "1]"},
		"one long edge":     {nodes, "[[" + strings.Repeat("0,", n) + "0]]"},
		"empty edges":       {nodes, "[" + strings.Repeat("[],", n) + "[]]"},
		"empty nodes":       {"[" + strings.Repeat("[],", n) + "[]]", "[]"},
		"one long node":     {"[[" + strings.Repeat("0,", n) + "0]]", "[]"},
		"nodes of a number": {"[" + strings.Repeat("[1],", n) + "[1]]", "[]"},
	} {
		var before, after runtime.MemStats
		request := &Request{}
		runtime.ReadMemStats(&before)
		_, err := p.ReadGraph(request, []byte(x[0]), []byte(x[1]))
		runtime.ReadMemStats(&after)
		counted := p.MemoryOf("features", []byte(x[0])) + p.MemoryOf("edges", []byte(x[1]))
		if taken := int64(after.TotalAlloc - before.TotalAlloc); taken > counted+counted/4+1<<16 {
			t.Errorf("%s: allocated %d bytes (error %v), want at most %d", name, taken, err, counted+counted/4+1<<16)
		}
		if name == "a graph" && (err != nil ||
			request.Bytes() != n*(rowBytes+2*tokenBytes)+3*n*(edgeBytes+2*tokenBytes)) {
			t.Errorf("Bytes() = %d, want %d (error %v)", request.Bytes(),
				n*(rowBytes+2*tokenBytes)+3*n*(edgeBytes+2*tokenBytes), err)
		}
	}
}

// TestWindowOfTokens checks that a truncated sequence keeps only the tokens inside the window, in a
// new slice.
func TestWindowOfTokens(t *testing.T) {
	c := &sft.Config{
		Task: config.Classification,
		Inputs: config.Inputs{VocabSize: 257, MaxLength: 1 << 20, PadTokenID: new(int32(0)),
			InputWindow: &config.InputWindow{Length: 3, Policy: "head"}, Tokenizer: json.RawMessage(`{"type":"byte"}`)},
		Head: config.Head{NumLabels: 2},
	}
	r := NewParser(c, "", "f", 1).Parse([]byte(`{"text":"`+strings.Repeat("b", 1<<16)+`"}`), 1, nil)
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	if kept := cap(r.Sequences[0]); kept > 8 || r.Lengths[0] != 1<<16 {
		t.Errorf("got a slice of %d of %d tokens, want at most 8 of %d", kept, r.Lengths[0], 1<<16)
	}
}

// TestWindowOfGraph checks that a truncated graph keeps only the nodes inside the window and the
// edges among them, in new slices.
func TestWindowOfGraph(t *testing.T) {
	p, cfg := graphParser(t)
	cfg.InputWindow = &config.InputWindow{Length: 2, Policy: "head"}
	features, edges := [][]float32{{1, 2}, {3, 4}, {5, 6}},
		[]seq.Edge{{Source: 0, Target: 1, Features: []float32{1, 0.5}},
			{Source: 1, Target: 2, Features: []float32{1, 0.5}}}
	kept := &Request{}
	if field, err := p.setGraph(kept, features, edges); err != nil {
		t.Fatal(field, err)
	}
	if cap(kept.Features) > 2 || &kept.Features[0][0] == &features[0][0] || cap(kept.Edges) > 1 ||
		&kept.Edges[0].Features[0] == &edges[0].Features[0] {
		t.Errorf("got capacity for %d nodes and %d edges, want at most 2 and 1; memory shared with the whole graph: "+
			"nodes %v, edges %v, want false and false", cap(kept.Features), cap(kept.Edges),
			&kept.Features[0][0] == &features[0][0], &kept.Edges[0].Features[0] == &edges[0].Features[0])
	}
	r := p.Parse([]byte(`{"features":[[1,2],[3,4],[5,6]],"edges":[[0,1,1,0.5],[1,2,1,0.5],[2,0,1,0.5],[1,1,1,0.5]]}`),
		1, nil)
	if r.Failure != nil || len(r.Features) != 2 || len(r.Edges) != 2 || r.Edges[1].Source != 1 ||
		r.Edges[1].Target != 1 || r.Lengths[0] != 3 {
		t.Errorf("got %+v, failure %+v, want 2 of 3 nodes and the 2 edges between them", r, r.Failure)
	}
}
