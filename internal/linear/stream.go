package linear

import "github.com/sftseq/sftseq/internal/ngram"

// Stream computes the logits of a row of one sequence that arrives in parts. They are bitwise identical to
// the logits of the whole row, and the memory does not grow with the row. A stream is not safe for
// concurrent use.
type Stream struct {
	model  *Model
	ngrams *ngram.Stream
	seen   ngram.Bitmap // features of the row
	sums   []sum
	logits []float64
}

// NewStream returns a stream without tokens. The model must not compare pairs.
func (m *Model) NewStream() *Stream {
	return &Stream{m, ngram.NewStream(m.Config.NGrams), ngram.NewBitmap(m.Features() + 31),
		make([]sum, len(m.bias)), make([]float64, m.Config.Outputs())}
}

// Add adds the next tokens.
func (s *Stream) Add(tokens []int32) { s.add(tokens, true) }

func (s *Stream) add(tokens []int32, more bool) {
	for _, h := range s.ngrams.Add(tokens, more) {
		if f, ok := s.model.vocabulary.Feature(h); ok && !s.seen.Has(f) {
			s.seen.Set(f)
			s.model.add(s.sums, f, 1)
		}
	}
}

// Logits ends the row and returns its logits in the form of [Predictor.Logits]. No tokens may be added
// afterwards.
func (s *Stream) Logits() []float64 {
	s.add(nil, false)
	return s.model.logits(s.sums, s.logits)
}
