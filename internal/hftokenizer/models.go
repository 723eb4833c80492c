package hftokenizer

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// vocabulary maps tokens to ids.
type vocabulary map[string]int32

func (v vocabulary) id(token string) (int32, bool) {
	id, ok := v[token]
	return id, ok
}

// bytes appends the id of a byte token, such as <0xE2>, for each byte of text. If the vocabulary
// lacks one of these tokens, bytes appends nothing and returns false.
func (v vocabulary) bytes(ids []int32, text string) ([]int32, bool) {
	before := len(ids)
	for i := range len(text) {
		id, ok := v[fmt.Sprintf("<0x%02X>", text[i])]
		if !ok {
			return ids[:before], false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// wordLevel maps each word to an id.
type wordLevel struct {
	vocabulary
	unknown string
}

func (m *wordLevel) encode(ids []int32, word string) ([]int32, error) {
	id, ok := m.vocabulary[word]
	if !ok {
		if id, ok = m.vocabulary[m.unknown]; !ok {
			return nil, fmt.Errorf("%.40q is not in the vocabulary, and the tokenizer has no unknown token", word)
		}
	}
	return append(ids, id), nil
}

// wordPiece splits a word greedily: it repeatedly takes the longest token that is a prefix of the
// remaining text.
type wordPiece struct {
	vocabulary
	unknown       int32
	prefix        string // prefix of tokens that continue a word
	maxChars      int    // maximum number of characters of a word
	maxTokenBytes int    // length of the longest token in bytes
}

func (m *wordPiece) encode(ids []int32, word string) ([]int32, error) {
	if utf8.RuneCountInString(word) > m.maxChars {
		return append(ids, m.unknown), nil
	}
	before, key := len(ids), []byte(m.prefix)
	for start := 0; start < len(word); {
		end, found := min(len(word), start+m.maxTokenBytes), int32(-1)
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

// unigram chooses the split into tokens with the largest sum of scores. Scores are log
// probabilities.
type unigram struct {
	vocabulary
	words        prefixes
	scores       []score
	unknown      int32 // id of the unknown token; -1 without an unknown token
	minScore     float64
	byteFallback bool // characters outside the vocabulary become their bytes
}

// unknownPenalty is the difference between the smallest score of a token and the score of an unknown
// character.
const unknownPenalty = 10

// best is the last token of the best split of a text up to some position.
type best struct {
	score float64
	start int // start of the token; -1 if no split ends at this position
	id    int32
}

func (m *unigram) encode(ids []int32, text string) ([]int32, error) {
	ends := make([]best, len(text)+1)
	for i := range ends {
		ends[i].start = -1
	}
	update := func(end, start int, score float64, id int32) {
		if e := &ends[end]; e.start < 0 || score > e.score {
			*e = best{score, start, id}
		}
	}
	for at := 0; at < len(text); {
		prefix := ends[at].score // score of text[:at]
		_, char := utf8.DecodeRuneInString(text[at:])
		single := false
		m.words.each(text[at:], func(length int, id int32) {
			update(at+length, at, float64(m.scores[id])+prefix, id)
			single = single || length == char
		})
		if !single {
			if m.unknown < 0 {
				return nil, fmt.Errorf("%q is not in the vocabulary, and the tokenizer has no unknown token",
					text[at:at+char])
			}
			update(at+char, at, m.minScore-unknownPenalty+prefix, m.unknown)
		}
		at += char
	}
	// Follow the best tokens backward from the end. Consecutive unknown characters become one token.
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
		if !ok && m.byteFallback {
			if ids, ok = m.vocabulary.bytes(ids, part); ok {
				continue
			}
		}
		if !ok {
			if id = m.unknown; id < 0 {
				return nil, fmt.Errorf("%.40q is not in the vocabulary, and the tokenizer has no unknown token", part)
			}
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// newUnigram returns a model. The id of a token is its index in tokens.
func newUnigram(tokens []string, scores []score, unknown int32, byteFallback bool) (*unigram, error) {
	m := &unigram{vocabulary: vocabulary{}, scores: scores, unknown: unknown, minScore: math.Inf(1),
		byteFallback: byteFallback}
	words, ids := make([]string, 0, len(tokens)), make([]int32, 0, len(tokens))
	for i, token := range tokens {
		m.vocabulary[token] = int32(i)
		m.minScore = min(m.minScore, float64(scores[i]))
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
