package tokenizers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words encodes text as lower-case words and single other characters, such as punctuation. Words of
// the vocabulary have the ids from 2 on, the most frequent first. All other words have the id 1,
// and 0 is the pad id.
type Words struct {
	words []string
	ids   map[string]int32
}

const (
	unknownWord = 1
	firstWord   = 2
	maxWords    = 50000 // maximum number of words, so that the vocabulary fits into a file's schema
	longestWord = 64    // maximum bytes per learned word
)

// newWords returns the tokenizer for a JSON object such as {"type": "words", "words": ["the", …]}.
func newWords(spec json.RawMessage) (Tokenizer, error) {
	var config struct {
		Type  string   `json:"type"`
		Words []string `json:"words"`
	}
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if len(config.Words) == 0 || len(config.Words) > maxWords {
		return nil, fmt.Errorf("tokenizer words: expected a vocabulary of 1 to %d words, found %d (data convert learns it from the training split)", maxWords, len(config.Words))
	}
	t := &Words{config.Words, make(map[string]int32, len(config.Words))}
	for i, word := range config.Words {
		if _, duplicate := t.ids[word]; duplicate {
			return nil, fmt.Errorf("tokenizer words: %q occurs twice", word)
		}
		t.ids[word] = firstWord + int32(i)
	}
	return t, nil
}

// Type returns "words".
func (*Words) Type() string { return "words" }

// VocabSize returns the number of words plus two.
func (t *Words) VocabSize() int { return firstWord + len(t.words) }

// PadID returns 0.
func (*Words) PadID() *int32 { return new(int32) }

func (*Words) scratch() int { return growthPerID }

// Encode returns an id for each word. It fails if the text is not UTF-8.
func (t *Words) Encode(text string) ([]int32, error) {
	if err := checkUTF8(text); err != nil {
		return nil, err
	}
	tokens := make([]int32, 0, len(text)/5)
	EachWord(text, func(word string) {
		id, ok := t.ids[word]
		if !ok {
			id = unknownWord
		}
		tokens = append(tokens, id)
	})
	return tokens, nil
}

// Decode returns the words with a space between them.
func (t *Words) Decode(tokens []int32) string {
	words := make([]string, len(tokens))
	for i, id := range tokens {
		switch index := int(id) - firstWord; {
		case index >= 0 && index < len(t.words):
			words[i] = t.words[index]
		case id == 0:
			words[i] = "<pad>"
		default:
			words[i] = "<unknown>"
		}
	}
	return strings.Join(words, " ")
}

// EachWord calls visit for every word of a text. A word is a run of letters, digits and marks, in
// lower case, or any other single character except white space.
func EachWord(text string, visit func(word string)) {
	eachWordRange(text, func(start, end int) {
		word := text[start:end]
		if r, size := utf8.DecodeRuneInString(word); size == len(word) && !isWordRune(r) {
			visit(string(r)) // only letters, digits and marks are converted
		} else {
			visit(strings.ToLower(word))
		}
	})
}

// eachWordRange calls visit with the byte range of each word, as EachWord defines words.
func eachWordRange(text string, visit func(start, end int)) {
	start := -1
	endWord := func(at int) {
		if start >= 0 {
			visit(start, at)
			start = -1
		}
	}
	for i, r := range text {
		if isWordRune(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		endWord(i)
		if !unicode.IsSpace(r) {
			_, size := utf8.DecodeRuneInString(text[i:])
			visit(i, i+size)
		}
	}
	endWord(len(text))
}

// isWordRune reports whether a character can be part of a longer word.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// wordsLearner counts words.
type wordsLearner struct {
	vocabSize int
	counts    map[string]*int64 // pointers, so that counting a known word needs no copy of its text
}

// maxCounted is the maximum number of counted words. Above it, rare words are dropped to bound the
// memory.
const maxCounted = 1 << 20

// newWordsLearner returns the learner for a JSON object such as {"type": "words", "vocab": 10000}.
func newWordsLearner(spec json.RawMessage) (Learner, error) {
	config := struct {
		Type  string `json:"type"`
		Vocab int    `json:"vocab"`
	}{Vocab: 10000}
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Vocab < 1 || config.Vocab > maxWords {
		return nil, fmt.Errorf("tokenizer words: vocab: expected 1 to %d, found %d", maxWords, config.Vocab)
	}
	return &wordsLearner{config.Vocab, map[string]*int64{}}, nil
}

// Add counts the words of a text. It refuses text that is not UTF-8; the data set omits such text.
func (l *wordsLearner) Add(text string) error {
	if err := checkUTF8(text); err != nil {
		return err
	}
	EachWord(text, func(word string) {
		if n := l.counts[word]; n != nil {
			*n++
		} else if len(word) <= longestWord {
			n := int64(1)
			l.counts[strings.Clone(word)] = &n // a copy, as word would keep the whole text in memory
		}
	})
	for threshold := int64(1); len(l.counts) > maxCounted; threshold++ {
		maps.DeleteFunc(l.counts, func(_ string, n *int64) bool { return *n <= threshold })
	}
	return nil
}

// Learn returns the JSON with the most frequent words.
func (l *wordsLearner) Learn(context.Context, func(done, all int)) (json.RawMessage, error) {
	words := slices.Collect(maps.Keys(l.counts))
	if len(words) == 0 {
		return nil, errNothingLearned
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(*l.counts[b], *l.counts[a]), cmp.Compare(a, b))
	})
	return json.Marshal(struct {
		Type  string   `json:"type"`
		Words []string `json:"words"`
	}{"words", words[:min(l.vocabSize, len(words))]})
}
