package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft"
)

// TestGraph: a model of features reads these by every method of a sequence; it has no text,
// windows or documents, and keeps no memory of what was refused.
func TestGraph(t *testing.T) {
	cloud, row := map[string]any{"features": [][]float64{{1, 0, 0, 1, 2, 3, 4}}}, []float64{1, 0, 0, 1, 2, 3, 4}
	s := start(t, testOptions(t, "clouds"))
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
		t.Errorf("%+v", out)
	}
	for id, x := range []struct {
		params map[string]any
		want   string
	}{
		{map[string]any{}, "features: it is missing: expected a list of heat, nx, ny, nz, x, y, z for each token"},
		{map[string]any{"features": []int{}}, "features: the sequence is empty"},
		{map[string]any{"features": 5}, "features: expected a list of lists of numbers, found 5"},
		{map[string]any{"features": [][]float64{row, row[1:]}}, "features: token 1 has 6 features, expected 7"},
		{map[string]any{"features": [][]float64{row}, "edges": []int{}}, "edges: the model knows no edges"},
		{map[string]any{"features": [][]float64{row}, "text": "1"}, "text: the tokens of the model have features"},
		{map[string]any{"features": [][]float64{row}, "window": map[string]any{"policy": "head"}}, "window: the tokens of the model have features"},
		{map[string]any{"uri": "a"}, "uri: the tokens of the model have features"},
	} {
		c.refuse(10+id, "sequence/classify", x.params, codeParams, x.want)
	}
	c.notify("sequence/didOpen", map[string]any{"uri": "a", "version": 1, "text": "1"})
	if m := c.message(); !strings.Contains(string(m.Params), "expected no document") {
		t.Errorf("%s %s", m.Method, m.Params)
	}
	tokens := dial(t, start(t, testOptions(t, "pre"))).initialize(nil)
	tokens.refuse(1, "sequence/classify", cloud, codeParams, "features: the model reads tokens")
	tokens.refuse(2, "sequence/classify", map[string]any{"text": "1", "edges": []int{}}, codeParams, "edges: the model reads tokens")
	eventually(t, "memory is still counted", func() bool { return s.memory.used.Load() == 0 })
}

// TestTagsOfPoints: a model that tags points answers with a tag of each, and no spans.
func TestTagsOfPoints(t *testing.T) {
	o := testOptions(t, "clouds")
	o.Load = func() (*Model, error) {
		m, err := sft.Load(filepath.Join(goldenDir, "clouds"))
		if err != nil {
			return nil, err
		}
		c := *m.Config
		c.Task, c.LabelNames, c.NumLabels = sft.Tagging, []string{"mug/body", "mug/handle"}, 2
		return onProcessor(sft.NewModel(&c, 1), "parts")
	}
	c := dial(t, start(t, o)).initialize(nil)
	var out struct {
		Tags   []string
		Scores []float64
		Spans  any
		Length int
	}
	c.call(1, "sequence/tag", map[string]any{"features": [][]float64{{1, 0, 0, 1, 2, 3, 4}, {1, 0, 1, 0, -2, 3, 4}}}, &out)
	if len(out.Tags) != 2 || !strings.HasPrefix(out.Tags[0], "mug/") || len(out.Scores) != 2 || out.Scores[0] < 0.5 || out.Spans != nil || out.Length != 2 {
		t.Errorf("%+v", out)
	}
}

// TestGraphOverHTTP: HTTP takes what JSON-RPC does.
func TestGraphOverHTTP(t *testing.T) {
	w := startHTTP(t, testOptions(t, "graphs"), HTTPOptions{})
	graph := `{"features":[[1.5,0],[0.5,-1]],"edges":[[0,1,1,0.5]]}`
	if answer := w.post("/classify", graph); !strings.Contains(answer, `"length":2`) {
		t.Error(answer)
	}
	if r, answer := w.send("POST", "/v1/embeddings", `{"model":"graphs","input":"1"}`); r.StatusCode != 400 || !strings.Contains(answer, "expected features") {
		t.Errorf("%s %s", r.Status, answer)
	}
}
