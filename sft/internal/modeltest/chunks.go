package modeltest

import (
	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/philox"
)

// exports returns the rows that the chunks of a document export, in the order of the chunks.
func (r Reference) exports(tokens []int32) (rows [][]float64) {
	row := r.row
	for i, part := range r.cut(tokens) {
		if d := r.Training; d != nil {
			r.row = philox.Words(d.Seed, philox.Counter(uint32(i), 0, 0, philox.StreamChunk, row, 0))[0]
		}
		x, _ := r.encode(r.embed(part), 0, r.Chunks.Layers)
		if r.NormPosition == "pre" {
			x = mapRows(x, func(v []float64) []float64 { return r.norm("export.norm", v) })
		}
		var score []float64
		for _, v := range x {
			score = append(score, r.linear("export.sampler", v)[0])
		}
		for _, s := range r.sampleAll(r.NumLayers+1, r.Chunks.Exports, score) {
			rows = append(rows, r.mixDuplet(x, s))
		}
		pooled, _ := r.softmaxPool("export.pool", x)
		rows = append(rows, pooled)
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
