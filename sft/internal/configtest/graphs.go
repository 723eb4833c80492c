package configtest

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// GraphConfig changes c to the configuration of a model of graphs with two features per node and two
// per edge, and returns c.
func GraphConfig(c *config.Config) *config.Config {
	c.VocabSize, c.PadTokenID, c.Relative, c.Tokenizer = 0, nil, config.EdgeRelation, json.RawMessage(`{"type":"none"}`)
	c.FeatureNames, c.EdgeFeatureNames = []string{"mass", "charge"}, []string{"order", "length"}
	return c
}

// RandomGraphs returns one graph per length, with this number of nodes. Some edges are self-loops, some
// connect the same two nodes as another edge, and every fourth graph has no edges.
func RandomGraphs(c *config.Config, random *rand.Rand, lengths ...int) (out []seq.Example) {
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
			case 1: // a parallel edge
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

// PairsOf returns the features of each pair of nodes, [source][target][feature]: the sum of the
// features of the pair's edges, and as the last feature the number of these edges.
func PairsOf(c *config.Config, e seq.Example) (a [][][]float64) {
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
