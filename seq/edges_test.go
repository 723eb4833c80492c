package seq

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

func graphSpec() Spec {
	return Spec{Task: Classification, LabelNames: []string{"ring", "tree"}, FeatureNames: []string{"mass", "charge"},
		EdgeFeatureNames: []string{"order"}}
}

// graphs returns n rows with random edges. Every third row has no edges. The parameter longest is the
// maximum number of tokens in a row.
func graphs(spec Spec, n, longest int) (out []Example) {
	random := rand.New(rand.NewPCG(uint64(n), 2))
	for i := range n {
		e := Example{Index: uint32(i), Label: int32(i % 2), Edges: []Edge{}}
		nodes := 1 + random.IntN(longest)
		for range nodes {
			e.Features = append(e.Features, []float32{float32(i), random.Float32()})
		}
		for range min(i%3, 1) * random.IntN(3*nodes) {
			edge := Edge{Source: int32(random.IntN(nodes)), Target: int32(random.IntN(nodes))}
			for range spec.EdgeFeatureNames {
				edge.Features = append(edge.Features, random.Float32())
			}
			e.Edges = append(e.Edges, edge)
		}
		out = append(out, e)
	}
	return out
}

// TestEdges checks that edges are read back unchanged, with and without features, in both formats
// and by random access. A window keeps the edges among its tokens.
func TestEdges(t *testing.T) {
	for _, names := range [][]string{{}, {"order"}, {"order", "ring"}} {
		spec := graphSpec()
		spec.EdgeFeatureNames = names
		want := graphs(spec, 300, 40)
		// EdgesPerToken counts at most one edge in a row of one token.
		loops := Example{Index: 300, Features: [][]float32{{1, 2}}}
		for range 50 {
			loops.Edges = append(loops.Edges, Edge{Features: make([]float32, len(names))})
		}
		if len(names) == 0 {
			for i := range loops.Edges {
				loops.Edges[i].Features = nil
			}
		}
		want = append(want, loops)
		for _, format := range []Format{FileFormat, StreamFormat} {
			got, gotSpec, err := readAll(bytes.NewReader(encode(t, want, spec, format)))
			if err != nil || len(got) != len(want) || !reflect.DeepEqual(*gotSpec, spec) {
				t.Fatalf("%q, format %v: %d rows, specification %+v, error %v, want %d rows, %+v", names, format,
					len(got), gotSpec, err, len(want), spec)
			}
			for i := range got {
				if !equalRows(got[i], want[i]) {
					t.Fatalf("%q, format %v: row %d: %+v, want %+v", names, format, i, got[i], want[i])
				}
			}
		}
		d := trainingSplit(t, spec, want)
		for _, window := range []int{0, 7} {
			f := must.Get(d.OpenWindow("train", Window{Length: window}))(t)
			defer f.Close()
			density := 0.0
			for i, read := range want {
				if window > 0 {
					var edges []Edge
					for _, edge := range read.Edges {
						if int(edge.Source) < window && int(edge.Target) < window {
							edges = append(edges, edge)
						}
					}
					read.Features, read.Edges = read.Features[:min(window, len(read.Features))], edges
				}
				e, err := f.Example(i)
				if err != nil || len(e.Edges) != len(read.Edges) || len(e.Edges) > 0 &&
					!reflect.DeepEqual(e.Edges, read.Edges) {
					t.Fatalf("window %d: row %d: %+v, want %+v; error %v", window, i, e, read, err)
				}
				n := len(read.Features)
				// EdgesPerToken counts at most n² edges in a row of n tokens.
				density = max(density, float64(min(len(read.Edges), n*n))/float64(n))
			}
			if got := f.EdgesPerToken(); got != int(math.Ceil(density)) {
				t.Errorf("window %d: %d edges per token, want %v rounded up", window, got, density)
			}
		}
		d.Manifest.EdgeFeatureNames = nil
		must.Fail(t, "expected edges with the features none as stated",
			"edges that the manifest does not state")(d.Open("train"))
	}
}

// TestLargeGraph checks that random access reads a row of 100,000 nodes and a million edges
// unchanged.
func TestLargeGraph(t *testing.T) {
	testenv.Long(t, "stores a million edges")
	const nodes, edges = 100_000, 1_000_000
	spec, random := graphSpec(), rand.New(rand.NewPCG(1, 2))
	e := Example{Features: make([][]float32, nodes), Edges: make([]Edge, edges)}
	for i := range e.Features {
		e.Features[i] = []float32{random.Float32(), float32(i)}
	}
	for i := range e.Edges {
		e.Edges[i] = Edge{Source: random.Int32N(nodes), Target: random.Int32N(nodes),
			Features: []float32{random.Float32()}}
	}
	f := must.Get(trainingSplit(t, spec, []Example{e}).Open("train"))(t)
	defer f.Close()
	got, err := f.Example(0)
	if err != nil || !equalRows(got, e) || f.EdgesPerToken() != edges/nodes {
		t.Errorf("%d nodes, %d edges, %d edges per token, error %v; want the written row with %d, %d and %d",
			len(got.Features), len(got.Edges), f.EdgesPerToken(), err, nodes, edges, edges/nodes)
	}
}

// TestEdgesRelabelled checks that renaming labels works in a file whose label column follows
// columns of edges.
func TestEdgesRelabelled(t *testing.T) {
	spec := graphSpec()
	spec.LabelNames = nil
	var out bytes.Buffer
	w := must.Get(NewWriter(&out, spec, FileFormat))(t)
	record := must.Get(recordOf(t, encode(t, graphs(spec, 4, 5), spec, FileFormat)))(t)
	must.Succeed(t, w.writeRelabeled(record, func(label int32) int32 { return label + 3 }))
	must.Succeed(t, w.Close())
	rows, _, err := readAll(bytes.NewReader(out.Bytes()))
	if err != nil || len(rows) != 4 || rows[0].Label != 3 || rows[1].Label != 4 || len(rows[1].Edges) == 0 {
		t.Errorf("rows %+v, error %v; want labels 3 and 4, and edges in row 1", rows, err)
	}
}

// recordOf returns the first record of a file in memory.
func recordOf(t *testing.T, data []byte) (arrow.Record, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), "x.arrow")
	if err != nil {
		return nil, err
	}
	rows, err := r.Next()
	if err != nil {
		return nil, err
	}
	return rows.Record(), nil
}

// TestWriteEdges checks that a block refuses edges that a reader would refuse, and accepts valid
// edges.
func TestWriteEdges(t *testing.T) {
	spec := graphSpec()
	good := graphs(spec, 2, 9)[1]
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		spec   Spec
		change func(e *Example)
		want   string
	}{
		{spec, func(e *Example) { e.Edges[0].Source = -1 },
			"column edges: index 0, source: expected a node from 0 to"},
		{spec, func(e *Example) { e.Edges[1].Target = int32(len(e.Features)) },
			"column edges: index 1, target: expected a node from 0 to"},
		{spec, func(e *Example) { e.Edges[0].Features = nil },
			"column edges: index 0: expected 1 features of the edge, found 0"},
		{spec, func(e *Example) { e.Edges[0].Features = []float32{inf} },
			`column edges: index 0, "order": expected a finite number, found +Inf`},
		{cloudSpec(), func(e *Example) { e.Features = [][]float32{{1, 2, 3, 4}} },
			"column edges: expected no edges without edge_feature_names"},
	} {
		e := good
		e.Edges = append([]Edge{}, good.Edges...)
		c.change(&e)
		must.Fail(t, c.want, e)(NewBlock(&c.spec).Append(e))
	}
	b := NewBlock(&spec)
	if err := b.Append(good); err != nil || b.Rows() != 1 {
		t.Errorf("error %v, %d rows; want 1 row", err, b.Rows())
	}
}

// TestForeignEdges checks that files of other programs with other types are read if the types can
// hold edges. Otherwise the error states the location.
func TestForeignEdges(t *testing.T) {
	i32, f32 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float32
	features := arrow.Field{Name: "features", Type: arrow.ListOf(arrow.FixedSizeListOf(1, f32))}
	pairs, lists := arrow.ListOf(arrow.FixedSizeListOf(2, i32)), arrow.ListOf(arrow.ListOf(i32))
	columns := func(edges arrow.DataType, more ...arrow.Field) []arrow.Field {
		return append([]arrow.Field{features, {Name: "edges", Type: edges, Nullable: true}}, more...)
	}
	numbers := arrow.Field{Name: "edge_features", Type: arrow.ListOf(arrow.FixedSizeListOf(1, f32)), Nullable: true}
	plain := map[string]string{"feature_names": `["a"]`, "edge_feature_names": `[]`}
	named := map[string]string{"feature_names": `["a"]`, "edge_feature_names": `["w"]`}
	row := func(edges, more string) string {
		return `[{"features":[[1]],"edges":[],"edge_features":[]},{"features":[[1],[2]],"edges":` + edges + more + `}]`
	}
	for _, c := range []struct {
		fields []arrow.Field
		meta   map[string]string
		json   string
		want   string // the error, or the edges of the rows
	}{
		{columns(pairs), plain, row(`[[0,1],[1,1]]`, ""), "[] [{0 1 []} {1 1 []}]"},
		{columns(lists), plain, row(`[[0,1],[1,1]]`, ""), "[] [{0 1 []} {1 1 []}]"},
		{columns(lists), plain, row(`[]`, ""), "[] []"},
		{columns(pairs, numbers), named, row(`[[0,1],[1,1]]`, `,"edge_features":[[0.5],[2]]`),
			"[] [{0 1 [0.5]} {1 1 [2]}]"},
		{columns(pairs), map[string]string{"feature_names": `["a"]`}, `[]`,
			"column edges: schema metadata: edge_feature_names: expected a name for each feature of an edge, found none"},
		{columns(pairs, numbers), plain, `[]`, "column edge_features: schema metadata: edge_feature_names"},
		{columns(pairs), named, `[]`, "column edge_features is missing: edge_feature_names requires it"},
		{[]arrow.Field{features}, plain, `[]`, "column edges is missing: edge_feature_names requires it"},
		{columns(pairs, arrow.Field{Name: "edges", Type: pairs}), plain, `[]`,
			"column edges: expected once, found 2 times"},
		{columns(arrow.ListOf(arrow.FixedSizeListOf(3, i32))), plain, `[]`,
			"column edges: expected list<fixed_size_list<int32>[2]> or list<list<int32>>, found list"},
		{columns(arrow.ListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64))), plain, `[]`,
			"column edges: expected list<fixed_size_list<int32>[2]>"},
		{columns(pairs, arrow.Field{Name: "edge_features", Type: arrow.ListOf(f32)}), named, `[]`,
			"column edge_features: expected list<fixed_size_list<float32>[1]>"},
		{columns(pairs), map[string]string{"edge_feature_names": `[]`}, `[]`,
			"edge_feature_names requires feature_names"},
		{columns(pairs), map[string]string{"feature_names": `["a"]`, "edge_feature_names": `null`}, `[]`,
			"edge_feature_names: expected a JSON list of strings, found \"null\""},
		{columns(pairs), map[string]string{"feature_names": `["a"]`, "edge_feature_names": `["w","w"]`}, `[]`,
			`edge_feature_names: expected distinct names, found "w" twice`},
		{columns(pairs), plain, row(`[[0,1],[2,1]]`, ""),
			"row 1, column edges, index 1, source: expected a node from 0 to 1, found 2"},
		{columns(pairs), plain, row(`[[0,-1]]`, ""),
			"row 1, column edges, index 0, target: expected a node from 0 to 1, found -1"},
		{columns(pairs), plain, row(`null`, ""), "row 1, column edges: expected a list of edges, found null"},
		{columns(pairs), plain, row(`[[0,1],null]`, ""), "row 1, column edges, index 1: expected an edge, found null"},
		{columns(pairs), plain, row(`[[0,null]]`, ""),
			"row 1, column edges, index 0, target: expected a finite number, found null"},
		{columns(lists), plain, row(`[[0,1],[1]]`, ""), "row 1, column edges, index 1: expected 2 numbers, found 1"},
		{columns(pairs, numbers), named, row(`[[0,1],[1,1]]`, `,"edge_features":[[0.5]]`),
			"row 1, column edge_features: expected features for 2 edges, found features for 1"},
		{columns(pairs, numbers), named, row(`[[0,1]]`, `,"edge_features":[[null]]`),
			`row 1, column edge_features, index 0, "w": expected a finite number, found null`},
	} {
		metadata := arrow.MetadataFrom(c.meta)
		got := ""
		rows, _, err := readAll(bytes.NewReader(foreignStream(t, arrow.NewSchema(c.fields, &metadata), c.json)))
		if err != nil {
			got = err.Error()
		} else {
			var edges []string
			for _, e := range rows {
				edges = append(edges, fmt.Sprint(e.Edges))
			}
			got = strings.Join(edges, " ")
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v %v %s: %s, want %q", c.fields, c.meta, c.json, got, c.want)
		}
	}
}

// TestSlicedEdges checks that a slice of a record has the edges of its rows.
func TestSlicedEdges(t *testing.T) {
	spec := graphSpec()
	want := graphs(spec, 9, 6)
	whole := must.Get(recordOf(t, encode(t, want, spec, FileFormat)))(t)
	r := must.Get(RowsOf(whole.NewSlice(4, 8), &spec))(t)
	for i := range r.Len() {
		if got := r.Edges(i); !reflect.DeepEqual(got, want[4+i].Edges) {
			t.Errorf("row %d: %v, want %v", i, got, want[4+i].Edges)
		}
	}
}

// BenchmarkGraphs measures random access to graphs of 1,024 tokens with ten edges per token. After
// the first iteration the graphs are in the cache.
func BenchmarkGraphs(b *testing.B) {
	spec := graphSpec()
	spec.EdgeFeatureNames = []string{"length"}
	random := rand.New(rand.NewPCG(1, 5))
	const nodes, rows = 1024, 64
	var written []Example
	for i := range rows {
		e := Example{Index: uint32(i)}
		for range nodes {
			e.Features = append(e.Features, []float32{random.Float32(), random.Float32()})
		}
		for range 10 * nodes {
			e.Edges = append(e.Edges, Edge{Source: random.Int32N(nodes), Target: random.Int32N(nodes),
				Features: []float32{random.Float32()}})
		}
		written = append(written, e)
	}
	f := must.Get(trainingSplit(b, spec, written).Open("train"))(b)
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		for i := range rows {
			if _, err := f.Example(i); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows*10*nodes), "ns/edge")
}
