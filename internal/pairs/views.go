package pairs

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/ngram"
)

// view is a kind of n-grams of a text.
type view struct {
	units    string
	n        int
	capitals bool // only capitalised words; if n is 1, only capitalised words within a sentence
}

// views are the views for each kind of units. Words exclude punctuation. If the units are words, the view of
// five bytes has ASCII letters in lower case.
var views = map[string][]view{
	ngram.Words: {{ngram.Words, 1, false}, {ngram.Words, 2, false}, {ngram.Words, 1, true}, {ngram.Words, 2, true},
		{ngram.Bytes, 5, false}},
	ngram.Bytes:  {{ngram.Bytes, 3, false}, {ngram.Bytes, 5, false}, {ngram.Bytes, 8, false}},
	ngram.Tokens: {{ngram.Tokens, 1, false}, {ngram.Tokens, 2, false}, {ngram.Tokens, 3, false}},
}

// capital is the capitalisation of a word at one position of a text.
type capital uint8

const (
	notCapitalised capital = iota
	sentenceStart          // capitalised at the beginning of a sentence
	withinSentence         // capitalised within a sentence
)

// gram counts the n-grams of a text that have the same slot.
type gram struct {
	slot    uint32
	count   uint32
	capital capital // minimum over the n-grams; used for single words
}

// bag holds the n-grams of a text in one view, in the order of each slot's first n-gram.
type bag []gram

// text holds the bags of a text.
type text struct {
	bags  []bag // one per view
	words int   // number of units of the first view
}

// reader computes the bags of texts. It is not safe for concurrent use.
type reader struct {
	views      []view
	shift      int
	extractors map[string]*ngram.Extractor // by units
	lower      []int32
	units      []ngram.Unit // without punctuation if the units are words
	capitals   []capital
	slots      slots
}

func newReader(c *Config) *reader {
	r := &reader{views: views[c.Units], shift: 64 - bits.TrailingZeros(uint(c.Slots)),
		extractors: map[string]*ngram.Extractor{}}
	for _, v := range r.views {
		if r.extractors[v.units] == nil {
			r.extractors[v.units] = ngram.NewExtractor(ngram.Options{Units: v.units})
		}
	}
	return r
}

// read sets out to the bags of a text.
func (r *reader) read(tokens []int32, out *text) {
	if out.bags == nil {
		out.bags = make([]bag, len(r.views))
	}
	units := ""
	for i, v := range r.views {
		if v.units != units {
			units = v.units
			r.unitsOf(units, tokens)
		}
		if i == 0 {
			out.words = len(r.units)
		}
		out.bags[i] = r.bag(v, out.bags[i][:0])
	}
}

// unitsOf sets the units and, for words, their capitalisation.
func (r *reader) unitsOf(units string, tokens []int32) {
	x := r.extractors[units]
	switch {
	case units == ngram.Bytes && r.extractors[ngram.Words] != nil:
		r.lower = append(r.lower[:0], tokens...)
		for i, t := range r.lower {
			if c := byte(t - 1); 'A' <= c && c <= 'Z' {
				r.lower[i] += 'a' - 'A'
			}
		}
		tokens = r.lower
	case units == ngram.Words:
		r.words(tokens, x.Units(tokens, r.units[:0]))
		return
	}
	r.units = x.Units(tokens, r.units[:0])
	r.capitals = nil
}

// sentenceEnds are characters after which a capital letter has little meaning: ends of sentences
// and tags, and quotes.
const sentenceEnds = `.!?>"”“…。`

// words sets r.units to the words among the given units, and r.capitals to their capitalisation.
func (r *reader) words(tokens []int32, units []ngram.Unit) {
	r.units, r.capitals = units[:0], r.capitals[:0]
	ended := true
	for _, u := range units {
		c := character(tokens, u)
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) {
			ended = strings.ContainsRune(sentenceEnds, c)
			continue
		}
		capitals := notCapitalised
		if unicode.IsUpper(c) {
			if capitals = withinSentence; ended {
				capitals = sentenceStart
			}
		}
		r.units, r.capitals = append(r.units, u), append(r.capitals, capitals)
		ended = false
	}
}

// character returns the first character of a unit of text.
func character(tokens []int32, u ngram.Unit) rune {
	var b [utf8.UTFMax]byte
	n := 0
	for _, t := range tokens[u.From:min(u.To, u.From+len(b))] {
		b[n] = byte(t - 1)
		n++
	}
	c, _ := utf8.DecodeRune(b[:n])
	return c
}

// slot returns the slot of the n-gram of n units that starts at unit i.
func (r *reader) slot(i, n int) uint32 { return uint32(ngram.HashOf(r.units[i:i+n], 0) >> r.shift) }

// bag appends the n-grams of a view to out.
func (r *reader) bag(v view, out bag) bag {
	r.slots.clear(len(r.units))
	for i := 0; i+v.n <= len(r.units); i++ {
		capitals := notCapitalised
		if r.capitals != nil && (v.n == 1 || v.capitals) {
			capitals = r.capitals[i]
		}
		if v.capitals && (capitals == notCapitalised || v.n == 1 && capitals == sentenceStart ||
			v.n == 2 && r.capitals[i+1] == notCapitalised) {
			continue
		}
		slot := r.slot(i, v.n)
		if at, found := r.slots.put(slot, uint32(len(out))); found {
			out[at].count++
			out[at].capital = min(out[at].capital, capitals)
		} else {
			out = append(out, gram{slot, 1, capitals})
		}
	}
	return out
}

// slots is a map from slots to numbers. Unless it grows, it is cleared in constant time. It is an
// open-addressing table: each call of clear starts a generation, and entries of other generations are
// free.
type slots struct {
	table      []entry
	generation uint32
	shift      int // right shift that turns a 32-bit hash into the index of the first probe
}

type entry struct{ generation, slot, number uint32 }

// clear empties the map and makes room for n slots.
func (s *slots) clear(n int) {
	if size := 1 << bits.Len(uint(max(n, 32)*2-1)); size > len(s.table) {
		s.table, s.generation, s.shift = make([]entry, size), 0, 33-bits.Len(uint(size))
	}
	if s.generation++; s.generation == 0 {
		clear(s.table)
		s.generation = 1
	}
}

// put adds a slot with the given number, unless the map already has the slot. It returns the slot's
// number in the map, and whether the slot was found.
func (s *slots) put(slot, number uint32) (at uint32, found bool) {
	e := s.find(slot)
	if e.generation == s.generation {
		return e.number, true
	}
	*e = entry{s.generation, slot, number}
	return number, false
}

// find returns the entry of a slot, or the free entry for it.
func (s *slots) find(slot uint32) *entry {
	for at := int(slot * 0x9E3779B1 >> s.shift); ; at++ {
		e := &s.table[at&(len(s.table)-1)]
		if e.generation != s.generation || e.slot == slot {
			return e
		}
	}
}
