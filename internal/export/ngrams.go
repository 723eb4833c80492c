package export

import (
	"math"
	"math/bits"

	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/sft"
)

// noRow replaces the row of an n-gram without an embedding.
const noRow = -1

// ngrams adds the embeddings of n-grams to the embeddings x of tokens, [length, hidden]: (x + Σ
// rows) / √(1 + number of rows). The order of the sum is the same as in package sft. The graph
// computes the hashes from the ids. Hashes of words are an input, because a graph has no Unicode
// tables; [WordHashes] computes them.
func (s *sequence) ngrams(x onnx.Tensor, input, dim string) onnx.Tensor {
	n, table := s.config.NGrams, s.model.NGrams
	if n == nil || len(table.Weights) == 0 { // no n-gram of the training split was frequent enough
		return x
	}
	g := &ngramGraph{s}
	columns := g.rows(g.unitHashes(), n.MinN, n.MaxN, 0)
	if n.MaxWords > 0 {
		columns = append(columns, g.wordRows(input, dim)...)
	}
	weights := s.Weight("ngrams.weight", []int{len(table.Weights) / s.config.HiddenSize, s.config.HiddenSize},
		table.Weights)
	count := s.Int(0)
	for _, row := range columns {
		is := s.Less(s.Int(noRow), row)
		x = s.Add(x, s.Where(s.Unsqueeze(is, 1), s.Gather(weights, s.Max(row, s.Int(0))), s.Float(0)))
		count = s.Add(count, s.Cast(is, onnx.Int64))
	}
	var scales []float32 // by number of rows
	for i := range len(columns) + 1 {
		scales = append(scales, float32(1/math.Sqrt(float64(1+i))))
	}
	return s.Mul(x, s.Unsqueeze(s.Gather(s.Weight("ngrams.scales", []int{len(scales)}, scales), count), 1))
}

// ngramGraph emits the hashes of n-grams as int64 numbers, whose arithmetic is modulo 2⁶⁴.
type ngramGraph struct{ *sequence }

// unitHashes returns the hashes of the tokens, from a table with the hash of each id.
func (g *ngramGraph) unitHashes() onnx.Tensor {
	n, units := g.config.NGrams, make([]int64, g.config.VocabSize)
	for id, h := range ngram.UnitHashes(n.Units, n.MaxWords, len(units)) {
		units[id] = int64(h)
	}
	return g.Gather(g.Int64s("ngrams.unit_hashes", units), g.tokens)
}

// rows returns the rows of the table for the n-grams of minN to maxN units: a vector per length,
// indexed by the last unit of the n-gram, with [noRow] for an n-gram without an embedding. The
// length n of an n-gram enters its hash as n + more.
func (g *ngramGraph) rows(units onnx.Tensor, minN, maxN, more int) (out []onnx.Tensor) {
	position := g.Range(g.Int(0), g.Squeeze(g.Shape(units), 0))
	h := units
	for n := 1; n <= maxN; n++ {
		if n > 1 {
			before := g.Concat(0, g.Ints(0), g.Slice(h, g.Ints(0), g.Ints(-1)))
			h = g.Add(g.Mul(before, g.hashConstant(ngram.Multiplier)), units)
		}
		if n < minN {
			continue
		}
		row := g.row(g.mix(g.Add(h, g.hashConstant(ngram.Begin(n, more)))))
		out = append(out, g.Where(g.Less(position, g.Int(int64(n-1))), g.Int(noRow), row))
	}
	return out
}

// wordRows is [ngramGraph.rows] for words, indexed by the last byte of the n-gram.
func (g *ngramGraph) wordRows(input, dim string) (out []onnx.Tensor) {
	hashes := g.Input(wordHashesInput(input), onnx.Int64,
		"The XXH3 hash of the word that ends at each byte, 0 where no word ends.", onnx.Named(dim))
	hashes = g.ReshapeTo(g.read(hashes), g.length)
	// A word with the hash 0 after the last byte avoids empty vectors.
	at := g.Concat(0, g.NonZero(hashes), g.length)
	units := g.Gather(g.Concat(0, hashes, g.Ints(0)), at)
	none := g.Expand(g.Ints(noRow), g.Add(g.length, g.Int(1)))
	for _, row := range g.rows(units, 1, g.config.NGrams.MaxWords, ngram.MaxN) {
		out = append(out, g.Slice(g.ScatterElements(none, at, row), g.Ints(0), g.Ints(-1)))
	}
	return out
}

// wordHashesInput returns the name of the input of word hashes for an input of tokens.
func wordHashesInput(tokens string) string {
	if tokens == inputTokens {
		return inputWordHashes
	}
	return inputWordHashes + "_" + tokens
}

// hashConstant returns the int64 constant that equals v modulo 2⁶⁴.
func (g *ngramGraph) hashConstant(v uint64) onnx.Tensor { return g.Int(int64(v)) }

// shiftRight returns the logical right shift x ≫ n, for n > 0. It clears the lower bits first to
// make the division exact.
func (g *ngramGraph) shiftRight(x onnx.Tensor, n int) onnx.Tensor {
	x = g.Div(g.BitwiseAnd(x, g.Int(-1<<n)), g.Int(1<<n))
	return g.BitwiseAnd(x, g.Int(1<<(64-n)-1))
}

// mix emits the finaliser of the hash.
func (g *ngramGraph) mix(x onnx.Tensor) onnx.Tensor {
	for _, factor := range []uint64{ngram.MixFactor1, ngram.MixFactor2} {
		x = g.Mul(g.BitwiseXor(x, g.shiftRight(x, ngram.MixShift)), g.hashConstant(factor))
	}
	return g.BitwiseXor(x, g.shiftRight(x, ngram.MixShift))
}

// row returns the row of the table for each hash of an n-gram: the row of its slot, or [noRow] if
// its slot is not used or its cell is not kept.
func (g *ngramGraph) row(h onnx.Tensor) onnx.Tensor {
	n, table := g.config.NGrams, g.model.NGrams
	row := g.Gather(g.slotRows(), g.shiftRight(h, 64-bits.TrailingZeros(uint(n.Slots))))
	row = g.Cast(row, onnx.Int64)
	if table.Kept == nil {
		return row
	}
	cell := g.BitwiseAnd(h, g.Int(ngram.Cells-1))
	word := g.Cast(g.Gather(g.Int32s("ngrams.kept_cells", table.Kept),
		g.Div(cell, g.Int(32))), onnx.Int64)
	powers := make([]int64, 32)
	for i := range powers {
		powers[i] = 1 << i
	}
	bit := g.Gather(g.Ints(powers...), g.BitwiseAnd(cell, g.Int(31)))
	return g.Where(g.Equal(g.BitwiseAnd(word, bit), g.Int(0)), g.Int(noRow), row)
}

// slotRows returns a table with the row of each slot, or [noRow] for an unused slot.
func (g *ngramGraph) slotRows() onnx.Tensor {
	used := ngram.Bitmap(g.model.NGrams.Used)
	rows, next := make([]int32, g.config.NGrams.Slots), int32(0)
	for slot := range rows {
		if rows[slot] = noRow; used.Has(uint32(slot)) {
			rows[slot] = next
			next++
		}
	}
	return g.Int32s("ngrams.slot_rows", rows)
}

// fileNumbers returns the number of 4-byte numbers in the parameters and n-gram tables of a model's ONNX
// file. It does not count the small constants, such as the hashes of units.
func fileNumbers(m *sft.Model) int {
	n := m.Parameters.Count()
	if table := m.NGrams; table != nil {
		n += len(table.Weights) + len(table.Kept) + m.Config.NGrams.Slots
	}
	return n
}
