package hftokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// splitter reads a pre-tokenizer, which may be a sequence. For null it returns one that does not split.
func (r *reader) splitter(text json.RawMessage) (splitter, error) {
	if isNull(text) {
		return splitters(nil), nil
	}
	s, k, err := readStage(r, text, r.splitterOf)
	r.cut = r.cut || err == nil && k != "Sequence"
	return s, err
}

func (r *reader) splitterOf(kind string, text json.RawMessage) (splitter, error) {
	var bare struct {
		Type string `json:"type"`
	}
	removed, isolated := behaviours["Removed"], behaviours["Isolated"]
	switch kind {
	case "BertPreTokenizer":
		return splitters{cut{find: findChars(unicode.IsSpace), behaviour: removed},
			cut{find: findChars(isPunctuation), behaviour: isolated}}, strict(text, &bare)
	case "WhitespaceSplit":
		return cut{find: findChars(unicode.IsSpace), behaviour: removed}, strict(text, &bare)
	case "Whitespace":
		return cut{find: words, invert: true, behaviour: removed}, strict(text, &bare)
	case "Digits":
		var o struct {
			Type       string `json:"type"`
			Individual bool   `json:"individual_digits"`
		}
		err := strict(text, &o)
		if o.Individual {
			return cut{find: findChars(unicode.IsNumber), behaviour: isolated}, err
		}
		return cut{find: findChars(unicode.IsNumber), behaviour: behaviours["Contiguous"]}, err
	case "Punctuation":
		o := struct {
			Type      string `json:"type"`
			Behaviour string `json:"behavior"`
		}{Behaviour: "Isolated"}
		if err := strict(text, &o); err != nil {
			return nil, err
		}
		return newCut(findChars(isPunctuation), false, o.Behaviour)
	case "Split":
		return readSplit(text)
	case "ByteLevel":
		return r.byteLevel(text)
	case "Metaspace":
		return r.metaspace(text)
	case "Sequence":
		var o struct {
			Type          string          `json:"type"`
			PreTokenizers json.RawMessage `json:"pretokenizers"`
		}
		if err := strict(text, &o); err != nil {
			return nil, err
		}
		all, err := readStages(o.PreTokenizers, r.splitter)
		return splitters(all), err
	}
	return nil, errors.New("is not supported: expected BertPreTokenizer, ByteLevel, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace or WhitespaceSplit")
}

// newCut returns a cut with the named behaviour.
func newCut(find func(string) ([]span, error), invert bool, name string) (splitter, error) {
	b, ok := behaviours[name]
	if !ok {
		return nil, fmt.Errorf("behavior: %.40q is not supported: expected Contiguous, Isolated, MergedWithNext, "+
			"MergedWithPrevious or Removed", name)
	}
	return cut{find, invert, b}, nil
}

func readSplit(text json.RawMessage) (splitter, error) {
	var o struct {
		Type      string  `json:"type"`
		Pattern   pattern `json:"pattern"`
		Behaviour string  `json:"behavior"`
		Invert    bool    `json:"invert"`
	}
	if err := strict(text, &o); err != nil {
		return nil, err
	}
	switch p := o.Pattern; {
	case p.String != nil && p.Regex == nil && *p.String != "":
		return newCut(literal(*p.String), o.Invert, o.Behaviour)
	case p.Regex != nil && p.String == nil:
		e := expression(*p.Regex)
		if e == nil {
			return nil, fmt.Errorf("the expression %.120q is not supported: expected a pattern of GPT-2, cl100k, Llama 3, Qwen, o200k, Tekken or DeepSeek V3", *p.Regex)
		}
		return newCut(matches(e), o.Invert, o.Behaviour)
	}
	return nil, errors.New("pattern: expected a String that is not empty, or a Regex")
}

func (r *reader) byteLevel(text json.RawMessage) (splitter, error) {
	o := struct {
		Type  string `json:"type"`
		Space bool   `json:"add_prefix_space"`
		Trim  bool   `json:"trim_offsets"`
		Regex bool   `json:"use_regex"`
	}{Space: true, Trim: true, Regex: true}
	if err := strict(text, &o); err != nil {
		return nil, err
	}
	r.tokenizer.byteLevel = true
	b := byteLevel{space: o.Space}
	if o.Regex {
		b.cut = cut{find: matches(expression(gpt2)), behaviour: behaviours["Isolated"]}
	}
	return b, nil
}

func (r *reader) metaspace(text json.RawMessage) (splitter, error) {
	o := struct {
		Type        string  `json:"type"`
		Replacement string  `json:"replacement"`
		Scheme      *string `json:"prepend_scheme"`
		Space       *bool   `json:"add_prefix_space"` // only in older files
		Split       *bool   `json:"split"`
		Char        *string `json:"str_rep"` // only in older files; repeats the replacement
	}{}
	if err := strict(text, &o); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(o.Replacement) != 1 || o.Replacement == " " || o.Char != nil && *o.Char != o.Replacement {
		return nil, fmt.Errorf("replacement: expected one character other than a space, and the same str_rep "+
			"if present, found %.40q", o.Replacement)
	}
	m := metaspace{char: o.Replacement, always: true, cut: o.Split == nil || *o.Split}
	switch {
	case o.Scheme == nil:
		m.always = o.Space == nil || *o.Space
	case *o.Scheme == "never":
		m.always = false
	case *o.Scheme == "first" && !r.cut:
		m.always, m.first, r.firstOnly = false, true, true
	case *o.Scheme != "always":
		return nil, fmt.Errorf("prepend_scheme: %.40q is not supported: expected always, never, or first in the "+
			"first pre-tokenizer", *o.Scheme)
	}
	return m, nil
}
