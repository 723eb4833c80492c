package tokenizers

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Stream encodes a text that arrives in parts. It returns the ids and the errors that Encode returns for
// the whole text. Its memory does not grow with the text. It is not safe for concurrent use.
type Stream interface {
	// Append appends the ids that the next part of the text completes.
	Append(ids []int32, part []byte) ([]int32, error)
	// End appends the remaining ids after the last part.
	End(ids []int32) ([]int32, error)
}

// streaming lists the types of tokenizers with a [Stream].
var streaming = []string{"byte", "dna", "pixel", "words"}

// NewStream returns a stream for a text. It returns an error for tokenizers that need the whole text.
func NewStream(t Tokenizer) (Stream, error) {
	switch t := t.(type) {
	case Byte:
		return &byteStream{first: 1}, nil
	case Pixel:
		return &byteStream{}, nil
	case DNA:
		return &dnaStream{t: t}, nil
	case *Words:
		return newWordStream(t), nil
	case nil:
		return nil, fmt.Errorf("the model has no tokenizer: a text in parts needs one of %s",
			strings.Join(streaming, ", "))
	}
	return nil, fmt.Errorf("tokenizer %s needs the whole text: a text in parts needs one of %s", t.Type(),
		strings.Join(streaming, ", "))
}

// byteStream encodes each byte as the id first + byte.
type byteStream struct{ first int32 } // id of the byte 0

func (s *byteStream) Append(ids []int32, part []byte) ([]int32, error) {
	n := len(ids)
	ids = slices.Grow(ids, len(part))[:n+len(part)]
	for i, to := 0, ids[n:]; i < len(to); i++ {
		to[i] = int32(part[i]) + s.first
	}
	return ids, nil
}

func (s *byteStream) End(ids []int32) ([]int32, error) { return ids, nil }

// wordStream encodes the words of a text.
type wordStream struct {
	*Words
	at      int    // bytes of the text before pending
	pending []byte // incomplete character
	word    []byte // current word in lower case, or its beginning if the word is longer than longest
	longest int    // bytes of the longest word of the vocabulary
}

func newWordStream(t *Words) *wordStream {
	s := &wordStream{Words: t}
	for _, word := range t.words {
		s.longest = max(s.longest, len(word))
	}
	return s
}

func (s *wordStream) Append(ids []int32, part []byte) (_ []int32, err error) {
	for len(s.pending) > 0 && len(part) > 0 {
		s.pending, part = append(s.pending, part[0]), part[1:]
		if ids, s.pending, err = s.append(ids, s.pending); err != nil {
			return nil, err
		}
	}
	ids, rest, err := s.append(ids, part)
	s.pending = append(s.pending, rest...)
	return ids, err
}

// append appends the ids of the words that a text completes. It returns the incomplete character at the end.
func (s *wordStream) append(ids []int32, text []byte) ([]int32, []byte, error) {
	for len(text) > 0 && utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			return nil, nil, notUTF8(text[0], s.at)
		}
		if isWordRune(r) {
			if len(s.word) <= s.longest {
				s.word = utf8.AppendRune(s.word, unicode.ToLower(r))
			}
		} else {
			ids = s.endWord(ids)
			if !unicode.IsSpace(r) {
				ids = append(ids, s.id(text[:n]))
			}
		}
		s.at += n
		text = text[n:]
	}
	return ids, text, nil
}

// endWord appends the id of the current word, if there is one.
func (s *wordStream) endWord(ids []int32) []int32 {
	if len(s.word) > 0 {
		ids = append(ids, s.id(s.word))
		s.word = s.word[:0]
	}
	return ids
}

func (s *wordStream) id(word []byte) int32 {
	if id, ok := s.ids[string(word)]; ok {
		return id
	}
	return unknownWord
}

func (s *wordStream) End(ids []int32) ([]int32, error) {
	if len(s.pending) > 0 {
		return nil, notUTF8(s.pending[0], s.at)
	}
	return s.endWord(ids), nil
}
