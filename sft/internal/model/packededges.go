package model

import (
	"math"
	"math/bits"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
)

// packedEdges holds the edges of a batch as attention reads them: grouped by target and sorted by
// source. Parallel edges are joined by adding their features.
//
// Edges are distributed to blocks by their target, and each block is sorted. Threads share the
// chunks of edges to distribute, and then the blocks. A block is small enough to be sorted in the
// CPU's cache. The result does not depend on the number of threads.
type packedEdges struct {
	first, source []int32
	features      []float32 // the last feature counts the joined edges

	chunks   []edgeChunk
	blocks   []edgeBlock
	counts   []int32      // edges of each chunk in each block of its graph; later, the position of the next edge
	ends     []uint64     // edges by block: target within the block in the high bits, source in the low bits
	unsorted []float32    // features of edges by block
	sorters  []edgeSorter // one for each thread
}

// edgeChunk is a run of a graph's edges in their original order.
type edgeChunk struct {
	edges         []seq.Edge
	graph         int
	block, blocks int // first block of the graph, and number of blocks
	counts        int // index of the chunk's counts
	blockBits     int // bits of a target within its block
}

// edgeBlock holds the edges into a range of a graph's tokens.
type edgeBlock struct {
	token, tokens   int // first token in the batch, and number of tokens
	sourceBits      int
	chunk           int // first chunk of the graph
	from, n, joined int // index of the first edge, number of edges, and number after joining
}

const (
	blockTokens, maxBlocks = 1 << 10, 1 << 10 // minimum tokens of a block, maximum blocks of a graph
	chunkEdges, maxChunks  = 1 << 14, 1 << 6  // minimum edges of a chunk, maximum chunks of a graph
)

// pack packs the edges of graphs. The tokens of graph i begin at offset[i], and width is the number of
// features of an edge.
func (p *packedEdges) pack(graphs []seq.Example, offset []int32, width, threads int) {
	p.partition(graphs, offset)
	InParallel(threads, len(p.chunks), func(_, i int) { p.count(&p.chunks[i]) })
	edges := p.assignOffsets()
	p.ends, p.unsorted = resize(p.ends, edges), resize(p.unsorted, edges*width)
	InParallel(threads, len(p.chunks), func(_, i int) {
		if c := &p.chunks[i]; c.blocks > 1 {
			p.distribute(c, width)
		}
	})
	p.first, p.source, p.features = resize(p.first, int(offset[len(graphs)])+1), resize(p.source, edges),
		resize(p.features, edges*(width+1))
	p.first[0] = 0
	for len(p.sorters) < max(1, threads) {
		p.sorters = append(p.sorters, edgeSorter{})
	}
	InParallel(threads, len(p.blocks), func(thread, i int) {
		b := &p.blocks[i]
		if c := &p.chunks[b.chunk]; c.blocks == 1 { // sort reads the edges from this thread's cache
			p.distribute(c, width)
		}
		p.sort(&p.sorters[thread], b, width)
	})
	clear(p.chunks) // releases the examples' edges
	p.compact(width)
}

// partition lists the chunks and the blocks of the graphs. Each graph has at least one chunk and
// one block.
func (p *packedEdges) partition(graphs []seq.Example, offset []int32) {
	p.chunks, p.blocks = p.chunks[:0], p.blocks[:0]
	counts := 0
	for i := range graphs {
		edges, token, tokens := graphs[i].Edges, int(offset[i]), int(offset[i+1]-offset[i])
		c := edgeChunk{graph: i, block: len(p.blocks),
			blockBits: bits.Len(uint(max(blockTokens, (tokens+maxBlocks-1)/maxBlocks) - 1))}
		for at := 0; at < tokens; at += 1 << c.blockBits {
			p.blocks = append(p.blocks, edgeBlock{token: token + at, tokens: min(1<<c.blockBits, tokens-at),
				sourceBits: bits.Len(uint(tokens - 1)), chunk: len(p.chunks)})
		}
		size := max(chunkEdges, (len(edges)+maxChunks-1)/maxChunks)
		if c.blocks = len(p.blocks) - c.block; c.blocks == 1 {
			size = max(1, len(edges))
		}
		for at := 0; at == 0 || at < len(edges); at += size {
			c.edges, c.counts = edges[at:min(at+size, len(edges))], counts
			p.chunks = append(p.chunks, c)
			counts += c.blocks
		}
	}
	p.counts = resize(p.counts, counts)
}

// count counts the edges of a chunk in each block.
func (p *packedEdges) count(c *edgeChunk) {
	counts := p.counts[c.counts:][:c.blocks]
	clear(counts)
	if c.blocks == 1 {
		counts[0] = int32(len(c.edges))
		return
	}
	for i := range c.edges {
		counts[c.edges[i].Target>>c.blockBits]++
	}
}

// assignOffsets sets the offset of each block, and of each chunk's edges within each block. The edges of
// a block keep their order. assignOffsets returns the total number of edges.
func (p *packedEdges) assignOffsets() int {
	at := 0
	for chunks := p.chunks; len(chunks) > 0; {
		n := 1
		for n < len(chunks) && chunks[n].graph == chunks[0].graph {
			n++
		}
		for b := range chunks[0].blocks {
			block := &p.blocks[chunks[0].block+b]
			block.from = at
			for i := range chunks[:n] {
				next := &p.counts[chunks[i].counts+b]
				count := int(*next)
				*next = int32(at)
				at += count
			}
			block.n = at - block.from
		}
		chunks = chunks[n:]
	}
	return at
}

// distribute copies the edges of a chunk to their blocks. It reads them sequentially, because
// millions of edges do not fit into a cache.
func (p *packedEdges) distribute(c *edgeChunk, width int) {
	next, mask, sourceBits := p.counts[c.counts:][:c.blocks], uint64(1)<<c.blockBits-1, p.blocks[c.block].sourceBits
	for i := range c.edges {
		e := &c.edges[i]
		block := &next[e.Target>>c.blockBits]
		at := int(*block)
		*block++
		p.ends[at] = uint64(e.Target)&mask<<sourceBits | uint64(e.Source)
		copy(p.unsorted[at*width:][:width], e.Features)
	}
}

// sort sorts a block and joins parallel edges.
func (p *packedEdges) sort(s *edgeSorter, b *edgeBlock, width int) {
	s.sort(p.ends[b.from:][:b.n], b.sourceBits+bits.Len(uint(b.tokens-1)))
	// ends[t] becomes the end of the edges into token t.
	given, ends := p.unsorted[b.from*width:][:b.n*width], p.first[b.token+1:][:b.tokens]
	at, target, sources := b.from, 0, uint64(1)<<b.sourceBits-1
	for i := 0; i < len(s.sorted); at++ {
		e := s.sorted[i]
		for t := int(e.ends >> b.sourceBits); target < t; target++ {
			ends[target] = int32(at)
		}
		p.source[at] = int32(e.ends & sources)
		row := p.features[at*(width+1):][:width+1]
		for c, v := range given[int(e.index)*width:][:width] {
			row[c] = 0 + v // removes the sign of a zero, as a sum does
		}
		from := i
		for i++; i < len(s.sorted) && s.sorted[i].ends == e.ends; i++ {
		}
		if row[width] = float32(i - from); i-from > 1 {
			joinEdges(row[:width], s.sorted[from:i], given)
		}
	}
	for ; target < b.tokens; target++ {
		ends[target] = int32(at)
	}
	b.joined = at - b.from
}

// joinEdges adds the features of parallel edges in their order. It limits sums to the range of
// float32, because finite features may have a larger sum.
func joinEdges(row []float32, edges []sortedEdge, given []float32) {
	for c := range row {
		sum := 0.0
		for _, e := range edges {
			sum += float64(given[int(e.index)*len(row)+c])
		}
		row[c] = float32(max(-math.MaxFloat32, min(sum, math.MaxFloat32)))
	}
}

// compact moves the edges of each block to the end of the previous block, because joined edges
// leave gaps.
func (p *packedEdges) compact(width int) {
	at := 0
	for _, b := range p.blocks {
		if moved := b.from - at; moved > 0 {
			copy(p.source[at:], p.source[b.from:][:b.joined])
			copy(p.features[at*(width+1):], p.features[b.from*(width+1):][:b.joined*(width+1)])
			for t := range b.tokens {
				p.first[b.token+t+1] -= int32(moved)
			}
		}
		at += b.joined
	}
	p.source, p.features = p.source[:at], p.features[:at*(width+1)]
}

// edgeInputs holds the edges of a batch as inputs of a pass: see [tensor.EdgeBias].
type edgeInputs struct{ Index, Features *tensor.Tensor }

// edgeInputs declares the inputs for edges.
func (m *emitter) edgeInputs() *edgeInputs {
	return &edgeInputs{
		Index:    m.Input("edge_index", tensor.Fixed, m.shape.Tokens+1+m.shape.Edges),
		Features: m.Input("edge_features", tensor.Fixed, m.shape.Edges, pairFeatures(m.config)),
	}
}

// upload writes a batch's edges, possibly none, to the inputs in m.
func (e *edgeInputs) upload(p *packedEdges, m tensor.Memory) error {
	tokens := e.Index.Words() - e.Features.Shape[0]
	for len(p.first) < tokens { // unused rows have no edges
		p.first = append(p.first, 0)
	}
	if err := tensor.Upload(m, e.Index, p.first); err != nil || len(p.source) == 0 {
		return err
	}
	if err := m.Write(e.Index.Offset+tokens, tensor.Bits(p.source)); err != nil {
		return err
	}
	return tensor.Upload(m, e.Features, p.features)
}

// edgeRelation is the relation of two tokens of a graph: see [tensor.EdgeBias].
type edgeRelation struct{ pairWeights }

func (r *edgeRelation) forward(l *layer) tensor.RelativeBias {
	a := &l.attn
	return tensor.EdgeBias{Index: l.edges.Index, Features: l.edges.Features,
		W: r.pack(l), P: a.duplet.P, Top: a.sample.Top, Partner: a.sample.Partner}
}

// edgeSorter sorts edges by target and then by source with a radix sort in linear time. It keeps its
// memory for the next edges.
type edgeSorter struct {
	sorted, other []sortedEdge
	next          [1 << digitBits]int32
}

// digitBits is the maximum number of bits of a digit: its counts fit into the L1 cache.
const digitBits = 11

// sortedEdge holds source and target of an edge as one number, and the index of the edge before
// sorting.
type sortedEdge struct {
	ends  uint64
	index int32
}

// sort sorts edges by ends. The parameter bits is the number of low bits of ends that may be set. The
// sort is stable.
func (s *edgeSorter) sort(ends []uint64, bits int) {
	s.sorted, s.other = resize(s.sorted, len(ends)), resize(s.other, len(ends))
	for i, e := range ends {
		s.sorted[i] = sortedEdge{e, int32(i)}
	}
	for from, digits := 0, (bits+digitBits-1)/digitBits; digits > 0; digits-- {
		digit := (bits - from + digits - 1) / digits
		s.sortByDigit(from, digit)
		from += digit
	}
}

// sortByDigit sorts by a digit of ends. The parameter from is its lowest bit, and digit is its number of
// bits. The sort is stable.
func (s *edgeSorter) sortByDigit(from, digit int) {
	next, mask := s.next[:1<<digit], uint64(1)<<digit-1
	clear(next)
	for i := range s.sorted {
		next[s.sorted[i].ends>>from&mask]++
	}
	at := int32(0)
	for d, n := range next {
		next[d] = at
		at += n
	}
	other := s.other
	for _, e := range s.sorted {
		d := e.ends >> from & mask
		other[next[d]] = e
		next[d]++
	}
	s.sorted, s.other = other, s.sorted
}
