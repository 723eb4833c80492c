package model

import (
	"github.com/sftseq/sftseq/internal/ngram"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/sparse"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft/config"
)

// ngramInputs holds the rows of the table of n-grams that a batch reads, as inputs of a pass: see
// [tensor.EmbedBag].
type ngramInputs struct {
	Table, Row, Scale, Offset, Token *tensor.Tensor
	Gradient                         *tensor.Tensor // gradients of the table's rows; nil without a backward pass
}

// ngramRows returns the maximum number of rows that a pass with this number of tokens reads.
func ngramRows(n *config.NGrams, tokens int) int {
	o := ngramOptions(n)
	return min(n.Slots, tokens*o.Orders())
}

// addNGrams adds the embeddings of n-grams to the embeddings x of tokens.
func (m *emitter) addNGrams(pass *recordedPass, x *tensor.Tensor) *tensor.Tensor {
	c := m.config
	if c.NGrams == nil {
		return x
	}
	o := ngramOptions(c.NGrams)
	rows, tokens := ngramRows(c.NGrams, m.shape.Tokens), m.shape.Tokens
	in := &ngramInputs{
		Table: m.Input("ngrams", tensor.Fixed, rows, c.HiddenSize),
		Row:   m.Input("ngram_row", tensor.Tokens, tokens, o.Orders()),
		Scale: m.Input("ngram_scale", tensor.Tokens, tokens),
	}
	pass.NGrams = in
	y := m.tokens("embed.ngrams", c.HiddenSize)
	m.Launch(tensor.EmbedBag{Y: y, X: x, Table: in.Table, Row: in.Row, Scale: in.Scale})
	if m.mode.backward() {
		in.Offset = m.Input("ngram_offset", tensor.Fixed, rows+1)
		in.Token = m.Input("ngram_token", tensor.Fixed, tokens*o.Orders())
	}
	return y
}

// ngramsBackward records the gradient of the table and returns the gradient of the embeddings of
// tokens.
func (m *emitter) ngramsBackward(pass *recordedPass, dy *tensor.Tensor) *tensor.Tensor {
	in := pass.NGrams
	if in == nil {
		return dy
	}
	dx := m.tokens("embed.grad", m.config.HiddenSize)
	in.Gradient = m.Temp("ngrams.grad", tensor.Fixed, in.Table.Shape...)
	m.Keep(in.Gradient)
	m.Launch(tensor.EmbedBagBackward{DX: dx, DTable: in.Gradient, DY: dy, Scale: in.Scale, Offset: in.Offset,
		Token: in.Token})
	return dx
}

// packedNGrams holds the n-grams of a batch.
type packedNGrams struct {
	table     *NGrams // the model's table; nil without n-grams
	extractor *ngram.Extractor
	features  []uint32
	values    []float32 // values of the rows that the batch reads
	sparse.Bags
}

// add adds the n-grams of a sequence. It drops each n-gram with probability dropout. The random numbers depend
// only on seed and counter.
func (p *packedNGrams) add(tokens []int32, dropout float64, seed uint64, counter [4]uint32) {
	if p.table == nil {
		return
	}
	if p.extractor == nil {
		p.extractor = ngram.NewExtractor(p.table.vocabulary.Options)
	}
	from := len(p.features)
	p.features = p.table.vocabulary.Ending(p.extractor, tokens, p.features)
	if dropout == 0 {
		return
	}
	var draws [4]uint32
	for i := range p.features[from:] {
		if i%4 == 0 {
			counter[0] = uint32(i / 4)
			draws = philox.Words(seed, counter)
		}
		if philox.Uniform(draws[i%4]) < float32(dropout) {
			p.features[from+i] = ngram.NoFeature
		}
	}
}

// close indexes the rows of the table after the last sequence was added.
func (p *packedNGrams) close() {
	if p.table != nil {
		p.Pack(p.features, p.table.vocabulary.Options.Orders())
	}
}

// upload writes the n-grams to the inputs of a pass.
func (in *ngramInputs) upload(p *packedNGrams, m tensor.Memory) error {
	p.values = resize(p.values, len(p.Rows)*p.table.Width)
	p.table.Lookup(p.Rows, p.values)
	for len(p.Offset) < in.Table.Shape[0]+1 { // no token reads the remaining rows
		p.Offset = append(p.Offset, int32(len(p.Token)))
	}
	err := tensor.Upload(m, in.Row, p.Row)
	if err == nil {
		err = tensor.Upload(m, in.Scale, p.Scale)
	}
	if len(p.Rows) > 0 && err == nil {
		err = tensor.Upload(m, in.Table, p.values)
	}
	if in.Offset == nil || err != nil {
		return err
	}
	if err = tensor.Upload(m, in.Offset, p.Offset); err == nil && len(p.Token) > 0 {
		err = tensor.Upload(m, in.Token, p.Token)
	}
	return err
}

// gradient downloads the gradient of the rows that the batch reads.
func (in *ngramInputs) gradient(p *packedNGrams, arena tensor.Memory) (sparse.Gradient, error) {
	g := sparse.Gradient{Rows: append([]uint32{}, p.Rows...), Values: make([]float32, len(p.Rows)*p.table.Width)}
	if len(g.Rows) == 0 {
		return g, nil
	}
	return g, tensor.Download(arena, in.Gradient, g.Values)
}
