package model

import (
	"errors"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// chunkSource holds the weights of a chunk's tokens in its exported rows.
type chunkSource struct {
	duplets [][]SampledToken // tokens of each mixed row, with their positions in the chunk
	pooled  []float32        // weight of each token in the pooled row
}

// ExplainedChunk is a chunk of a document. All weights, of the chunk and of its tokens, refer to the
// vector that the head reads.
type ExplainedChunk struct {
	Start, End int32          // first token, and the token after the last
	Weight     float64        // weight of the chunk's exported rows
	Tokens     []SampledToken // tokens with the largest weights, with their positions in the document
}

// keepSources keeps the tensors that addSources reads.
func (e *exports) keepSources() {
	for _, t := range []*tensor.Tensor{e.sample.sample.Top, e.sample.sample.Partner, e.sample.duplet.P, e.pool.A} {
		e.Keep(t)
	}
}

// addSources sets the source of the exported rows of each chunk of a computed batch.
func (e *exports) addSources(out []exported, b *packed, arena tensor.Memory) error {
	n := int(b.counts.Pooled)
	top, partner, p := make([]int32, n), make([]int32, n), make([]float32, n)
	pooled := make([]float32, b.counts.Tokens)
	err := errors.Join(tensor.Download(arena, e.sample.sample.Top, top),
		tensor.Download(arena, e.sample.sample.Partner, partner), tensor.Download(arena, e.sample.duplet.P, p),
		tensor.Download(arena, e.pool.A, pooled))
	if err != nil {
		return err
	}
	for i := range out {
		s := &chunkSource{pooled: slices.Clone(pooled[b.offset[i]:b.offset[i+1]])}
		for j := b.poolOffset[i]; j < b.poolOffset[i+1]; j++ {
			row := []SampledToken{{Position: top[j], Weight: float64(p[j])}}
			if partner[j] >= 0 {
				row = append(row, SampledToken{Position: partner[j], Weight: 1 - float64(p[j])})
			}
			s.duplets = append(s.duplets, row)
		}
		out[i].source = s
	}
	return nil
}

// ChunkTokens is the maximum number of tokens that the explanation of a chunk lists.
const ChunkTokens = 16

// explainDocument returns the explanation of a document from the weights of its exported rows.
func explainDocument(weights []float32, chunks []*chunkSource) (out ExplainedSequence) {
	for _, c := range chunks {
		start := len(out.Pooling)
		x := ExplainedChunk{Start: int32(start), End: int32(start + len(c.pooled))}
		out.Pooling = append(out.Pooling, make([]float32, len(c.pooled))...)
		tokens := out.Pooling[start:]
		for j, row := range c.duplets {
			x.Weight += float64(weights[j])
			for _, t := range row {
				tokens[t.Position] += float32(t.Weight * float64(weights[j]))
			}
		}
		pooled := weights[len(c.duplets)]
		x.Weight += float64(pooled)
		for i, a := range c.pooled {
			tokens[i] += a * pooled
		}
		for _, i := range largest(tokens, ChunkTokens) {
			x.Tokens = append(x.Tokens, SampledToken{Position: x.Start + int32(i), Weight: float64(tokens[i])})
		}
		weights = weights[len(c.duplets)+1:]
		out.Chunks = append(out.Chunks, x)
	}
	return out
}

// largest returns the indices of the n largest positive weights, or of all if there are fewer, the
// largest first.
func largest(weights []float32, n int) (indices []int) {
	for i, w := range weights {
		if w <= 0 || len(indices) == n && w <= weights[indices[n-1]] {
			continue
		}
		if len(indices) == n {
			indices = indices[:n-1]
		}
		at, _ := slices.BinarySearchFunc(indices, w, func(index int, w float32) int {
			if weights[index] >= w {
				return -1
			}
			return 1
		})
		indices = slices.Insert(indices, at, i)
	}
	return indices
}
