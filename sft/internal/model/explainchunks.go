package model

import (
	"context"
	"errors"

	"github.com/sftseq/sftseq/internal/tensor"
)

// chunkSource lists the tokens of which the exported rows of a chunk consist.
type chunkSource struct {
	duplets [][]SampledToken // tokens of each mixed row, by their positions in the chunk
	pooled  []float32        // weight of each token in the pooled row
}

// ExplainedChunk is a chunk of a document. Weights are parts of the vector that the head reads.
type ExplainedChunk struct {
	Start, End int32          // first token, and the token after the last
	Weight     float64        // weight of the chunk's exported rows
	Tokens     []SampledToken // tokens of the mixed rows, which may repeat, by their positions in the document
}

// keepSources keeps the tensors that name the tokens of the exported rows.
func (e *exports) keepSources() {
	for _, t := range []*tensor.Tensor{e.sample.sample.Top, e.sample.sample.Partner, e.sample.duplet.P, e.pool.A} {
		e.Keep(t)
	}
}

// sources returns the tokens of the exported rows of each chunk of a computed batch.
func (e *exports) sources(b *packed, arena tensor.Memory) ([]chunkSource, error) {
	n := int(b.counts.Pooled)
	top, partner, p := make([]int32, n), make([]int32, n), make([]float32, n)
	pooled := make([]float32, b.counts.Tokens)
	err := errors.Join(tensor.Download(arena, e.sample.sample.Top, top),
		tensor.Download(arena, e.sample.sample.Partner, partner), tensor.Download(arena, e.sample.duplet.P, p),
		tensor.Download(arena, e.pool.A, pooled))
	if err != nil {
		return nil, err
	}
	out := make([]chunkSource, len(b.example))
	for i := range out {
		out[i].pooled = pooled[b.offset[i]:b.offset[i+1]]
		for j := b.poolOffset[i]; j < b.poolOffset[i+1]; j++ {
			row := []SampledToken{{Position: top[j], Weight: float64(p[j])}}
			if partner[j] >= 0 {
				row = append(row, SampledToken{Position: partner[j], Weight: 1 - float64(p[j])})
			}
			out[i].duplets = append(out[i].duplets, row)
		}
	}
	return out, nil
}

// exportSources computes the exported rows of each chunk and the tokens of which they consist.
func (r *Runner) exportSources(ctx context.Context, chunks []docChunk, d Drawing) ([][]float32, []chunkSource, error) {
	rows, sources := make([][]float32, len(chunks)), make([]chunkSource, len(chunks))
	err := r.forEachPass(ctx, localStage, d.Mode, plannedChunks(chunks),
		func(ctx context.Context, l *Slot, at, n int) error {
			p, err := l.runExports(ctx, chunks[at:at+n], d)
			if err != nil {
				return err
			}
			x, err := p.exports.read(&l.batch, l.Memory[tensor.Arena])
			if err != nil {
				return err
			}
			s, err := p.exports.sources(&l.batch, l.Memory[tensor.Arena])
			copy(rows[at:], x)
			copy(sources[at:], s)
			return err
		})
	return rows, sources, err
}

// explainDocument returns the explanation of a document by the weights of its rows.
func explainDocument(weights []float32, chunks []chunkSource) (out ExplainedSequence) {
	for _, c := range chunks {
		start := len(out.Pooling)
		x := ExplainedChunk{Start: int32(start), End: int32(start + len(c.pooled))}
		out.Pooling = append(out.Pooling, make([]float32, len(c.pooled))...)
		tokens := out.Pooling[start:]
		for j, row := range c.duplets {
			x.Weight += float64(weights[j])
			for _, t := range row {
				weight := t.Weight * float64(weights[j])
				tokens[t.Position] += float32(weight)
				x.Tokens = append(x.Tokens, SampledToken{Position: t.Position + int32(start), Weight: weight})
			}
		}
		pooled := weights[len(c.duplets)]
		x.Weight += float64(pooled)
		for i, a := range c.pooled {
			tokens[i] += a * pooled
		}
		weights = weights[len(c.duplets)+1:]
		out.Chunks = append(out.Chunks, x)
	}
	return out
}
