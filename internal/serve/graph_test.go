package serve

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestGraph checks that a model of feature vectors accepts "features" and refuses texts, windows and
// documents, that a model of tokens refuses features, and that refused requests release their memory.
func TestGraph(t *testing.T) {
	cloud, row := map[string]any{"features": [][]float64{{1, 0, 0, 1, 2, 3, 4}}}, []float64{1, 0, 0, 1, 2, 3, 4}
	s := startServer(t, testOptions(t, "clouds"))
	c := dial(t, s).initialize(nil)
	var out struct {
		Label     any
		Length    int
		Embedding []float64
		Explain   struct{ Pooling []float64 }
	}
	c.call(1, "sequence/classify", map[string]any{"features": cloud["features"], "explain": true}, &out)
	c.call(2, "sequence/embed", cloud, &out)
	if out.Length != 1 || out.Label == nil || len(out.Embedding) != 8 || len(out.Explain.Pooling) != 1 {
		t.Errorf("got %+v, want a label, 8 embedding values and 1 pooling weight for 1 token", out)
	}
	for id, x := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{}, "features: expected a list of heat, nx, ny, nz, x, y, z for each token, found none"},
		{map[string]any{"features": []int{}}, "features: expected at least 1 token"},
		{map[string]any{"features": 5}, "features: expected a list of lists of numbers, found 5"},
		{map[string]any{"features": [][]float64{row, row[1:]}}, "features: token 1 has 6 features, expected 7"},
		{map[string]any{"features": [][]float64{row}, "edges": []int{}}, "edges: the model does not use edges"},
		{map[string]any{"features": [][]float64{row}, "text": "1"}, "text: the model's tokens have features"},
		{map[string]any{"features": [][]float64{row}, "window": map[string]any{"policy": "head"}},
			"window: the model's tokens have features"},
		{map[string]any{"features": [][]float64{row}, "window": map[string]any{}},
			"window: the model's tokens have features"},
		{map[string]any{"features": [][]float64{row}, "version": 1}, "version: the model's tokens have features"},
		{map[string]any{"uri": "a"}, "uri: the model's tokens have features"},
	} {
		c.expectError(10+id, "sequence/classify", x.params, codeParams, x.want)
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": "1"})
	if m := c.message(); !strings.Contains(string(m.Params), "expected no document") {
		t.Errorf("got %s %s, want an error", m.Method, m.Params)
	}
	tokens := dial(t, startServer(t, testOptions(t, "pre"))).initialize(nil)
	tokens.expectError(1, "sequence/classify", cloud, codeParams,
		"features: found features or edges, but the model reads tokens")
	tokens.expectError(2, "sequence/classify", map[string]any{"text": "1", "edges": []int{}}, codeParams,
		"edges: found features or edges, but the model reads tokens")
	s.memory.limit = 100_000
	c.expectError(30, "sequence/classify", map[string]any{"features": slices.Repeat([][]float64{row}, 5000)},
		codeParams,
		"the request exceeds 93750 bytes, 15/16 of --max-memory: it needs at least 340106")
	graphs := dial(t, startServer(t, testOptions(t, "graphs"))).initialize(nil)
	graphs.expectError(1, "sequence/classify", map[string]any{"features": []int{}}, codeParams,
		"edges: expected a list of source, target, ")
	eventually(t, "memory is still counted", func() bool { return s.memory.used.Load() == 0 })
}

// TestTagsOfPoints checks that a tagging model of points responds with a tag per point, without
// spans.
func TestTagsOfPoints(t *testing.T) {
	o := testOptions(t, "clouds")
	o.Load = func() (*Model, error) {
		m, err := sft.Load(filepath.Join(goldenDir, "clouds"))
		if err != nil {
			return nil, err
		}
		c := *m.Config
		c.Task, c.LabelNames, c.NumLabels = config.Tagging, []string{"mug/body", "mug/handle"}, 2
		return onCPU(sft.NewModel(&c, 1), "parts")
	}
	c := dial(t, startServer(t, o)).initialize(nil)
	var out struct {
		Tags   []string
		Scores []float64
		Spans  any
		Length int
	}
	c.call(1, "sequence/tag",
		map[string]any{"features": [][]float64{{1, 0, 0, 1, 2, 3, 4}, {1, 0, 1, 0, -2, 3, 4}}}, &out)
	if len(out.Tags) != 2 || !strings.HasPrefix(out.Tags[0], "mug/") || len(out.Scores) != 2 || out.Scores[0] < 0.5 ||
		out.Spans != nil || out.Length != 2 {
		t.Errorf("got %+v, want two tags with scores", out)
	}
}

// TestGraphOverHTTP checks that /classify accepts a graph, and that /v1/embeddings refuses a text.
func TestGraphOverHTTP(t *testing.T) {
	w := startHTTP(t, testOptions(t, "graphs"), HTTPOptions{})
	graph := `{"features":[[1.5,0],[0.5,-1]],"edges":[[0,1,1,0.5]]}`
	if got := w.post("/classify", graph); !strings.Contains(got, `"length":2`) {
		t.Errorf("/classify: got %s, want length 2", got)
	}
	if r, got := w.send("POST", "/v1/embeddings", `{"model":"graphs","input":"1"}`); r.StatusCode != 400 ||
		!strings.Contains(got, "expected features") {
		t.Errorf("got %s %s, want 400", r.Status, got)
	}
}

// TestGraphInitialize checks the capabilities in the initialize result: documents for models that
// read tokens, and window policies for those whose task supports windows.
func TestGraphInitialize(t *testing.T) {
	for model, want := range map[string]struct {
		documents bool
		windows   int
	}{"clouds": {false, 0}, "graphs": {false, 0}, "pre": {true, 3}, "regression": {true, 3}, "multilabel": {true, 3},
		"tagging": {true, 0}, "retrieval": {true, 0}, "fill_mask": {true, 0}} {
		var r initializeResult
		dial(t, startServer(t, testOptions(t, model))).call(1, "initialize", struct{}{}, &r)
		if c := r.Capabilities; c.Documents != want.documents || len(c.WindowPolicies) != want.windows {
			t.Errorf("%s: got capabilities %+v, want documents %v and %d window policies", model, c, want.documents,
				want.windows)
		}
	}
}

// TestGraphMemory checks that the memory of a graph is counted until its response, that a bare line
// may be a graph, and that a graph with many edges per node counts as more tokens in a batch.
func TestGraphMemory(t *testing.T) {
	s := startServer(t, testOptions(t, "graphs"))
	release := blockBatches(s)
	c := dial(t, s).initialize(struct{}{})
	const nodes = 2000
	graph := map[string]any{"features": slices.Repeat([][]float64{{1, 2}}, nodes),
		"edges": slices.Repeat([][]float64{{0, 1, 1, 0.5}}, nodes)}
	c.request(1, "sequence/classify", graph)
	eventually(t, "no batch runs", func() bool { _, _, running := queueState(s); return running > 0 })
	kept := (&requests.Request{Features: make([][]float32, 1), Edges: make([]seq.Edge, 1)}).Bytes() * nodes
	if used := s.memory.used.Load(); used < kept {
		t.Errorf("got %d counted bytes, want at least %d", used, kept)
	}
	close(release)
	if m := c.response(1); m.Error != nil {
		t.Errorf("got %+v, want a result", m)
	}
	eventually(t, "memory is still counted", func() bool { return s.memory.used.Load() == 0 })

	bare := dial(t, s)
	bare.send(`{"id":7,"features":[[1,2]],"edges":[]}`)
	if text := bare.receive(); !strings.Contains(text, `"id":7,"label":`) {
		t.Errorf("got %s, want id 7 and a label", text)
	}
	for _, x := range []struct{ nodes, edges, want int }{{20, 0, 20}, {20, 160, 20}, {20, 1600, 200}} {
		if n := batching.Tokens(&seq.Example{Features: make([][]float32, x.nodes),
			Edges: make([]seq.Edge, x.edges)}); n != x.want {
			t.Errorf("%d nodes with %d edges count as %d tokens, want %d", x.nodes, x.edges, n, x.want)
		}
	}
}

// TestReloadToGraphs checks that open documents get an error after a reload to a model that does
// not read documents.
func TestReloadToGraphs(t *testing.T) {
	o := testOptions(t, "pre")
	names := []string{"pre", "graphs", "pre"}
	o.Load = func() (*Model, error) {
		m, err := load(t, names[0])()
		names = names[1:]
		return m, err
	}
	s := startServer(t, o)
	c := dial(t, s).initialize(struct{}{})
	c.notify("sequence/didOpen", map[string]any{"uri": "u", "version": 1, "text": "1 2"})
	for _, want := range []string{`"label":`,
		"text: the model's tokens have features, not ids: expected no document", `"label":`} {
		if m := c.message(); m.Method != publishClass || !strings.Contains(string(m.Params), want) {
			t.Errorf("got %s %s, want %s", m.Method, m.Params, want)
		}
		if len(names) > 0 {
			must.Succeed(t, s.Reload())
		}
	}
}
