// Package tokenizers converts text to token ids and back.
//
// A data set and a model contain the JSON object of their tokenizer, such as {"type": "listops"},
// so that both encode text identically. [Types] lists all tokenizers.
package tokenizers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// Tokenizer converts text to token ids and back. Implementations have no mutable state and are safe
// for concurrent use.
type Tokenizer interface {
	// Type returns the name in the tokenizer's JSON, such as "listops".
	Type() string
	// VocabSize returns the largest id of Encode plus one.
	VocabSize() int
	// PadID returns an id that no sequence contains, or nil if every id is a token.
	PadID() *int32
	// Encode returns the ids of text. For text without tokens, it returns no ids and no error.
	Encode(text string) ([]int32, error)
	// Decode returns readable text for ids, including ids that Encode never returns.
	Decode(tokens []int32) string
}

// AppendEncode appends the ids of text to ids, so that callers that read many texts can reuse the
// memory.
func AppendEncode(t Tokenizer, ids []int32, text string) ([]int32, error) {
	if t, ok := t.(interface{ appendEncode([]int32, string) []int32 }); ok {
		return t.appendEncode(ids, text), nil
	}
	more, err := t.Encode(text)
	return append(ids, more...), err
}

// Scratch returns the memory that Encode needs per byte of text, in bytes, besides the ids. A text has at most one id
// per byte, unless the tokenizer.json of an hf tokenizer inserts or expands text: then the number is an estimate.
func Scratch(t Tokenizer) int {
	if t, ok := t.(interface{ scratch() int }); ok {
		return t.scratch()
	}
	return 1
}

// growthPerID is the scratch memory per id, in bytes, of a list to which ids are appended one by
// one. Growing the list needs the old and the new copy, and leaves up to a quarter unused.
const growthPerID = 5

// UnknownID returns the id of unknown words if spec is the JSON of a words or listops tokenizer. For all
// other tokenizers it returns nil.
func UnknownID(spec json.RawMessage) *int32 {
	switch TypeOf(spec) {
	case new(Words).Type():
		return new(int32(unknownWord))
	case ListOps{}.Type():
		return new(ListOpsUnknown)
	}
	return nil
}

// constructors maps the type of each tokenizer to a function that parses its JSON. The function refuses
// unknown keys.
var constructors = map[string]func(spec json.RawMessage) (Tokenizer, error){
	"audio-vq": newAudioVQ,
	"byte":     plain(Byte{}),
	"dna":      newDNA,
	"hf":       newHF,
	"ids":      newIDs,
	"listops":  plain(ListOps{}),
	"mulaw":    newMuLaw,
	"pixel":    plain(Pixel{}),
	"words":    newWords,
}

// plain returns the constructor of a tokenizer whose JSON has only the key "type".
func plain(t Tokenizer) func(json.RawMessage) (Tokenizer, error) {
	return func(spec json.RawMessage) (Tokenizer, error) {
		var config struct {
			Type *string `json:"type"`
		}
		return t, decode(spec, &config)
	}
}

// decode parses a tokenizer's JSON into a struct with its keys.
func decode(spec json.RawMessage, config any) error {
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(config); err != nil {
		return fmt.Errorf("tokenizer %s: expected an object such as {\"type\": \"listops\"}: %w", excerpt(spec), err)
	}
	return nil
}

// New returns the tokenizer for spec, a JSON object with the key "type" and the keys of this type.
func New(spec json.RawMessage) (Tokenizer, error) {
	var config struct {
		Type *string `json:"type"`
	}
	decoder := json.NewDecoder(bytes.NewReader(spec))
	if err := decoder.Decode(&config); err != nil {
		return nil, fmt.Errorf("tokenizer %s: expected an object such as {\"type\": \"listops\"}: %w",
			excerpt(spec), err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("tokenizer %s: expected one JSON object, found more after it", excerpt(spec))
	}
	if config.Type == nil {
		return nil, fmt.Errorf("tokenizer %s: the key \"type\" is missing: expected one of %s", excerpt(spec),
			strings.Join(Types(), ", "))
	}
	newTokenizer, ok := constructors[*config.Type]
	if !ok {
		return nil, fmt.Errorf("tokenizer type %q: expected one of %s", *config.Type,
			strings.Join(Types(), ", "))
	}
	return newTokenizer(spec)
}

// TypeOf returns the type in spec, or "" if spec has no type.
func TypeOf(spec json.RawMessage) string {
	var config struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(spec, &config) != nil {
		return ""
	}
	return config.Type
}

// Types returns the names of the known tokenizers in alphabetical order.
func Types() []string {
	return slices.Sorted(maps.Keys(constructors))
}

// ErrNotUTF8 is wrapped by the errors of the tokenizers words and hf for text that is not UTF-8.
var ErrNotUTF8 = jsonlines.ErrNotUTF8

// checkUTF8 returns an error that wraps [ErrNotUTF8] and names the first byte that is not UTF-8.
func checkUTF8(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	at := 0
	for {
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return notUTF8(text[at], at)
}

// notUTF8 returns the error for a text that is not UTF-8 because of the byte b at the given index.
func notUTF8(b byte, at int) error {
	return fmt.Errorf("%w: found byte 0x%02x at byte %d: convert the text to UTF-8 (for example with iconv -f LATIN1 "+
		"-t UTF-8), or train with --tokenizer byte", ErrNotUTF8, b, at)
}

// excerpt returns JSON for error messages, shortened if it is long.
func excerpt(spec []byte) string {
	if len(spec) > 80 {
		return string(spec[:80]) + "…"
	}
	return string(spec)
}
