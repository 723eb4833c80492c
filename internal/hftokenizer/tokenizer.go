// Package hftokenizer reads a tokenizer.json, the file format of Hugging Face's tokenizers, and
// encodes text with the same ids as their library.
//
// Encoding has four stages. Added tokens are separated; the text between them is normalized and
// split into words; a model (BPE, WordPiece, Unigram or WordLevel) encodes each word. Parse returns
// an error for content that this package does not support. The ids of this package and the library
// were compared on all characters of Unicode. They differ only for recent characters, because the
// Unicode tables have different versions: this package does not lowercase letters that Unicode 16
// added, and the library does not decompose a few characters added since Unicode 10, such as U+32FF.
//
// The file's post_processor, decoder, padding and truncation are not applied.
package hftokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxFile is the maximum size of a tokenizer.json in bytes.
const MaxFile = 64 << 20

// maxID is the exclusive upper bound of ids. It limits the size of a model's embedding table.
const maxID = 1 << 22

// A Tokenizer encodes text to ids. It is safe for concurrent use.
type Tokenizer struct {
	raw        *matcher // added tokens that are matched in the raw text
	normalized *matcher // added tokens that are matched in normalized text
	normalize  normalizer
	split      splitter
	model      model

	tokens    []string // by id; empty for unused ids
	added     map[int32]bool
	byteLevel bool   // the model's characters represent bytes
	join      string // text between two tokens in the result of Decode
	prefix    string // prefix of tokens that continue a word
	size      int    // vocabulary size
}

// A model encodes a word to ids.
type model interface {
	encode(ids []int32, word string) ([]int32, error)
	id(token string) (int32, bool)
}

// VocabSize returns the largest id plus one.
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

// section appends the ids of the text between two added tokens.
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

// Decode returns readable text for ids, including ids that Encode never returns.
func (t *Tokenizer) Decode(ids []int32) string {
	var out []byte
	for i, id := range ids {
		token := "<unknown>"
		if id >= 0 && int(id) < len(t.tokens) && t.tokens[id] != "" {
			token = t.tokens[id]
		}
		continues := t.prefix != "" && strings.HasPrefix(token, t.prefix)
		if i > 0 && !continues {
			out = append(out, t.join...)
		}
		switch {
		case t.added[id]:
			out = append(out, token...)
		case t.byteLevel:
			out = appendBytes(out, token)
		case continues && i > 0:
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
