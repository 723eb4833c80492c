package hftokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// model reads the model and returns the size of its vocabulary.
func (r *reader) model(text json.RawMessage) (int, error) {
	if isNull(text) {
		return 0, errors.New("is missing")
	}
	k, err := modelKind(text)
	if err != nil {
		return 0, err
	}
	switch k {
	case "BPE":
		return r.bpe(text)
	case "WordPiece":
		return r.wordPiece(text)
	case "WordLevel":
		return r.wordLevel(text)
	case "Unigram":
		return r.unigram(text)
	}
	return 0, fmt.Errorf("%.40q is not supported: expected BPE, Unigram, WordLevel or WordPiece", k)
}

// modelKind returns the value of the key "type". For files without this key, it infers the kind from
// the other keys.
func modelKind(text json.RawMessage) (string, error) {
	if text[0] != '{' {
		return "", fmt.Errorf("expected an object, found %s", jsonlines.Kind(text))
	}
	keys := map[string]json.RawMessage{}
	for key, value := range jsonlines.Members(text) {
		name, err := textOf(key)
		if err != nil {
			return "", err
		}
		keys[name] = value
	}
	if k, ok := keys["type"]; ok {
		var name string
		return name, json.Unmarshal(k, &name)
	}
	for _, known := range []struct{ key, model string }{{"merges", "BPE"},
		{"max_input_chars_per_word", "WordPiece"}, {"unk_id", "Unigram"}} {
		if _, ok := keys[known.key]; ok {
			return known.model, nil
		}
	}
	return "WordLevel", nil
}

// textOf returns the value of a JSON string.
func textOf(value json.RawMessage) (text string, err error) {
	if len(value) >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	return text, json.Unmarshal(value, &text)
}

// vocabulary reads a vocabulary and records its tokens with recordToken. It decodes one token at a time,
// because a slice of all entries would take many times the memory.
func (r *reader) vocabulary(text json.RawMessage) (vocabulary, error) {
	if !isNull(text) && text[0] != '{' {
		return nil, fmt.Errorf("vocab: expected an object, found %s", jsonlines.Kind(text))
	}
	out := vocabulary{}
	for key, value := range jsonlines.Members(text) {
		token, err := textOf(key)
		if err != nil {
			return nil, fmt.Errorf("vocab: %w", err)
		}
		id, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || id < 0 || id >= maxID {
			return nil, fmt.Errorf("vocab: %.40q: expected an id from 0 to %d, found %.40s", token, maxID-1, value)
		}
		if out[token] = int32(id); len(out) > maxID {
			return nil, fmt.Errorf("vocab: expected at most %d tokens, found more", maxID)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("vocab: expected tokens, found none")
	}
	for token, id := range out {
		if err := r.tokenizer.recordToken(token, int64(id)); err != nil {
			return nil, fmt.Errorf("vocab: %w", err)
		}
	}
	return out, nil
}

// countElements returns the number of elements of a list, or 0 for null. It refuses other values, and
// lists with more than maxID elements.
func countElements(key string, list json.RawMessage) (n int, err error) {
	if isNull(list) {
		return 0, nil
	}
	if list[0] != '[' {
		return 0, fmt.Errorf("%s: expected a list, found %s", key, jsonlines.Kind(list))
	}
	for range jsonlines.Elements(list) {
		n++
	}
	if n > maxID {
		return 0, fmt.Errorf("%s: expected at most %d elements, found %d", key, maxID, n)
	}
	return n, nil
}

func (r *reader) wordLevel(text json.RawMessage) (int, error) {
	var o struct {
		Type    string          `json:"type"`
		Vocab   json.RawMessage `json:"vocab"`
		Unknown string          `json:"unk_token"`
	}
	if err := strict(text, &o); err != nil {
		return 0, err
	}
	v, err := r.vocabulary(o.Vocab)
	r.tokenizer.model, r.tokenizer.join = &wordLevel{v, o.Unknown}, " "
	return len(v), err
}

func (r *reader) wordPiece(text json.RawMessage) (int, error) {
	o := struct {
		Type     string          `json:"type"`
		Vocab    json.RawMessage `json:"vocab"`
		Unknown  string          `json:"unk_token"`
		Prefix   string          `json:"continuing_subword_prefix"`
		MaxChars int             `json:"max_input_chars_per_word"`
	}{Unknown: "[UNK]", Prefix: "##", MaxChars: 100}
	if err := strict(text, &o); err != nil {
		return 0, err
	}
	v, err := r.vocabulary(o.Vocab)
	if err != nil {
		return 0, err
	}
	unknown, ok := v[o.Unknown]
	if !ok {
		return 0, fmt.Errorf("unk_token: %.40q is not in the vocabulary", o.Unknown)
	}
	m := &wordPiece{vocabulary: v, unknown: unknown, prefix: o.Prefix, maxChars: o.MaxChars}
	for token := range v {
		m.maxTokenBytes = max(m.maxTokenBytes, len(token))
	}
	r.tokenizer.model, r.tokenizer.join, r.tokenizer.prefix = m, " ", o.Prefix
	return len(v), nil
}

func (r *reader) bpe(text json.RawMessage) (int, error) {
	var o struct {
		Type         string          `json:"type"`
		Dropout      *float64        `json:"dropout"`
		Unknown      *string         `json:"unk_token"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		Suffix       *string         `json:"end_of_word_suffix"`
		FuseUnknown  bool            `json:"fuse_unk"`
		ByteFallback bool            `json:"byte_fallback"`
		IgnoreMerges bool            `json:"ignore_merges"`
		Vocab        json.RawMessage `json:"vocab"`
		Merges       json.RawMessage `json:"merges"`
	}
	if err := strict(text, &o); err != nil {
		return 0, err
	}
	switch {
	case o.Dropout != nil && *o.Dropout != 0:
		return 0, errors.New("dropout is not supported: ids would be random")
	case o.Prefix != nil && *o.Prefix != "":
		return 0, fmt.Errorf("continuing_subword_prefix %.40q is not supported", *o.Prefix)
	case o.Suffix != nil && *o.Suffix != "":
		return 0, fmt.Errorf("end_of_word_suffix %.40q is not supported", *o.Suffix)
	}
	v, err := r.vocabulary(o.Vocab)
	if err != nil {
		return 0, err
	}
	merges, err := readMerges(o.Merges)
	if err != nil {
		return 0, err
	}
	m, err := newBPE(v, merges)
	if err != nil {
		return 0, err
	}
	m.fuseUnknown, m.byteFallback, m.ignoreMerges = o.FuseUnknown, o.ByteFallback, o.IgnoreMerges
	if o.Unknown != nil {
		id, ok := v[*o.Unknown]
		if !ok {
			return 0, fmt.Errorf("unk_token: %.40q is not in the vocabulary", *o.Unknown)
		}
		m.unknown = id
	}
	r.tokenizer.model = m
	return len(v), nil
}

// readMerges reads pairs of tokens: lists of two tokens, or in older files two tokens separated by
// a space.
func readMerges(texts json.RawMessage) ([][2]string, error) {
	n, err := countElements("merges", texts)
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, 0, n)
	for text := range jsonlines.Elements(texts) {
		i := len(merges)
		var tokens []string
		var joined string
		if json.Unmarshal(text, &tokens) != nil {
			if err := json.Unmarshal(text, &joined); err != nil {
				return nil, fmt.Errorf("merges[%d]: %w", i, err)
			}
			tokens = strings.Split(joined, " ")
		}
		if len(tokens) != 2 {
			return nil, fmt.Errorf("merges[%d]: expected two tokens, found %d", i, len(tokens))
		}
		merges = append(merges, [2]string(tokens))
	}
	return merges, nil
}

func (r *reader) unigram(text json.RawMessage) (int, error) {
	var o struct {
		Type         string          `json:"type"`
		Unknown      *int64          `json:"unk_id"`
		ByteFallback bool            `json:"byte_fallback"`
		Vocab        json.RawMessage `json:"vocab"`
	}
	if err := strict(text, &o); err != nil {
		return 0, err
	}
	n, err := countElements("vocab", o.Vocab)
	if err != nil {
		return 0, err
	}
	unknown := int32(-1)
	if o.Unknown != nil {
		if *o.Unknown < 0 || *o.Unknown >= int64(n) {
			return 0, fmt.Errorf("unk_id: expected 0 to %d, found %d", n-1, *o.Unknown)
		}
		unknown = int32(*o.Unknown)
	}
	tokens, scores := make([]string, n), make([]score, n)
	i := -1
	for text := range jsonlines.Elements(o.Vocab) {
		i++
		var entry [2]json.RawMessage
		err := json.Unmarshal(text, &entry)
		if err == nil {
			err = errors.Join(json.Unmarshal(entry[0], &tokens[i]), json.Unmarshal(entry[1], &scores[i]))
		}
		if err != nil {
			return 0, fmt.Errorf("vocab[%d]: expected a token and its score: %w", i, err)
		}
		if err := r.tokenizer.recordToken(tokens[i], int64(i)); err != nil {
			return 0, fmt.Errorf("vocab[%d]: %w", i, err)
		}
	}
	m, err := newUnigram(tokens, scores, unknown, o.ByteFallback)
	if err != nil {
		return 0, err
	}
	r.tokenizer.model = m
	return len(tokens), nil
}
