package ngram

import "github.com/zeebo/xxh3"

// Stream hashes the n-grams of a sequence that arrives in parts. Its memory does not grow with the sequence. It is
// not safe for concurrent use.
type Stream struct {
	x            *Extractor
	pending      []int32  // incomplete character at the end of the last part
	units, words []uint64 // the last units, which the next n-grams may contain
}

// NewStream returns a stream for valid options.
func NewStream(o Options) *Stream { return &Stream{x: NewExtractor(o)} }

// Add returns the hashes of the n-grams that the next part of the sequence completes. more must be false for the last
// part, whose end also completes n-grams. All results together are the hashes of [Extractor.Hashes], in another order.
// The next call overwrites the result.
func (s *Stream) Add(tokens []int32, more bool) []uint64 {
	x, o := s.x, &s.x.options
	x.hashes = x.hashes[:0]
	if o.Units == Words {
		s.addWords(tokens, more, o.MinN, o.MaxN, &x.begins[0])
		return x.hashes
	}
	x.split(tokens)
	s.units = x.appendAfter(s.units, o.MinN, o.MaxN, &x.begins[0])
	if o.MaxWords > 0 {
		s.addWords(tokens, more, 1, o.MaxWords, &x.words[0])
	}
	return x.hashes
}

// addWords appends the hashes of the n-grams of words that the next part of the sequence completes.
func (s *Stream) addWords(tokens []int32, more bool, minN, maxN int, begins *[MaxN + 1]uint64) {
	x := s.x
	s.pending = append(s.pending, tokens...)
	x.units, x.starts, x.ends = x.units[:0], x.starts[:0], x.ends[:0]
	read := x.addWords(s.pending, more)
	s.pending = append(s.pending[:0], s.pending[read:]...)
	x.shortenWord()
	s.words = x.appendAfter(s.words, minN, maxN, begins)
}

// appendAfter appends the hashes of the n-grams that end with one of x.units. previous has the units before x.units.
// appendAfter returns the units that the next n-grams may contain.
func (x *Extractor) appendAfter(previous []uint64, minN, maxN int, begins *[MaxN + 1]uint64) []uint64 {
	units := append(previous, x.units...)
	for i := range units {
		h := uint64(0)
		for k, u := range units[i:min(i+maxN, len(units))] {
			h = h*Multiplier + u
			if n := k + 1; n >= minN && i+k >= len(previous) {
				x.hashes = append(x.hashes, mix(h+begins[n]))
			}
		}
	}
	return append(units[:0], units[max(0, len(units)-maxN+1):]...)
}

// longWord is the number of bytes above which a stream does not keep the beginning of a word.
const longWord = 4096

// shortenWord hashes the beginning of a long word, so that memory does not grow with the word.
func (x *Extractor) shortenWord() {
	if len(x.word) <= longWord {
		return
	}
	if x.long == nil {
		x.long = xxh3.New()
	}
	last := len(x.word) - 1 // an empty x.word would mean that there is no word
	_, _ = x.long.Write(x.word[:last])
	x.word = append(x.word[:0], x.word[last])
}

// wordHash returns H(u) of the current word, which ends with these bytes.
func (x *Extractor) wordHash(word []byte) uint64 {
	if x.long == nil {
		return xxh3.Hash(word)
	}
	_, _ = x.long.Write(word)
	hash := x.long.Sum64()
	x.long = nil
	return hash
}
