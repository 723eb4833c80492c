package lra

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// GraphsName is the name of data sets of [GenerateGraphs].
const GraphsName = "graphs"

// GraphsOptions configure GenerateGraphs.
type GraphsOptions struct {
	Train, Val, Test int // graphs per split; a split without graphs is not written
	Nodes            int // maximum number of nodes; each graph has an even number, at least 2⌊Nodes/4⌋
	Degree           int // average number of undirected edges that a node has
	Seed             uint64
	Replace          bool             // true allows replacing a complete data set
	Progress         func(rows int64) // called with the number of rows added since the last call; may be nil
}

// UsualGraphs are the default options.
var UsualGraphs = GraphsOptions{Train: 2000, Val: 400, Test: 400, Nodes: 32, Degree: 4}

// maxNodes is the maximum of GraphsOptions.Nodes.
const maxNodes = 1 << 20

// graphClasses lists the labels, each with the expected percentage of edges that join two nodes of the
// same kind.
var graphClasses = []struct {
	name  string
	alike int
}{{"like", 80}, {"mixed", 50}, {"unlike", 20}}

// Validate returns an error if the options are invalid or request no graph.
func (o *GraphsOptions) Validate() error {
	switch {
	case o.Nodes < 8 || o.Nodes > maxNodes:
		return fmt.Errorf("expected 8 to %d nodes, found %d", maxNodes, o.Nodes)
	case o.Degree < 1 || o.Degree > o.Nodes/8:
		return fmt.Errorf("expected a degree of 1 to an eighth of the %d nodes, found %d", o.Nodes, o.Degree)
	}
	return o.generator().check()
}

// generator returns the generator of the data set that the options describe.
func (o *GraphsOptions) generator() *splitGenerator {
	return &splitGenerator{o.Train, o.Val, o.Test, o.Replace, o.Progress, o.graph}
}

// GenerateGraphs writes a data set of graphs. Half of a graph's nodes are of one kind, half of a
// second kind. The label states how often an edge joins nodes of the same kind: mostly (like), half of
// the time (mixed) or seldom (unlike). The nodes alone are independent of the label. For given nodes and
// degree, a row is a function of the seed, the split and the row's index.
func GenerateGraphs(ctx context.Context, dir string, o GraphsOptions) (*seq.Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", GraphsName, err)
	}
	return o.generator().write(ctx, dir, graphsSpec(), map[string]any{"generator": GraphsName, "seed": o.Seed,
		"nodes": o.Nodes, "degree": o.Degree})
}

// graphsSpec returns the specification of the files.
func graphsSpec() seq.Spec {
	spec := seq.Spec{Task: seq.Classification, Name: GraphsName, FeatureNames: []string{"kind"},
		EdgeFeatureNames: []string{"length"}}
	for _, c := range graphClasses {
		spec.LabelNames = append(spec.LabelNames, c.name)
	}
	return spec
}

// graph returns the graph with the given number.
func (o *GraphsOptions) graph(number uint64) seq.Example {
	r := &random{seed: o.Seed}
	r.begin(number)
	label := r.below(len(graphClasses))
	nodes := 2 * (o.Nodes/4 + int(r.below(o.Nodes/2-o.Nodes/4+1)))
	order := make([]int32, nodes) // nodes of the first kind, then nodes of the second kind
	for i := range order {
		j := int(r.below(i + 1))
		order[i], order[j] = order[j], int32(i)
	}
	e := seq.Example{Label: label, Features: make([][]float32, nodes), Edges: []seq.Edge{}}
	half := nodes / 2
	for i, node := range order {
		e.Features[node] = []float32{float32(1 - 2*(i/half))}
	}
	joined := map[[2]int32]bool{}
	for len(joined) < nodes*o.Degree/2 {
		i := int(r.below(nodes))
		kind := i / half
		if int(r.below(100)) >= graphClasses[label].alike {
			kind = 1 - kind
		}
		a, b := order[i], order[kind*half+int(r.below(half))]
		if a == b || joined[[2]int32{min(a, b), max(a, b)}] {
			continue
		}
		joined[[2]int32{min(a, b), max(a, b)}] = true
		length := []float32{0.5 + r.uniform()}
		e.Edges = append(e.Edges, seq.Edge{Source: a, Target: b, Features: length},
			seq.Edge{Source: b, Target: a, Features: length})
	}
	return e
}
