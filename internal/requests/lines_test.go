package requests

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
)

// TestEdgesOfLines checks that a line must have edges if the model reads edges, and must not have edges
// otherwise. The error for missing edges must describe an edge.
func TestEdgesOfLines(t *testing.T) {
	graphs, _ := graphParser(t)
	clouds := NewParser(must.Get(config.Read("../../sft/testdata/golden/clouds/config.json"))(t), "", "f", 1)
	point := "[" + strings.TrimSuffix(strings.Repeat("1,", len(clouds.Config.FeatureNames)), ",") + "]"
	list := "a list of source, target, " + strings.Join(graphs.Config.EdgeFeatureNames, ", ") + " for each edge"
	for _, c := range []struct {
		parser     *Parser
		line, want string
	}{
		{graphs, `{"features":[[1,2],[3,4]],"edges":[[0,1,1,0.5]]}`, ""},
		{graphs, `{"features":[[1,2],[3,4]]}`, "f:3: expected edges, " + list},
		{clouds, `{"features":[` + point + `],"edges":[]}`, "f:3: found edges, but the model does not use edges"},
	} {
		r := c.parser.Parse([]byte(c.line), 3, nil)
		switch {
		case c.want == "" && (r.Failure != nil || len(r.Edges) != 1 || r.Edges[0].Target != 1):
			t.Errorf("%s: got edges %+v, failure %v; want one edge to token 1", c.line, r.Edges, r.Failure)
		case c.want != "" && (r.Failure == nil || r.Failure.Message != c.want):
			t.Errorf("%s: got failure %+v, want %q", c.line, r.Failure, c.want)
		}
	}
}

// TestMemoryOfLines checks that parsing a line allocates at most the memory that MemoryOfLine returns,
// plus four times the line's size, and that the request keeps at most the memory that MemoryOfLine returns.
func TestMemoryOfLines(t *testing.T) {
	cfg := must.Get(config.Read("../../sft/testdata/golden/pre/config.json"))(t)
	cfg.MaxLength = 1 << 20
	words := NewParser(cfg, "", "f", 1)
	graphs, graphConfig := graphParser(t)
	graphConfig.MaxLength = 1 << 20
	const n = 20000
	digits := strings.TrimSuffix(strings.Repeat("1,", n), ",")
	for _, c := range []struct {
		parser *Parser
		line   string
	}{
		{words, `{"text":"` + strings.Repeat("1 ", n) + `"}`},
		{words, `{"\u0074ext":"` + strings.Repeat("1 ", n) + `"}`},
		{words, `{"tokens":[` + digits + `]}`},
		{graphs, `{"features":[` + strings.Repeat("[1,2],",
			n) + `[1,2]],"edges":[` + strings.Repeat("[0,1,1,0.5],", n) + `[1,0,1,1]]}`},
	} {
		name := fmt.Sprintf("%.20s…", c.line)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := c.parser.Parse([]byte(c.line), 1, nil)
		runtime.ReadMemStats(&after)
		if r.Failure != nil {
			t.Errorf("%s: got failure %+v", name, r.Failure)
		}
		counted := c.parser.MemoryOfLine([]byte(c.line))
		if taken := int64(after.TotalAlloc - before.TotalAlloc); taken > counted+4*int64(len(c.line)) {
			t.Errorf("%s: allocated %d bytes, want at most %d plus 4 times the %d of the line", name, taken, counted,
				len(c.line))
		}
		if kept := r.Bytes(); kept > counted {
			t.Errorf("%s: the request keeps %d bytes, want at most %d", name, kept, counted)
		}
	}
}
