package convert

import (
	"fmt"

	"github.com/sftseq/sftseq/seq"
)

// edgeAnomalies counts graphs whose edges look like an edge_index, or like undirected edges written once.
type edgeAnomalies struct {
	graphs   int               // graphs with an edge
	indices  int               // graphs whose two edges may be a list of sources and a list of targets
	distinct int               // graphs with an edge between different nodes, counted until reversed is set
	reversed bool              // whether some graph has an edge and its reverse edge
	pairs    map[[2]int32]bool // edges of the current graph
}

// count adds the edges of one graph, which has the given number of nodes.
func (s *edgeAnomalies) count(edges []seq.Edge, nodes int) {
	if len(edges) == 0 {
		return
	}
	s.graphs++
	if isIndex(edges, nodes) {
		s.indices++
	}
	if s.reversed {
		return
	}
	if s.pairs == nil {
		s.pairs = map[[2]int32]bool{}
	}
	clear(s.pairs)
	for _, e := range edges {
		if e.Source != e.Target {
			s.pairs[[2]int32{e.Source, e.Target}] = true
			s.reversed = s.reversed || s.pairs[[2]int32{e.Target, e.Source}]
		}
	}
	if len(s.pairs) > 0 {
		s.distinct++
	}
}

// isIndex reports whether a graph's edges are two lists that look like PyTorch Geometric's edge_index:
// sources, then targets. Each list must have at least three integers below the number of nodes, and the
// pairs must be distinct.
func isIndex(edges []seq.Edge, nodes int) bool {
	if len(edges) != 2 || len(edges[0].Features) == 0 || len(edges[0].Features) != len(edges[1].Features) {
		return false
	}
	lists := [2][]float32{}
	for i, e := range edges {
		lists[i] = append([]float32{float32(e.Source), float32(e.Target)}, e.Features...)
	}
	seen := map[[2]float32]bool{}
	for i, source := range lists[0] {
		pair := [2]float32{source, lists[1][i]}
		for _, node := range pair {
			if !(node >= 0 && node < float32(nodes)) || node != float32(int(node)) {
				return false
			}
		}
		if seen[pair] {
			return false
		}
		seen[pair] = true
	}
	return true
}

// describe returns a note if all graphs with edges look like an edge_index, or no edge of several graphs has
// a reverse edge; "" otherwise.
func (s *edgeAnomalies) describe() string {
	switch {
	case s.graphs > 0 && s.indices == s.graphs:
		return fmt.Sprintf("edges of all %d graphs with edges look like a list of sources and a list of targets "+
			"(edge_index of PyTorch Geometric), but are read as two edges: "+
			"expected [source, target, features…] for each edge (transpose edge_index)", s.graphs)
	case s.distinct > 1 && !s.reversed:
		return fmt.Sprintf("no edge of %d graphs has a reverse edge, so a node reads only the targets of its edges: "+
			"if the graphs are undirected, write each edge twice, as [0, 1] and [1, 0]", s.distinct)
	}
	return ""
}
