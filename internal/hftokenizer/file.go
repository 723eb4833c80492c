package hftokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// file holds the content of a tokenizer.json.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// Parse returns the tokenizer that the text of a tokenizer.json describes.
func Parse(text []byte) (*Tokenizer, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("expected at most %d MiB, found %d bytes", MaxFile>>20, len(text))
	}
	if !utf8.Valid(text) {
		return nil, errors.New("expected UTF-8")
	}
	var f file
	if err := strict(text, &f); err != nil {
		return nil, err
	}
	if f.Version != "1.0" {
		return nil, fmt.Errorf("version: expected \"1.0\", found %.40q", f.Version)
	}
	t := &Tokenizer{added: map[int32]bool{}}
	r := reader{tokenizer: t}
	var err error
	if t.normalize, err = r.normalizer(f.Normalizer); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.split, err = r.splitter(f.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if r.firstOnly && r.shortens {
		return nil, errors.New("pre_tokenizer: Metaspace with prepend_scheme \"first\" is not supported with a normalizer that removes characters")
	}
	vocab, err := r.model(f.Model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if err := t.readAdded(f.AddedTokens, vocab); err != nil {
		return nil, err
	}
	return t, nil
}

// strict decodes exactly one JSON value and refuses unknown keys.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("expected one JSON value, found more after it")
	}
	return nil
}

// isNull reports whether the value of a key is absent or null.
func isNull(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || string(text) == "null"
}

// reader builds a tokenizer from the parts of a file.
type reader struct {
	tokenizer *Tokenizer
	depth     int
	firstOnly bool // a Metaspace prefixes only the first word
	shortens  bool // a normalizer removes characters
	cut       bool // a splitter other than a sequence has been read
}

// maxDepth is the maximum nesting of stages: a stage in a sequence is one level deeper than the sequence.
const maxDepth = 16

// recordToken records the text of a token for Decode, and extends the vocabulary size to include its
// id.
func (t *Tokenizer) recordToken(token string, id int64) error {
	if id < 0 || id >= maxID {
		return fmt.Errorf("%.40q: expected an id from 0 to %d, found %d", token, maxID-1, id)
	}
	t.size = max(t.size, int(id)+1)
	for len(t.tokens) < t.size {
		t.tokens = append(t.tokens, make([]string, t.size-len(t.tokens))...)
	}
	if old := t.tokens[id]; old == "" || token < old {
		t.tokens[id] = token
	}
	return nil
}

// readStage calls read for a stage of the tokenizer. The kind of the stage is the value of its key
// "type". readStage limits the nesting of stages to maxDepth.
func readStage[T any](r *reader, text json.RawMessage, read func(kind string, text json.RawMessage) (T, error)) (t T,
	kind string, err error) {
	if r.depth++; r.depth > maxDepth {
		return t, "", fmt.Errorf("expected stages nested at most %d deep, found more", maxDepth)
	}
	defer func() { r.depth-- }()
	var o struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return t, "", err
	}
	if t, err = read(o.Type, text); err != nil {
		err = fmt.Errorf("%.40q: %w", o.Type, err)
	}
	return t, o.Type, err
}

// maxStages is the maximum number of stages in a sequence.
const maxStages = 1024

// readStages reads the stages of a sequence. It stops at the first error.
func readStages[T any](texts json.RawMessage, read func(json.RawMessage) (T, error)) (all []T, err error) {
	if !isNull(texts) && texts[0] != '[' {
		return nil, fmt.Errorf("expected a list, found %s", jsonlines.Kind(texts))
	}
	for text := range jsonlines.Elements(texts) {
		if len(all) == maxStages {
			return nil, fmt.Errorf("expected a sequence of at most %d stages, found more", maxStages)
		}
		stage, err := read(text)
		if err != nil {
			return nil, err
		}
		all = append(all, stage)
	}
	return all, nil
}
