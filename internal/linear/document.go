package linear

// Document is an editable row of one sequence. After each edit, its logits are bitwise identical to the
// result of [Predictor.Logits] for the whole row. It is not safe for concurrent use.
type Document struct {
	counts []uint32 // number of n-grams per feature
	sums   []sum    // by column
}

// NewDocument returns a document without tokens. The model must not compare pairs.
func (m *Model) NewDocument() *Document {
	return &Document{make([]uint32, m.Features()), make([]sum, len(m.bias))}
}

// sumBytes is the memory of a column's sums in bytes.
const sumBytes = 16

// DocumentBytes returns the memory of a document in bytes.
func (m *Model) DocumentBytes() int64 { return 4*int64(m.Features()) + sumBytes*int64(len(m.bias)) }

// Edit replaces the tokens of a document and returns the logits as [Predictor.Logits] does. old has all
// tokens before the change, and the argument tokens has all tokens after it. prefix and suffix are the
// numbers of equal tokens at the beginning and at the end of both sequences.
func (p *Predictor) Edit(d *Document, old, tokens []int32, prefix, suffix int) []float64 {
	before, after := p.model.Config.NGrams.Margins(tokens[:prefix], tokens[len(tokens)-suffix:])
	for _, h := range p.extractor.Hashes(tokens[prefix-before:len(tokens)-suffix+after], nil) {
		if f, ok := p.model.vocabulary.Feature(h); ok {
			if d.counts[f]++; d.counts[f] == 1 {
				p.model.add(d.sums, f, 1)
			}
		}
	}
	for _, h := range p.extractor.Hashes(old[prefix-before:len(old)-suffix+after], nil) {
		if f, ok := p.model.vocabulary.Feature(h); ok {
			if d.counts[f]--; d.counts[f] == 0 {
				p.model.add(d.sums, f, -1)
			}
		}
	}
	return p.model.logits(d.sums, p.logits)
}
