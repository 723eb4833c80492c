package configtest

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// GraphConfig makes a configuration one of graphs.
func GraphConfig(c *config.Config) *config.Config {
	c.VocabSize, c.PadTokenID, c.Relative, c.Tokenizer = 0, nil, config.EdgeRelation, json.RawMessage(`{"type":"none"}`)
	c.FeatureNames, c.EdgeFeatureNames = []string{"mass", "charge"}, []string{"order", "length"}
	return c
}

// RandomGraphs are graphs of the given numbers of tokens, of which some have no edges, some one to
// themselves, and some several of one source and target. Every fourth graph has no edges at all.
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

// PairsOf are the features of all pairs of tokens: 0 where there is no edge, and a sum where there
// are several.
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
