package requests

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
)

// FuzzRequest parses lines for a model that reads tokens and for a model that reads graphs. A request must be
// valid for its model, or have a failure whose message starts with the file and the line number. Tokens
// must equal those that encoding/json reads.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		`{"id":7,"tokens":[12,3,10,15]}`, `{"id":"b","text":"[MAX 2 9 ]","x":[{}]}`,
		`{"tokens":[1,1e3]}`, `{"tokens":[ 1 , 2 ]}`,
		`{"tokens":[]}`, `{"tokens":[1,"2,3"]}`, `{"tokens":[[1,2]]}`, `{"tokens":[-0]}`, `{"tokens":[4294967297]}`,
		`{"tokens":null,"text":"1"}`,
		`{"tokens":[1],"tokens":[2]}`, `{"tokens_a":[1],"tokens_b":[2]}`, `{"id":{"a":[1]},"tokens":[1]}`, `[`, `{`,
		`null`, "\xff", "{\"text\":\"\\ud800\"}",
		"{\"tokens\":[1]}\x00", `{"tokens":[0]}`, `{"label":1.5,"tokens":[1]}`,
		`{"features":[[1.5,0],[2,-1e3]],"edges":[[0,1,1,0.5],[1,1,0,0]]}`, `{"features":[[1,2]],"edges":[]}`,
		`{"features":[[1,null]],"edges":[[0,7,1,1]]}`,
	} {
		f.Add([]byte(line))
	}
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(f)
	graphs := must.Get(config.Read("../../sft/testdata/golden/graphs/config.json"))(f)
	p, q := NewParser(cfg, "", "f", 1), NewParser(graphs, "", "f", 1)
	f.Fuzz(func(t *testing.T, line []byte) {
		defer testenv.FuzzLimits(t, 1<<20+1500*len(line))()
		g := q.Parse(line, 5, nil)
		switch {
		case g.Failure != nil:
			if g.Features != nil || g.Edges != nil || !strings.HasPrefix(g.Failure.Message, "f:5: ") {
				t.Fatalf("got %+v, failure %+v, want no features or edges and a message that starts with %q", g,
					g.Failure, "f:5: ")
			}
		case graphs.CheckExample(g.Example()) != nil || g.Lengths[0] != len(g.Features):
			t.Fatalf("got graph %+v, error %v; want a valid graph of length %d", g, graphs.CheckExample(g.Example()),
				len(g.Features))
		case g.Bytes() > q.MemoryOfLine(line):
			t.Fatalf("Bytes() = %d, want at most %d", g.Bytes(), q.MemoryOfLine(line))
		}
		r := p.Parse(line, 5, nil)
		if !json.Valid(r.ID) {
			t.Fatalf("got id %q, want valid JSON", r.ID)
		}
		if r.Failure != nil {
			if r.Sequences != nil || !strings.HasPrefix(r.Failure.Message, "f:5: ") ||
				!slices.Contains([]int{CodeParse, CodeRequest, CodeParams}, r.Failure.Code) {
				t.Fatalf("got %+v, failure %+v, want no sequences, a known code and a message that starts with %q", r,
					r.Failure, "f:5: ")
			}
			return
		}
		if len(r.Sequences) != 1 || r.Lengths[0] != len(r.Sequences[0]) {
			t.Fatalf("got %+v, want one sequence", r)
		}
		must.Succeed(t, cfg.CheckTokens(r.Sequences[0]))
		var want map[string]json.RawMessage
		must.Succeed(t, json.Unmarshal(line, &want))
		var tokens []int32
		if json.Unmarshal(want["tokens"], &tokens) == nil && tokens != nil && !slices.Equal(tokens, r.Sequences[0]) {
			t.Fatalf("got tokens %v, want %v", r.Sequences[0], tokens)
		}
		if label, err := ParseLabel(cfg, r.Label); err == nil && (label < 0 || label > 9) {
			t.Fatalf("got label %d, want 0 to 9", label)
		}
	})
}
