package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestGraphsOfOneNode checks that a model learns to classify graphs of one node without edges by the
// node's feature, even if the data also has graphs with edges or self-loops.
func TestGraphsOfOneNode(t *testing.T) {
	for name, edges := range map[string][]string{"without edges": {"[]"}, "beside others": {"[]", "[[0,0,1]]", ""}} {
		t.Run(name, func(t *testing.T) {
			in := func(name string) string { return filepath.Join(t.TempDir(), name) }
			var lines strings.Builder
			for i := range 96 {
				kind := 1 - 2*(i%2)
				e, nodes := edges[i/2%len(edges)], fmt.Sprintf("[%d]", kind)
				if e == "" {
					e, nodes = "[[0,1,0],[1,0,0]]", fmt.Sprintf("[%d],[%d]", kind, kind)
				}
				fmt.Fprintf(&lines, `{"features":[%s],"edges":%s,"label":"%d","split":%q}`+"\n", nodes, e, kind,
					[]string{"train", "val"}[i/64])
			}
			from := writeText(t, in("lines.jsonl"), lines.String())
			data, model := in("data"), in("model")
			succeed(t, "", "data", "convert", "graph", "--from", from, "--to", data, "--feature-names", "kind",
				"--edge-feature-names", "bond", "--random-walk", "2", "--split-field", "split")
			runCustom(t, data, model, "--epochs", "12", "--lr", "0.01", "--k", "4", "--hidden", "16", "--intermediate",
				"16", "--layers", "2", "--heads", "2", "--device", "cpu")
			output := succeed(t, `{"features":[[1,0,0]],"edges":[]}`+"\n"+`{"features":[[-1,0,0]],"edges":[]}`+"\n",
				"predict", "--model", model, "--device", "cpu")
			for i, line := range strings.Split(strings.TrimSpace(output), "\n") {
				var reply struct{ Label string }
				if err := json.Unmarshal([]byte(line), &reply); err != nil || reply.Label != []string{"1", "-1"}[i] {
					t.Errorf("line %d: got %s, error %v, want the label %s", i, line, err, []string{"1", "-1"}[i])
				}
			}
		})
	}
}
