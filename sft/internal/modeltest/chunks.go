package modeltest

import (
	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/philox"
)

// exports returns the rows that the chunks of a document export, in the order of the chunks, with the
// weights of the document's tokens in each row, and the rows of the tokens after the local layers.
// cutAs holds the tokens before masking, which determine the cuts.
func (r Reference) exports(tokens, cutAs []int32) (rows []exportedRow, local [][]float64) {
	row, start := r.row, 0
	for i, part := range r.cut(cutAs) {
		part = tokens[start : start+len(part)]
		if d := r.Training; d != nil {
			r.row = philox.Words(d.Seed, philox.Counter(uint32(i), 0, 0, philox.StreamChunk, row, 0))[0]
		}
		x, _ := r.encode(r.embed(part), 0, r.Chunks.Layers)
		local = append(local, x...)
		if r.NormPosition == "pre" {
			x = mapRows(x, func(v []float64) []float64 { return r.norm("export.norm", v) })
		}
		var score []float64
		for _, v := range x {
			score = append(score, r.linear("export.sampler", v)[0])
		}
		for _, s := range r.sampleAll(r.NumLayers+1, r.Chunks.Exports, score) {
			e := exportedRow{r.mixDuplet(x, s), map[int]float64{start + s.top: s.p}, false}
			if s.partner >= 0 {
				e.tokens[start+s.partner] = 1 - s.p
			}
			rows = append(rows, e)
		}
		pooled, weights := r.softmaxPool("export.pool", x, nil)
		e := exportedRow{pooled, map[int]float64{}, true}
		for t, a := range weights {
			e.tokens[start+t] = a
		}
		rows = append(rows, e)
		start += len(part)
	}
	return rows, local
}

// exportedRow is an exported row and the weights of the document's tokens in it.
type exportedRow struct {
	row    []float64
	tokens map[int]float64
	pooled bool // whether the row is the weighted mean of the chunk's tokens
}

// document returns the rows after the document encoder. hasWeight reports whether the head pools a row,
// and ofTokens converts the weights of rows to weights of the document's tokens.
func (r Reference) document(tokens []int32) (x [][]float64, hasWeight func(row int) bool,
	ofTokens func(rows []float64) []float64) {
	exported, _ := r.exports(tokens, tokens)
	for _, e := range exported {
		x = append(x, e.row)
	}
	x, _ = r.encode(x, r.Chunks.Layers, r.NumLayers)
	return x, func(row int) bool { return exported[row].pooled }, func(rows []float64) []float64 {
		out := make([]float64, len(tokens))
		for i, e := range exported {
			for t, weight := range e.tokens {
				out[t] += rows[i] * weight
			}
		}
		return out
	}
}

// contexts returns the pooled row of each chunk after the document encoder, the chunks' lengths, and the
// rows of the tokens after the local layers.
func (r Reference) contexts(tokens, cutAs []int32) (contexts [][]float64, lengths []int, local [][]float64) {
	exported, local := r.exports(tokens, cutAs)
	var x [][]float64
	for _, e := range exported {
		x = append(x, e.row)
	}
	x, _ = r.encode(x, r.Chunks.Layers, r.NumLayers)
	for i, e := range exported {
		if e.pooled {
			contexts, lengths = append(contexts, x[i]), append(lengths, len(e.tokens))
		}
	}
	return contexts, lengths, local
}

// MeanContext returns the mean of the contexts of a document's chunks. For a model that predicts tokens,
// this mean is the embedding of the document.
func (r Reference) MeanContext(tokens []int32) []float64 {
	contexts, _, _ := r.contexts(tokens, tokens)
	mean := make([]float64, r.HiddenSize)
	for _, g := range contexts {
		for c, v := range g {
			mean[c] += v / float64(len(contexts))
		}
	}
	return mean
}

// contextual returns the rows that the head of a model that predicts tokens reads. cutAs holds the
// tokens before masking.
func (r Reference) contextual(tokens, cutAs []int32) (rows [][]float64) {
	contexts, lengths, local := r.contexts(tokens, cutAs)
	for i, g := range contexts {
		context := r.linear("head.context", g)
		for range lengths[i] {
			row := sum64(local[len(rows):][:1], [][]float64{context})[0]
			if r.NormPosition == "pre" {
				row = r.norm("head.norm", row)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// cut returns the chunks of a document.
func (r Reference) cut(tokens []int32) (parts [][]int32) {
	k := chunk.NewCutter(chunk.Config{Rule: chunk.Rule(r.Chunks.Rule), Average: r.Chunks.Average}, r.VocabSize)
	for _, n := range k.Lengths(tokens) {
		parts = append(parts, tokens[:n])
		tokens = tokens[n:]
	}
	return parts
}

// sampleAll is [Reference.sample] without dropped tokens.
func (r Reference) sampleAll(layer, k int, score []float64) []duplet {
	c := *r.Config
	c.DropToken = 0
	r.Config = &c
	return r.sample(layer, k, score)
}
