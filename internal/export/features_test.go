package export

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestFeatureBlocks checks the relations of points and nodes in several blocks of queries.
func TestFeatureBlocks(t *testing.T) {
	needRuntime(t)
	for name, change := range map[string]func(*sft.Config){
		"points": func(c *sft.Config) { points(c, "x", "y", "z", "nx", "ny", "nz") },
		"nodes":  func(c *sft.Config) { nodes(c, "order", "length") },
	} {
		m := fresh(t, func(c *sft.Config) { change(c); c.Pooling = config.MaxPooling })
		lines := randomLines(m.Config, []int{2*blockScores/m.Config.NumSampledTokens + 5})
		got, want := onRuntime(t, m, lines), onCPU(t, m, lines)
		if got[0].Error != "" {
			t.Fatalf("%s: %s", name, got[0].Error)
		}
		compare(t, 0, name, got[0].Logits, want[0].Logits, 2e-5)
	}
}

// TestFeatureTies compares the logits of many equal points with package sft. They agree only if equal
// points have exactly equal scores, because ties decide which points are sampled.
func TestFeatureTies(t *testing.T) {
	needRuntime(t)
	for _, hidden := range []int{1, 7, 18, 31, 50} {
		m := fresh(t, func(c *sft.Config) {
			points(c, "a", "b", "c", "d", "e")
			c.HiddenSize, c.NumHeads, c.Relative = hidden, 1, config.NoRelation
		})
		var features [][]float32
		for i := range 500 {
			features = append(features, []float32{float32(i % 5), 0.1, float32(i%2) / 3, -7, 0.3})
		}
		lines := []line{{Features: features}}
		got, want := onRuntime(t, m, lines), onCPU(t, m, lines)
		compare(t, hidden, "logits", got[0].Logits, want[0].Logits, 2e-5)
	}
}

// TestRefusedFeatures checks that the graph or its runner reports an error for features and edges that the
// program refuses, but accepts edges outside the input window.
func TestRefusedFeatures(t *testing.T) {
	needRuntime(t)
	m := fresh(t, func(c *sft.Config) {
		nodes(c, "order")
		c.InputWindow = &config.InputWindow{Length: 20, Policy: "head"}
	})
	node := strings.Repeat(",[1,2,3]", 25)[1:]
	refused := []struct{ text, expected string }{
		{`"features":[[1,2,3],[1,1e39,3]]`, "token_is_accepted"},
		{`"features":[[1,2,3]],"edges":[[0,0,1],[0,1,1]]`, "edge_is_accepted"},
		{`"features":[[1,2,3]],"edges":[[0,0,1],[-1,0,1]]`, "edge_is_accepted"},
		{`"features":[` + node + `],"edges":[[24,26,1]]`, "edge_is_accepted"},
		{`"features":[[1,2,3]],"edges":[[0,0,1e39]]`, "edge_is_accepted"},
		{`"features":[[1,2],[1,2,3,4]]`, "features: row 0: expected 3 numbers, found [1,2]"},
		{`"features":[[1,2,null]]`, "features: row 0: expected 3 numbers"},
		{`"features":[[1,2,3]],"edges":[[0,0,1,1],[0,0]]`, "edge_features: row 0: expected 1 numbers, found [1,1]"},
		{`"features":[[1,2,3]],"edges":[[0]]`, "edges: row 0: expected 2 numbers, found [0]"},
		{`"features":[]`, "length_is_accepted"},
		{`"features":[` + node + `],"edges":[[24,3,1],[3,24,1]]`, ""}, // outside the window
	}
	var text strings.Builder
	for _, r := range refused {
		text.WriteString("{" + r.text + "}\n")
	}
	outputs := runtimeOutputs(t, m, text.String())
	if len(outputs) != len(refused) {
		t.Fatalf("got %d outputs for %d lines, want one for each", len(outputs), len(refused))
	}
	for i, r := range refused {
		if got := outputs[i].Error; !strings.Contains(got, r.expected) || (got == "") != (r.expected == "") {
			t.Errorf("%s: got error %q, want %q", r.text, got, r.expected)
		}
	}
}
