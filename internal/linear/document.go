package linear

// Document is a row that is edited. After n-grams are added and removed, its logits have the same
// bits as the logits of the whole row. It is not safe for concurrent use.
type Document struct {
	model  *Model
	counts map[uint32]uint32 // number of n-grams per feature
	sums   []sum
	logits []float64
}

// NewDocument returns a row without n-grams.
func (m *Model) NewDocument() *Document {
	return &Document{m, map[uint32]uint32{}, make([]sum, len(m.bias)), make([]float64, m.Config.Outputs())}
}

// Add adds n-grams by their hashes (see ngram.Extractor).
func (d *Document) Add(hashes []uint64) {
	for _, h := range hashes {
		f, ok := d.model.vocabulary.Feature(h)
		if !ok {
			continue
		}
		if d.counts[f]++; d.counts[f] == 1 {
			d.model.add(d.sums, f, 1)
		}
	}
}

// Remove removes n-grams that were added before.
func (d *Document) Remove(hashes []uint64) {
	for _, h := range hashes {
		f, ok := d.model.vocabulary.Feature(h)
		if !ok {
			continue
		}
		if n := d.counts[f]; n > 1 {
			d.counts[f] = n - 1
			continue
		}
		delete(d.counts, f)
		d.model.add(d.sums, f, -1)
	}
}

// Logits returns the logits like [Predictor.Logits]. The next call overwrites the result.
func (d *Document) Logits() []float64 { return d.model.logits(d.sums, d.logits) }
