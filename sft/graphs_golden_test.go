package sft

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// graphFolders are of models of graphs: the logits and the gradient of one whose edges have two
// features, and training steps of one whose edges have none.
var graphFolders = map[string]func(c *Config){
	"graphs":       func(c *Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_graphs": func(c *Config) { c.NormPosition, c.EdgeFeatureNames = "post", []string{} },
}

// graphConfig makes a configuration one of graphs.
func graphConfig(c *Config) *Config {
	c.VocabSize, c.PadTokenID, c.Relative, c.Tokenizer = 0, nil, EdgeRelation, featureTokenizer
	c.FeatureNames, c.EdgeFeatureNames = []string{"mass", "charge"}, []string{"order", "length"}
	return c
}

// randomGraphs are graphs of so many tokens each, of which some have no edges, some one to
// themselves, and some several of one source and target. Every fourth graph has no edges at all.
func randomGraphs(c *Config, random *rand.Rand, lengths ...int) (out []seq.Example) {
	number := func() float32 { return float32(0.7 * random.NormFloat64()) }
	for i, n := range lengths {
		e := seq.Example{Index: uint32(i), Label: int32(i % c.NumLabels), Edges: []seq.Edge{}}
		for range n {
			row := make([]float32, len(c.FeatureNames))
			for j := range row {
				row[j] = number()
			}
			e.Features = append(e.Features, row)
		}
		for at := 0; i%4 != 3 && at < 2*n; at++ {
			edge := seq.Edge{Source: random.Int32N(int32(n)), Target: random.Int32N(int32(n+1) / 2)}
			switch at % 8 {
			case 0:
				edge.Target = edge.Source
			case 1: // a second time
				edge.Source, edge.Target = e.Edges[at-1].Source, e.Edges[at-1].Target
			}
			for range c.EdgeFeatureNames {
				edge.Features = append(edge.Features, number())
			}
			e.Edges = append(e.Edges, edge)
		}
		out = append(out, e)
	}
	return out
}

// writeGraphs writes a golden folder with what the reference computes in float64.
func writeGraphs(t *testing.T, dir string, change func(c *Config)) {
	c := graphConfig(goldenConfig(Classification))
	change(c)
	// Of these graphs no query has, in a channel, nearly the key's value: the gradient of their maximum,
	// which goes to one of them, rounding would give to the other.
	writeGolden(t, dir, c, randomGraphs(c, rand.New(rand.NewPCG(10, 3)), 1, 5, 16, 40, 27),
		reference.classificationLoss)
}

// pairsOf are the features of all pairs of tokens: 0 where there is no edge, and a sum where there
// are several.
func pairsOf(c *Config, e seq.Example) (a [][][]float64) {
	n := len(c.EdgeFeatureNames) + 1
	for range e.Features {
		row := make([][]float64, len(e.Features))
		for t := range row {
			row[t] = make([]float64, n)
		}
		a = append(a, row)
	}
	for _, edge := range e.Edges {
		pair := a[edge.Source][edge.Target]
		for c, v := range edge.Features {
			pair[c] += float64(v)
		}
		pair[n-1]++
	}
	return a
}

// edgeBias is Rmul and Radd of a query and a duplet, from the features of all pairs.
func (r reference) edgeBias(name string, head, i int, s duplet) (mul, add float64) {
	linear := func(kind string, t int) float64 {
		w := r.weights[name+"attn."+kind+".weight"]
		z, a := r.weights[name+"attn."+kind+".bias"][head], r.pairs[i][t]
		for c, v := range a {
			z += w[head*len(a)+c] * v
		}
		return z
	}
	mul, add = s.p*softplus64(linear("rel_mul", s.top)), s.p*linear("rel_add", s.top)
	if s.partner >= 0 {
		mul += (1 - s.p) * softplus64(linear("rel_mul", s.partner))
		add += (1 - s.p) * linear("rel_add", s.partner)
	}
	return mul, add
}

// TestGraphLogits: random graphs have the reference's logits on every device, whatever else is
// in their batch and in whatever order their edges are.
func TestGraphLogits(t *testing.T) {
	for _, s := range []struct {
		name   string
		change func(c *Config)
	}{
		{"features", func(c *Config) {}},
		// Nodes are alike up to their edges then, and rounding would choose among them: all are sampled.
		{"no features of edges, ones as input", func(c *Config) {
			c.EdgeFeatureNames, c.Input,
				c.NumSampledTokens = []string{}, OnesInput, 160
		}},
		{"tags", func(c *Config) { *c = *graphConfig(goldenConfig(Tagging)); c.NumSampledTokens = 20 }},
		{"softmax of products", func(c *Config) { c.Score, c.Probability, c.NormPosition = "dot", "softmax", "post" }},
	} {
		c := graphConfig(goldenConfig(Classification))
		c.NumSampledTokens = 20
		s.change(c)
		c.NumLayers = 2
		m := randomModel(c, 12)
		graphs := randomGraphs(c, rand.New(rand.NewPCG(3, 3)), 1, 2, 12, 50, 160, 33, 1)
		var want [][]float64
		for _, e := range graphs {
			if c.Task == Tagging {
				want = append(want, newReference(m).tokenLogits(e))
				continue
			}
			logits, _ := newReference(m).example(e)
			want = append(want, logits)
		}
		onEveryDevice(t, []string{s.name}, func(t *testing.T, _ string, device tensor.Device) {
			scorer := must.Get(NewScorer(m, device))(t)
			together := must.Get(scorer.Examples(t.Context(), graphs))(t)
			for i, e := range graphs {
				for j, v := range together[i].Logits {
					if !(math.Abs(float64(v)-want[i][j]) <= 1e-5) {
						t.Errorf("graph %d: logit %v, expected %v", i, v, want[i][j])
					}
				}
				e.Edges = slices.Clone(e.Edges)
				slices.SortStableFunc(e.Edges, func(a, b seq.Edge) int { return int(a.Source%5) - int(b.Source%5) })
				alone, err := scorer.Examples(t.Context(), []seq.Example{e})
				if err != nil || !slices.Equal(alone[0].Logits, together[i].Logits) {
					t.Errorf("graph %d: alone %v, %v, with others %v", i, alone, err, together[i].Logits)
				}
			}
		})
	}
}

// TestGraphOfManyEdges: 100,000 edges among 700 tokens, many of them to a token itself or between the
// same two, with 50 tokens that have none, give the logits of the dense definition.
func TestGraphOfManyEdges(t *testing.T) {
	c := graphConfig(goldenConfig(Classification))
	c.NumLayers, c.NumSampledTokens = 2, 40
	m, random := randomModel(c, 12), rand.New(rand.NewPCG(8, 8))
	graph := randomGraphs(c, random, 700)[0]
	graph.Edges = graph.Edges[:0]
	for len(graph.Edges) < 100_000 {
		edge := seq.Edge{Source: random.Int32N(650), Target: random.Int32N(650)}
		if random.IntN(50) == 0 {
			edge.Target = edge.Source
		}
		for range c.EdgeFeatureNames {
			edge.Features = append(edge.Features, float32(0.5*random.NormFloat64()))
		}
		graph.Edges = append(graph.Edges, edge)
	}
	want, _ := newReference(m).example(graph)
	onEveryDevice(t, []string{"700"}, func(t *testing.T, _ string, device tensor.Device) {
		got := must.Get(newScorerOf(t, m, device).Examples(t.Context(), []seq.Example{graph}))(t)
		for j, v := range got[0].Logits {
			if !(math.Abs(float64(v)-want[j]) <= 1e-5) {
				t.Errorf("logit %v, expected %v", v, want[j])
			}
		}
	})
}

// TestGraphSymmetry: a graph has the same answer if its tokens are in another order, where all of
// them are sampled. Edges that lead elsewhere, or the other way, change it.
func TestGraphSymmetry(t *testing.T) {
	c := graphConfig(goldenConfig(Classification))
	c.NumSampledTokens, c.NumLayers = 64, 2
	m := randomModel(c, 11)
	random := rand.New(rand.NewPCG(5, 5))
	graphs := randomGraphs(c, random, 33, 64, 7)
	before := scoreAll(t, m, graphs)
	for _, s := range []struct {
		name string
		move func(e seq.Example) seq.Example
		same bool
	}{
		{"in another order", func(e seq.Example) seq.Example {
			place := random.Perm(len(e.Features))
			moved := seq.Example{Features: make([][]float32, len(e.Features))}
			for i, row := range e.Features {
				moved.Features[place[i]] = row
			}
			for _, edge := range e.Edges {
				edge.Source, edge.Target = int32(place[edge.Source]), int32(place[edge.Target])
				moved.Edges = append(moved.Edges, edge)
			}
			return moved
		}, true},
		{"reversed", func(e seq.Example) seq.Example {
			e.Edges = slices.Clone(e.Edges)
			for i := range e.Edges {
				e.Edges[i].Source, e.Edges[i].Target = e.Edges[i].Target, e.Edges[i].Source
			}
			return e
		}, false},
		{"without one edge", func(e seq.Example) seq.Example { e.Edges = e.Edges[1:]; return e }, false},
	} {
		var moved []seq.Example
		for _, e := range graphs {
			moved = append(moved, s.move(e))
		}
		after, worst := scoreAll(t, m, moved), 0.0
		for i := range before {
			for j, v := range before[i] {
				worst = max(worst, math.Abs(float64(v-after[i][j])))
			}
		}
		if (worst <= 1e-5) != s.same {
			t.Errorf("%s: logits differ by %.1e", s.name, worst)
		}
	}
}

// TestGraphRefusals: edges that the model cannot read are refused, and models of other edges.
func TestGraphRefusals(t *testing.T) {
	c := graphConfig(tinyConfig())
	m, other, none := randomModel(c, 1), *c, *c
	other.EdgeFeatureNames = []string{"length", "order"}
	none.EdgeFeatureNames, none.Relative = nil, NoRelation
	_, copied := NewModel(&other, 2).CopyFrom(m)
	_, without := NewModel(&none, 2).CopyFrom(m)
	schema := (&seq.Spec{Task: Classification, FeatureNames: c.FeatureNames, EdgeFeatureNames: []string{}}).Schema()
	record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[]`)))(t)
	_, scored := newTestScorer(t, m).Score(t.Context(), record)
	_, embedded := newTestScorer(t, m).Embed(t.Context(), record)
	rows := [][]float32{{1, 2}, {3, 4}}
	inf := float32(math.Inf(1))
	check := func(c *Config, edges ...seq.Edge) error {
		return c.CheckExample(seq.Example{Features: rows, Edges: edges})
	}
	for _, x := range []struct {
		err  error
		want string
	}{
		{scored, `the record: the features of its edges are [], the model's ["order" "length"]`},
		{embedded, "the record: the features of its edges"},
		{copied, "the features of its edges are"}, {without, "it has edges, the model knows none"},
		{check(c, seq.Edge{Target: 2, Features: rows[0]}), "edge 0 is from 0 to 2, of tokens 0 to 1"},
		{check(c, seq.Edge{Features: rows[0]}, seq.Edge{Source: -1, Features: rows[0]}), "edge 1 is from -1 to 0"},
		{check(c, seq.Edge{}), "edge 0 has 0 features, expected 2: order, length"},
		{check(c, seq.Edge{Features: []float32{1, inf}}), "edge 0: length is +Inf"},
		{check(&none, seq.Edge{}), "edges, but the model knows none"},
		{tinyConfig().CheckExample(seq.Example{A: []int32{1}, Edges: []seq.Edge{{}}}),
			"edges, but the model knows none"},
	} {
		if x.err == nil || !strings.Contains(x.err.Error(), x.want) {
			t.Errorf("error %v, expected %q", x.err, x.want)
		}
	}
	must.Check(t, check(c), "a graph without edges")
	read, edges, err := func() ([][]float32, []seq.Edge, error) {
		c := *c
		c.InputWindow = &InputWindow{Length: 1, Policy: "head"}
		return c.WindowGraph(rows, []seq.Edge{{Features: rows[0]}, {Target: 1, Features: rows[0]}})
	}()
	if err != nil || len(read) != 1 || len(edges) != 1 {
		t.Errorf("a window reads %v, %v, %v", read, edges, err)
	}
}

// TestGraphConfig: what cannot be is refused with its key, and data describe their models.
func TestGraphConfig(t *testing.T) {
	for _, s := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Relative = NoRelation }, ""},
		{func(c *Config) { c.EdgeFeatureNames = []string{} }, ""},
		{func(c *Config) { c.EdgeFeatureNames = nil }, "relative: edges, expected another one: there are no edges"},
		{func(c *Config) { c.EdgeFeatureNames = []string{"a", "a"} }, `edge_feature_names: "a" occurs twice`},
		{func(c *Config) { *c = *tinyConfig(); c.EdgeFeatureNames = []string{} },
			"edge_feature_names: [], expected none: tokens have no features"},
	} {
		c := graphConfig(tinyConfig())
		s.change(c)
		if got := fmt.Sprint(c.Validate()); !strings.HasPrefix(got, s.want) || (s.want == "") != (got == "<nil>") {
			t.Errorf("%s, expected %s", got, s.want)
		}
	}
	for _, names := range [][]string{{}, {"order"}} {
		c := tinyConfig()
		c.Task = ""
		err := c.DescribeData(seq.Spec{Task: Classification, LabelNames: []string{"a", "b"},
			FeatureNames: []string{"x", "y", "z"}, EdgeFeatureNames: names})
		if err != nil || c.Relative != EdgeRelation || !c.Edged() {
			t.Errorf("%+v, %v", c, err)
		}
		text := must.Get(json.Marshal(c))(t)
		if again, err := ParseConfig(text); err != nil || !again.Edged() ||
			!slices.Equal(again.EdgeFeatureNames, names) {
			t.Errorf("%+v, %v", again, err)
		}
	}
}

// TestGraphMemory: memory is planned for graphs with many edges.
func TestGraphMemory(t *testing.T) {
	c := graphConfig(goldenConfig(Classification))
	dense := randomGraphs(c, rand.New(rand.NewPCG(7, 7)), 60)[0]
	for len(dense.Edges) < 60*60 {
		dense.Edges = append(dense.Edges, dense.Edges[len(dense.Edges)%100])
	}
	if n := plannedLength(dense); n != 60*60/plannedEdges {
		t.Errorf("planned as %d tokens", n)
	}
	if passes := forwardPasses([]seq.Example{dense, dense, dense}, 1000); len(passes) != 2 {
		t.Errorf("%d passes, expected two graphs in the first of two", len(passes))
	}
	words := func(edges int) int {
		return must.Get(passWords(c, NewParameters(c), nil, trainMode, 1000, 10, edges))(t)
	}
	if few, many := words(1024), words(1024+4096); many-few != 4096*(1+len(c.EdgeFeatureNames)+1) {
		t.Errorf("4096 edges more take %d words", many-few)
	}
}
