package train

import (
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
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// graphFolders lists the golden folders of graph models: "graphs" holds logits and gradients for
// edges with two features, "train_graphs" holds training steps for edges without features.
var graphFolders = map[string]func(c *config.Config){
	"graphs":       func(c *config.Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_graphs": func(c *config.Config) { c.NormPosition, c.EdgeFeatureNames = "post", []string{} },
}

// writeGraphs writes a golden folder with results of the float64 reference.
func writeGraphs(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
	change(c)
	// In these graphs, a query never nearly equals a key in any channel. The gradient of max(q, k)
	// goes to the larger value, and rounding would decide between nearly equal values.
	writeGolden(t, dir, c, configtest.RandomGraphs(c, rand.New(rand.NewPCG(10, 3)), 1, 5, 16, 40, 27),
		modeltest.Reference.ClassificationLoss)
}

// TestGraphLogits compares the logits of random graphs with the reference on every device. Other
// graphs in the batch, and the relative order of edges with different sources, must not change the logits.
func TestGraphLogits(t *testing.T) {
	for _, s := range []struct {
		name   string
		change func(c *config.Config)
	}{
		{"features", func(c *config.Config) {}},
		// Without features only the edges distinguish nodes, and rounding would decide between
		// equal scores. The model therefore samples all nodes.
		{"no features of edges, ones as input", func(c *config.Config) {
			c.EdgeFeatureNames, c.Input,
				c.NumSampledTokens = []string{}, config.OnesInput, 160
		}},
		{"tags", func(c *config.Config) {
			*c = *configtest.GraphConfig(configtest.GoldenConfig(config.Tagging))
			c.NumSampledTokens = 20
		}},
		{"softmax of products", func(c *config.Config) {
			c.Score, c.Probability,
				c.NormPosition = "dot", "softmax", "post"
		}},
	} {
		c := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
		c.NumSampledTokens = 20
		s.change(c)
		c.NumLayers = 2
		m := modeltest.RandomModel(c, 12)
		graphs := configtest.RandomGraphs(c, rand.New(rand.NewPCG(3, 3)), 1, 2, 12, 50, 160, 33, 1)
		var want [][]float64
		for _, e := range graphs {
			if c.Task == config.Tagging {
				want = append(want, modeltest.NewReference(m).TokenLogits(e))
				continue
			}
			logits, _ := modeltest.NewReference(m).Example(e)
			want = append(want, logits)
		}
		configtest.OnEveryDevice(t, []string{s.name}, func(t *testing.T, _ string, device tensor.Device) {
			scorer := must.Get(sft.NewScorer(m, device))(t)
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
					t.Errorf("graph %d alone, edges reordered: outputs %v, error %v; want the logits %v, error <nil>",
						i, alone, err, together[i].Logits)
				}
			}
		})
	}
}

// TestGraphOfManyEdges compares the logits of a graph of 700 nodes and 100,000 edges with the
// reference. Many edges are loops or parallel, and 50 nodes have no edges.
func TestGraphOfManyEdges(t *testing.T) {
	c := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
	c.NumLayers, c.NumSampledTokens = 2, 40
	m, random := modeltest.RandomModel(c, 12), rand.New(rand.NewPCG(8, 8))
	graph := configtest.RandomGraphs(c, random, 700)[0]
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
	want, _ := modeltest.NewReference(m).Example(graph)
	configtest.OnEveryDevice(t, []string{"700"}, func(t *testing.T, _ string, device tensor.Device) {
		got := must.Get(modeltest.NewScorerOf(t, m, device).Examples(t.Context(), []seq.Example{graph}))(t)
		for j, v := range got[0].Logits {
			if !(math.Abs(float64(v)-want[j]) <= 1e-5) {
				t.Errorf("logit %v, expected %v", v, want[j])
			}
		}
	})
}

// TestGraphSymmetry checks that the order of the nodes does not change the logits if the model
// samples all nodes, and that reversing all edges or removing one changes the logits.
func TestGraphSymmetry(t *testing.T) {
	c := configtest.GraphConfig(configtest.GoldenConfig(config.Classification))
	c.NumSampledTokens, c.NumLayers = 64, 2
	m := modeltest.RandomModel(c, 11)
	random := rand.New(rand.NewPCG(5, 5))
	graphs := configtest.RandomGraphs(c, random, 33, 64, 7)
	before := scoreAll(t, m, graphs)
	for _, s := range []struct {
		name string
		move func(e seq.Example) seq.Example
		same bool
	}{
		{"in another order", func(e seq.Example) seq.Example {
			position := random.Perm(len(e.Features))
			moved := seq.Example{Features: make([][]float32, len(e.Features))}
			for i, row := range e.Features {
				moved.Features[position[i]] = row
			}
			for _, edge := range e.Edges {
				edge.Source, edge.Target = int32(position[edge.Source]), int32(position[edge.Target])
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
			t.Errorf("%s: logits differ by %.1e, want at most 1e-5: %t", s.name, worst, s.same)
		}
	}
}

// TestGraphRefusals checks the errors for malformed edges, and for records and initial models with
// different edge features. A window keeps only the edges between its nodes.
func TestGraphRefusals(t *testing.T) {
	c := configtest.GraphConfig(configtest.TinyConfig())
	m, other, none := modeltest.RandomModel(c, 1), *c, *c
	other.EdgeFeatureNames = []string{"length", "order"}
	none.EdgeFeatureNames, none.Relative = nil, config.NoRelation
	_, copied := sft.NewModel(&other, 2).CopyFrom(m)
	_, without := sft.NewModel(&none, 2).CopyFrom(m)
	schema := (&seq.Spec{Task: config.Classification, FeatureNames: c.FeatureNames,
		EdgeFeatureNames: []string{}}).Schema()
	record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[]`)))(t)
	_, scored := modeltest.NewTestScorer(t, m).Score(t.Context(), record)
	_, embedded := modeltest.NewTestScorer(t, m).Embed(t.Context(), record)
	rows := [][]float32{{1, 2}, {3, 4}}
	inf := float32(math.Inf(1))
	check := func(c *config.Config, edges ...seq.Edge) error {
		return c.CheckExample(seq.Example{Features: rows, Edges: edges})
	}
	for _, x := range []struct {
		err  error
		want string
	}{
		{scored, `the record: expected the edge features ["order" "length"] of the model, found []`},
		{embedded, "the record: expected the edge features"},
		{copied, "of the model, found"}, {without, "found edges, but the model does not use edges"},
		{check(c, seq.Edge{Target: 2, Features: rows[0]}), "edge 0 connects tokens 0 and 2, expected tokens from 0 to 1"},
		{check(c, seq.Edge{Features: rows[0]}, seq.Edge{Source: -1, Features: rows[0]}), "edge 1 connects tokens -1 and 0"},
		{check(c, seq.Edge{}), "edge 0 has 0 features, expected 2: order, length"},
		{check(c, seq.Edge{Features: []float32{1, inf}}), "edge 0: length is +Inf"},
		{check(&none, seq.Edge{}), "found edges, but the model does not use edges"},
		{configtest.TinyConfig().CheckExample(seq.Example{A: []int32{1}, Edges: []seq.Edge{{}}}),
			"found edges, but the model does not use edges"},
	} {
		if x.err == nil || !strings.Contains(x.err.Error(), x.want) {
			t.Errorf("error %v, expected %q", x.err, x.want)
		}
	}
	must.Check(t, check(c), "a graph without edges")
	read, edges, err := func() ([][]float32, []seq.Edge, error) {
		c := *c
		c.InputWindow = &config.InputWindow{Length: 1, Policy: "head"}
		return c.WindowGraph(rows, []seq.Edge{{Features: rows[0]}, {Target: 1, Features: rows[0]}})
	}()
	if err != nil || len(read) != 1 || len(edges) != 1 {
		t.Errorf("a window reads %v with edges %v, error %v; want one node with one edge", read, edges, err)
	}
}
