package lra

import (
	"context"
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// GraphsName is the name of the data that [GenerateGraphs] makes.
const GraphsName = "graphs"

// GraphsOptions say what GenerateGraphs makes.
type GraphsOptions struct {
	Train, Val, Test int // graphs of each split; a split without any is left out
	Nodes            int // of the largest graphs; the smallest have half as many
	Degree           int // edges of a node on average, each of which leads both ways
	Seed             uint64
	Replace          bool             // a complete data set that is there already
	Progress         func(rows int64) // called with the rows added; may be nil
}

// UsualGraphs are the usual graphs.
var UsualGraphs = GraphsOptions{Train: 2000, Val: 400, Test: 400, Nodes: 32, Degree: 4}

// maxNodes bounds a graph to what a row of a file takes.
const maxNodes = 1 << 20

// graphClasses are the labels, and how many of a hundred edges join nodes of one kind.
var graphClasses = []struct {
	name  string
	alike int
}{{"like", 80}, {"mixed", 50}, {"unlike", 20}}

// Validate reports options by which nothing can be drawn.
func (o *GraphsOptions) Validate() error {
	switch {
	case o.Nodes < 8 || o.Nodes > maxNodes:
		return fmt.Errorf("expected 8 to %d nodes, found %d", maxNodes, o.Nodes)
	case o.Degree < 1 || o.Degree > o.Nodes/8:
		return fmt.Errorf("expected a degree of 1 to an eighth of the %d nodes, found %d", o.Nodes, o.Degree)
	}
	return o.rows().check()
}

// rows are those that the options ask for.
func (o *GraphsOptions) rows() *numbered {
	return &numbered{o.Train, o.Val, o.Test, o.Replace, o.Progress, o.graph}
}

// GenerateGraphs writes a data set of graphs. Half of a graph's nodes are of one kind, half of the
// other, and the label is how often an edge joins nodes of one kind: mostly (like), every second
// time (mixed) or seldom (unlike). So nodes without their edges say nothing of it, and neither do
// edges without the kinds of their nodes. A row is a function of the seed, the split and its number.
func GenerateGraphs(ctx context.Context, dir string, o GraphsOptions) (*seq.Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", GraphsName, err)
	}
	return o.rows().write(ctx, dir, graphsSpec(), map[string]any{"generator": GraphsName, "seed": o.Seed,
		"nodes": o.Nodes, "degree": o.Degree})
}

// graphsSpec is what the files of the data contain.
func graphsSpec() seq.Spec {
	spec := seq.Spec{Task: seq.Classification, Name: GraphsName, FeatureNames: []string{"kind"},
		EdgeFeatureNames: []string{"length"}}
	for _, c := range graphClasses {
		spec.LabelNames = append(spec.LabelNames, c.name)
	}
	return spec
}

// graph draws the graph of a number.
func (o *GraphsOptions) graph(number uint64) seq.Example {
	r := &random{seed: o.Seed}
	r.begin(number)
	label := r.below(len(graphClasses))
	nodes := 2 * (o.Nodes/4 + int(r.below(o.Nodes/2-o.Nodes/4+1)))
	order := make([]int32, nodes) // those of one kind, then those of the other
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
