package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestIDsOfSequences checks that a response repeats the "id" of its sequence. The id may be any JSON
// value. An id beside a list of sequences is refused.
func TestIDsOfSequences(t *testing.T) {
	for _, x := range []struct{ folder, method, many, fields string }{
		{"pre", "sequence/classify", "sequences", `"tokens":[7,8,9]`},
		{"pre", "sequence/classify", "sequences", `"tokens":[7,8,9],"window":{"policy":"sliding","length":2}`},
		{"pre", "sequence/embed", "sequences", `"tokens":[7]`},
		{"regression", "sequence/predict", "sequences", `"tokens":[7]`},
		{"multilabel", "sequence/labels", "sequences", `"tokens":[7]`},
		{"tagging", "sequence/tag", "sequences", `"tokens":[7]`},
		{"clouds", "sequence/classify", "sequences", `"features":[[0.5,0,0,1,0.1,0.2,0.3]]`},
		{"clouds", "sequence/embed", "sequences", `"features":[[0.5,0,0,1,0.1,0.2,0.3]]`},
		{"retrieval", "retrieval/score", "pairs", `"tokens_a":[7],"tokens_b":[8]`},
	} {
		c := dial(t, startServer(t, testOptions(t, x.folder))).initialize(nil)
		for i, id := range []string{`"x"`, `12345678901234567890`, `[1,{"a":null}]`, ``} {
			params := "{" + x.fields + "}"
			if id != "" {
				params = fmt.Sprintf(`{"id":%s,%s}`, id, x.fields)
			}
			var one struct {
				ID      json.RawMessage
				Windows []map[string]any
			}
			c.call(2*i, x.method, json.RawMessage(params), &one)
			var many struct {
				Results []struct{ Result struct{ ID json.RawMessage } }
			}
			c.call(2*i+1, x.method, json.RawMessage(fmt.Sprintf(`{%q:[%s]}`, x.many, params)), &many)
			if string(one.ID) != id || string(many.Results[0].Result.ID) != id ||
				strings.Contains(x.fields, "window") != (one.Windows != nil) {
				t.Errorf("%s of %s: %s: got id %s and windows: %v, id %s in a list; want id %s and windows: %v",
					x.method, x.folder, params, one.ID, one.Windows != nil, many.Results[0].Result.ID, id,
					strings.Contains(x.fields, "window"))
			}
			for _, w := range one.Windows {
				if w["id"] != nil {
					t.Errorf("a window has id %v, want none", w["id"])
				}
			}
		}
		c.expectError(9, x.method, json.RawMessage(fmt.Sprintf(`{"id":1,%q:[]}`, x.many)), codeParams,
			"id: expected inside each of "+x.many)
	}
}

// TestMemoryOfIDs checks that the id of a sequence counts as memory of its request.
func TestMemoryOfIDs(t *testing.T) {
	for folder, x := range map[string][2]string{
		"pre": {"sequence/embed", `"tokens":[7]`}, "regression": {"sequence/predict", `"tokens":[7]`},
		"tagging": {"sequence/tag", `"tokens":[7]`}, "retrieval": {"retrieval/score", `"tokens_a":[7],"tokens_b":[8]`},
	} {
		o := testOptions(t, folder)
		o.MaxMemory = 150_000
		c := dial(t, startServer(t, o)).initialize(nil)
		c.expectError(1, x[0], json.RawMessage(fmt.Sprintf(`{"id":%q,%s}`, strings.Repeat("x", 100_000), x[1])),
			codeParams,
			"the request exceeds 140625 bytes, 15/16 of --max-memory")
	}
}
