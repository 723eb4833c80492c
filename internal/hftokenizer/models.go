package hftokenizer

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// vocabulary is tokens and their ids.
type vocabulary map[string]int32

func (v vocabulary) id(token string) (int32, bool) {
	id, ok := v[token]
	return id, ok
}

// bytes are the ids of a character's bytes, such as <0xE2>; false if one is missing.
func (v vocabulary) bytes(ids []int32, char string) ([]int32, bool) {
	before := len(ids)
	for i := range len(char) {
		id, ok := v[fmt.Sprintf("<0x%02X>", char[i])]
		if !ok {
			return ids[:before], false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// wordLevel has an id for each word.
type wordLevel struct {
	vocabulary
	unknown string
}

func (m *wordLevel) encode(ids []int32, word string) ([]int32, error) {
	id, ok := m.vocabulary[word]
	if !ok {
		if id, ok = m.vocabulary[m.unknown]; !ok {
			return nil, fmt.Errorf("%.40q is not in the vocabulary, nor is a token for what is not", word)
		}
	}
	return append(ids, id), nil
}

// wordPiece takes the longest token that a word begins with, and goes on behind it.
type wordPiece struct {
	vocabulary
	unknown int32
	prefix  string // prefix of tokens inside a word
	most    int    // characters of a word
	longest int    // bytes of a token
}

func (m *wordPiece) encode(ids []int32, word string) ([]int32, error) {
	if utf8.RuneCountInString(word) > m.most {
		return append(ids, m.unknown), nil
	}
	before, key := len(ids), []byte(m.prefix)
	for start := 0; start < len(word); {
		end, found := min(len(word), start+m.longest), int32(-1)
		for ; end > start; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			id, ok := m.vocabulary[word[start:end]]
			if start > 0 {
				id, ok = m.vocabulary[string(append(key[:len(m.prefix)], word[start:end]...))]
			}
			if ok {
				found = id
				break
			}
		}
		if found < 0 {
			return append(ids[:before], m.unknown), nil
		}
		ids, start = append(ids, found), end
	}
	return ids, nil
}

// unigram takes the tokens whose scores, the logarithms of their probabilities, have the
// largest sum.
type unigram struct {
	vocabulary
	words   prefixes
	scores  []score
	unknown int32 // -1 if there is none
	least   float64
	bytes   bool // a character that is no token is its bytes
}

// unknownPenalty is what a character that is no token scores below the least token.
const unknownPenalty = 10

// best is how the text up to a place is cut best.
type best struct {
	score float64
	start int // start of the last token; -1 if no path ends here
	id    int32
}

func (m *unigram) encode(ids []int32, text string) ([]int32, error) {
	ends := make([]best, len(text)+1)
	for i := range ends {
		ends[i].start = -1
	}
	better := func(end, start int, score float64, id int32) {
		if e := &ends[end]; e.start < 0 || score > e.score {
			*e = best{score, start, id}
		}
	}
	for at := 0; at < len(text); {
		here := ends[at].score
		_, char := utf8.DecodeRuneInString(text[at:])
		single := false
		m.words.each(text[at:], func(length int, id int32) {
			better(at+length, at, float64(m.scores[id])+here, id)
			single = single || length == char
		})
		if !single {
			if m.unknown < 0 {
				return nil, fmt.Errorf("%q is not in the vocabulary, nor is a token for what is not", text[at:at+char])
			}
			better(at+char, at, m.least-unknownPenalty+here, m.unknown)
		}
		at += char
	}
	// From the end, what is unknown together is one token.
	var cuts [][2]int
	for end := len(text); end > 0; {
		start := ends[end].start
		if n := len(cuts); n > 0 && end < len(text) && m.unknown >= 0 && ends[end].id == m.unknown &&
			ends[cuts[n-1][1]].id == m.unknown {
			cuts[n-1][0] = start
		} else {
			cuts = append(cuts, [2]int{start, end})
		}
		end = start
	}
	for i := len(cuts) - 1; i >= 0; i-- {
		part := text[cuts[i][0]:cuts[i][1]]
		id, ok := m.vocabulary[part]
		if !ok && m.bytes {
			if ids, ok = m.vocabulary.bytes(ids, part); ok {
				continue
			}
		}
		if !ok {
			if id = m.unknown; id < 0 {
				return nil, fmt.Errorf("%.40q is not in the vocabulary, nor is a token for what is not", part)
			}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// newUnigram is one for tokens in the order of their ids.
func newUnigram(tokens []string, scores []score, unknown int32, bytes bool) (*unigram, error) {
	m := &unigram{vocabulary: vocabulary{}, scores: scores, unknown: unknown, least: math.Inf(1), bytes: bytes}
	words, ids := make([]string, 0, len(tokens)), make([]int32, 0, len(tokens))
	for i, token := range tokens {
		m.vocabulary[token] = int32(i)
		m.least = min(m.least, float64(scores[i]))
		if token != "" {
			words, ids = append(words, token), append(ids, int32(i))
		}
	}
	if len(words) == 0 {
		return nil, errors.New("the vocabulary is empty")
	}
	m.words = newPrefixes(words, ids)
	return m, nil
}
