// Package hftokenizer reads a tokenizer.json, the file of Hugging Face's tokenizers, and
// turns text into the ids that their library gives.
//
// A text goes through four stages: added tokens are cut out, the rest is normalized, cut
// into words, and each word is looked up by the model (BPE, WordPiece, Unigram or
// WordLevel). What this package does not know, or knows to differ, is an error when the
// file is read. All characters of Unicode were compared; those known to differ came late, as
// tables are of other versions: capitals since Unicode 16, which are not made small here,
// and a few characters since Unicode 10 that the library's normal forms do not take apart, such
// as U+32FF.
//
// Nothing is added to a text and nothing is cut off: the file's post_processor, padding
// and truncation are not applied.
package hftokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxFile is how many bytes a tokenizer.json may have.
const MaxFile = 64 << 20

// maxID keeps a model's table of embeddings within reason.
const maxID = 1 << 22

// A Tokenizer turns text into ids. It is safe for concurrent use.
type Tokenizer struct {
	raw        *matcher // added tokens that are matched in the raw text
	normalized *matcher // added tokens that are matched in normalized text
	normalize  normalizer
	split      splitter
	model      model

	tokens    []string // by id; empty where there is none
	added     map[int32]bool
	byteLevel bool // the model's characters stand for bytes
	join      string
	prefix    string // prefix of tokens that continue a word
	size      int
}

// A model turns a word into ids.
type model interface {
	encode(ids []int32, word string) ([]int32, error)
	id(token string) (int32, bool)
}

// VocabSize is one more than the largest id.
func (t *Tokenizer) VocabSize() int { return t.size }

// Encode returns the ids of text.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("expected text in UTF-8, found other bytes")
	}
	ids := make([]int32, 0, len(text)/4+1)
	var err error
	for s := range t.raw.sections(text) {
		if s.added {
			ids = append(ids, s.id)
			continue
		}
		if ids, err = t.section(ids, s); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// section adds the ids of text between two added tokens.
func (t *Tokenizer) section(ids []int32, s section) ([]int32, error) {
	text, err := t.normalize.normalize(s.text)
	if err != nil {
		return nil, err
	}
	for part := range t.normalized.sections(text) {
		if part.added {
			ids = append(ids, part.id)
			continue
		}
		words, err := t.split.split([]string{part.text}, s.first && part.first)
		if err != nil {
			return nil, err
		}
		for _, word := range words {
			if ids, err = t.model.encode(ids, word); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// Decode returns readable text for ids, also for ids that Encode never gives.
func (t *Tokenizer) Decode(ids []int32) string {
	var out []byte
	for i, id := range ids {
		token := "<unknown>"
		if id >= 0 && int(id) < len(t.tokens) && t.tokens[id] != "" {
			token = t.tokens[id]
		}
		goesOn := t.prefix != "" && strings.HasPrefix(token, t.prefix)
		if i > 0 && !goesOn {
			out = append(out, t.join...)
		}
		switch {
		case t.added[id]:
			out = append(out, token...)
		case t.byteLevel:
			out = appendBytes(out, token)
		case goesOn && i > 0:
			out = append(out, token[len(t.prefix):]...)
		default:
			var b byte
			if n, err := fmt.Sscanf(token, "<0x%02X>", &b); n == 1 && err == nil && len(token) == len("<0x00>") {
				out = append(out, b)
				break
			}
			out = append(out, strings.ReplaceAll(token, "▁", " ")...)
		}
	}
	return string(out)
}
