package sft

import (
	"math"

	"github.com/sftseq/sftseq/seq"
)

// packedEdges are the edges of a batch as attention takes them: those into a token one after
// another, by source. Several of one source and target are joined: their features are added.
type packedEdges struct {
	first, source []int32
	features      []float32 // the last of each edge is the number of those that it is made of
	examples      []exampleEdges
	sorters       []edgeSorter // of each thread
}

// exampleEdges are where the edges of an example begin, and how many they are once they are joined.
type exampleEdges struct{ from, joined int }

// reset makes room for the edges of examples with so many tokens in all.
func (p *packedEdges) reset(examples []seq.Example, tokens, width, threads int) {
	for len(p.sorters) < threads {
		p.sorters = append(p.sorters, edgeSorter{})
	}
	p.examples = resized(p.examples, len(examples))
	edges := 0
	for i, e := range examples {
		p.examples[i].from = edges
		edges += len(e.Edges)
	}
	p.first, p.source, p.features = resized(p.first, tokens+1), resized(p.source, edges), resized(p.features, edges*(width+1))
	p.first[0] = 0
}

// set sets the edges of an example, whose tokens begin at one and are n.
func (p *packedEdges) set(thread, example int, edges []seq.Edge, token, n, width int) {
	s := &p.sorters[thread]
	s.sort(edges, n, width)
	ends := p.first[token+1:][:n] // where the edges into each token end
	at, target := p.examples[example].from, 0
	for i := 0; i < len(s.sorted); at++ {
		e := s.sorted[i]
		for t := s.target(e); target < t; target++ {
			ends[target] = int32(at)
		}
		p.source[at] = s.source(e)
		row := p.features[at*(width+1):][:width+1]
		for c, v := range s.features[int(e.place)*width:][:width] {
			row[c] = 0 + v // a zero has no sign, as that of a sum has none
		}
		from := i
		for i++; i < len(s.sorted) && s.sorted[i].ends == e.ends; i++ {
		}
		if row[width] = float32(i - from); i-from > 1 {
			s.join(row[:width], s.sorted[from:i])
		}
	}
	for ; target < n; target++ {
		ends[target] = int32(at)
	}
	p.examples[example].joined = at - p.examples[example].from
}

// close moves the edges of each example to the end of those before, where joined ones left room.
func (p *packedEdges) close(offset []int32, width int) {
	at := 0
	for i, e := range p.examples {
		if moved := e.from - at; moved > 0 {
			copy(p.source[at:], p.source[e.from:][:e.joined])
			copy(p.features[at*(width+1):], p.features[e.from*(width+1):][:e.joined*(width+1)])
			for t := offset[i]; t < offset[i+1]; t++ {
				p.first[t+1] -= int32(moved)
			}
		}
		at += e.joined
	}
	p.source, p.features = p.source[:at], p.features[:at*(width+1)]
}

// join adds the features of edges of the same ends, in their order. Each is finite, their sum may
// not be.
func (s *edgeSorter) join(row []float32, edges []edgePlace) {
	for c := range row {
		sum := 0.0
		for _, e := range edges {
			sum += float64(s.features[int(e.place)*len(row)+c])
		}
		row[c] = float32(max(-math.MaxFloat32, min(sum, math.MaxFloat32)))
	}
}
