package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/ngram"
)

// Parameters of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).
const (
	saturation    = 1.2  // k₁
	normalisation = 0.75 // b, length normalisation
)

// term is a distinct word of a sequence: its hash and its count.
type term struct{ hash, count uint32 }

// terms are the distinct words of a sequence, sorted by hash, and its number of words.
type terms struct {
	distinct []term
	length   int
}

// splitter splits sequences into words. It is not safe for concurrent use.
type splitter struct {
	extractor *ngram.Extractor
	units     []ngram.Unit
	hashes    []uint32
}

// newSplitter returns a splitter into ngram.Words or ngram.Tokens.
func newSplitter(units string) *splitter {
	return &splitter{extractor: ngram.NewExtractor(ngram.Options{Units: cmp.Or(units, ngram.Tokens)})}
}

func (s *splitter) split(tokens []int32) terms {
	s.units, s.hashes = s.extractor.Units(tokens, s.units[:0]), s.hashes[:0]
	for i := range s.units {
		s.hashes = append(s.hashes, uint32(ngram.HashOf(s.units[i:i+1], 0)>>32))
	}
	slices.Sort(s.hashes)
	t := terms{length: len(s.hashes)}
	for i, h := range s.hashes {
		if i == 0 || h != s.hashes[i-1] {
			t.distinct = append(t.distinct, term{hash: h})
		}
		t.distinct[len(t.distinct)-1].count++
	}
	t.distinct = slices.Clip(t.distinct)
	return t
}

// statistics holds the document frequency of each word and the total number of words.
type statistics struct {
	items  map[uint32]int // number of items by word
	length int            // total number of words of all items
}

// count adds (n = 1) or subtracts (n = -1) the words of an item.
func (s *statistics) count(t terms, n int) {
	s.length += n * t.length
	for _, w := range t.distinct {
		if s.items[w.hash] += n; s.items[w.hash] == 0 {
			delete(s.items, w.hash)
		}
	}
}

// lexicalQuery computes the lexical scores of items for a query.
type lexicalQuery struct {
	terms []term
	idf   []float64 // inverse document frequency of each term
	bound float64   // least upper bound of BM25 for the query
	mean  float64   // mean number of words per item
}

// query returns the lexical query for the current items.
func (t *table) query(q terms) *lexicalQuery {
	l := &lexicalQuery{terms: q.distinct, mean: float64(t.words.length) / float64(max(1, t.count))}
	for _, w := range q.distinct {
		n := float64(t.words.items[w.hash])
		idf := math.Log1p((float64(t.count) - n + 0.5) / (n + 0.5))
		l.idf = append(l.idf, idf)
		l.bound += idf * (saturation + 1)
	}
	return l
}

// score returns the BM25 score of an item divided by l.bound, from 0 to 1, and 0 for a query without words.
func (l *lexicalQuery) score(t terms) float64 {
	sum, at := 0.0, 0
	damping := saturation * (1 - normalisation + normalisation*float64(t.length)/max(1, l.mean))
	for i, w := range l.terms {
		for at < len(t.distinct) && t.distinct[at].hash < w.hash {
			at++
		}
		if at < len(t.distinct) && t.distinct[at].hash == w.hash {
			n := float64(t.distinct[at].count)
			sum += l.idf[i] * n * (saturation + 1) / (n + damping)
		}
	}
	if l.bound > 0 {
		return sum / l.bound
	}
	return 0
}
