package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"sftseq/seq"
	"sftseq/sft"
	"sftseq/tokenizers"
)

// Codes of what may be wrong with a line, those of JSON-RPC.
const (
	codeParse    = -32700 // not a line of JSON, or longer than --max-line
	codeRequest  = -32600 // JSON, but not an object with the fields expected
	codeParams   = -32602 // a sequence or label that the model cannot read
	codeInternal = -32603 // the model's output is not finite
)

// failure is what a line is refused for.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

func fail(code int, format string, args ...any) error {
	return &failure{code, fmt.Sprintf(format, args...)}
}

// request is one line of input.
type request struct {
	id        json.RawMessage
	sequences [][]int32 // what the model reads: one sequence, or two of a pair
	lengths   []int     // before an input window cut them
	label     json.RawMessage
	failure   *failure // nil if the line can be answered
}

// tokens is the number of tokens that the model reads.
func (r *request) tokens() int {
	n := 0
	for _, s := range r.sequences {
		n += len(s)
	}
	return n
}

// example is the request as the model takes it.
func (r *request) example() seq.Example {
	e := seq.Example{A: r.sequences[0], Label: seq.NoLabel}
	if len(r.sequences) == 2 {
		e.B = r.sequences[1]
	}
	return e
}

// parser reads requests for one model.
type parser struct {
	config       *sft.Config
	file         string
	single, pair bool // what a line may hold

	tokenizer   tokenizers.Tokenizer
	noTokenizer error // why there is none; tokens can be read without
}

func newParser(c *sft.Config, file string, single, pair bool) *parser {
	p := &parser{config: c, file: file, single: single, pair: pair}
	p.tokenizer, p.noTokenizer = tokenizers.New(c.Tokenizer)
	return p
}

// parse reads the line of a number; bad is set where it could not be read.
func (p *parser) parse(line []byte, number int, bad error) *request {
	r := &request{id: strconv.AppendInt(nil, int64(number), 10)}
	err := bad
	if err != nil {
		err = fail(codeParse, "%v", err)
	} else {
		err = p.fill(r, line)
	}
	if err != nil {
		// Every error made below is a failure; another kind would be a mistake here.
		if !errors.As(err, &r.failure) {
			r.failure = &failure{Code: codeInternal, Message: err.Error()}
		}
		r.failure.Message = fmt.Sprintf("%s:%d: %s", p.file, number, r.failure.Message)
		r.sequences, r.lengths = nil, nil
	}
	return r
}

func (p *parser) fill(r *request, line []byte) error {
	fields, err := objectFields(line)
	if err != nil {
		return err
	}
	if id, ok := fields["id"]; ok {
		r.id = id
	}
	r.label = fields["label"]
	names, err := p.sources(fields)
	if err != nil {
		return err
	}
	for _, name := range names {
		tokens, err := p.sequence(name, fields[name])
		if err != nil {
			return fail(codeParams, "%s: %v", name, err)
		}
		used, err := p.config.Window(tokens)
		if err != nil {
			return fail(codeParams, "%s: %v", name, err)
		}
		r.sequences = append(r.sequences, used)
		r.lengths = append(r.lengths, len(tokens))
	}
	return nil
}

// requestFields are the fields with a meaning; all others are passed over.
var requestFields = map[string]bool{"id": true, "tokens": true, "text": true, "tokens_a": true, "text_a": true,
	"tokens_b": true, "text_b": true, "label": true}

// objectFields cuts a JSON object into the fields with a meaning. A null is as
// good as an absent one, except for the id.
func objectFields(line []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(line) {
		at := 0
		for {
			r, n := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && n == 1 {
				return nil, fail(codeParse, "column %d: not UTF-8", at+1)
			}
			at += n
		}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fail(codeParse, "column %d: not JSON: %v", syntax.Offset, err)
		}
		return nil, fail(codeParse, "not JSON: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fail(codeRequest, "expected a JSON object, found %s", kind(bytes.TrimSpace(line)))
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fail(codeParse, "not JSON: %v", err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fail(codeParse, "not JSON: %v", err)
		}
		key, _ := name.(string)
		if !requestFields[key] || key != "id" && string(value) == "null" {
			continue
		}
		if fields[key] != nil {
			return nil, fail(codeRequest, "the field %s occurs twice", key)
		}
		fields[key] = value
	}
	return fields, nil
}

// sources names the fields that hold the sequence, or the two of a pair.
func (p *parser) sources(fields map[string]json.RawMessage) ([]string, error) {
	var found [3]string
	for i, suffix := range []string{"", "_a", "_b"} {
		tokens, text := "tokens"+suffix, "text"+suffix
		switch {
		case fields[tokens] != nil && fields[text] != nil:
			return nil, fail(codeRequest, "both %s and %s, expected one of them", tokens, text)
		case fields[tokens] != nil:
			found[i] = tokens
		case fields[text] != nil:
			found[i] = text
		}
	}
	single, a, b := found[0], found[1], found[2]
	switch {
	case single != "" && a+b != "":
		return nil, fail(codeRequest, "both %s and %s, expected one sequence or a pair", single, a+b)
	case single != "" && p.single:
		return []string{single}, nil
	case a != "" && b != "" && p.pair:
		return []string{a, b}, nil
	case p.single && p.pair:
		return nil, fail(codeRequest, "expected tokens or text, or both of a pair (tokens_a or text_a, tokens_b or text_b)")
	case p.pair:
		return nil, fail(codeRequest, "expected a pair (tokens_a or text_a, and tokens_b or text_b), found %s", anyOf(single, a, b))
	}
	return nil, fail(codeRequest, "expected tokens or text, found %s", anyOf(a, b))
}

func anyOf(names ...string) string {
	for _, n := range names {
		if n != "" {
			return "only " + n
		}
	}
	return "neither"
}

// sequence reads a field with tokens or text.
func (p *parser) sequence(name string, value json.RawMessage) ([]int32, error) {
	if name[:2] == "to" {
		return parseTokens(value)
	}
	if p.noTokenizer != nil {
		return nil, fmt.Errorf("it needs a tokenizer, as tokens do not: %w", p.noTokenizer)
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return nil, fmt.Errorf("expected a string, found %s", kind(value))
	}
	return p.tokenizer.Encode(text)
}
