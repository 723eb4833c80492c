// Package requests reads sequences that JSON holds and writes what a model says
// of them: the lines of predict and embed, and what a server is asked.
package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// Codes of what may be wrong with a line, those of JSON-RPC.
const (
	CodeParse    = -32700 // not a line of JSON, or longer than --max-line
	CodeRequest  = -32600 // JSON, but not an object with the fields expected
	CodeParams   = -32602 // a sequence or label that the model cannot read
	CodeInternal = -32603 // the model's output is not finite
)

// Failure is what a line is refused for.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

// Fail is a [*Failure].
func Fail(code int, format string, args ...any) error {
	return &Failure{code, fmt.Sprintf(format, args...)}
}

// Request is one line of input.
type Request struct {
	ID        json.RawMessage
	Sequences [][]int32   // input: one sequence, or the two of a pair
	Lengths   []int       // before an input window cut them
	Features  [][]float32 // features of each token, in place of ids
	Edges     []seq.Edge  // edges of a graph
	Label     json.RawMessage
	Numbers   json.RawMessage
	Labels    json.RawMessage     // labels of a multi-label row, or of tokens
	places    []tokenizers.Offset // places of tokens of a text, for tagging
	unit      string              // unit of places
	Failure   *Failure            // nil if the line can be answered
}

// Tokens is the number of tokens that the model reads.
func (r *Request) Tokens() int {
	n := len(r.Features)
	for _, s := range r.Sequences {
		n += len(s)
	}
	return n
}

// Example is the request as the model takes it.
func (r *Request) Example() seq.Example {
	e := seq.Example{A: r.Sequences[0], Features: r.Features, Edges: r.Edges, Label: seq.NoLabel}
	if len(r.Sequences) == 2 {
		e.B = r.Sequences[1]
	}
	return e
}

// Parser reads requests for one model.
type Parser struct {
	Config    *sft.Config
	File      string // named in errors
	Mask      string // stands in a text for the mask of the model; "" for none
	Places    bool   // note where the tokens of a text stand, for answers that have places in it
	sequences []int  // how many a line may hold: 1, 2, or either

	tokenizer   tokenizers.Tokenizer
	noTokenizer error // why there is none; tokens can be read without
}

// NewParser returns a parser for the model of configuration c in a directory, where
// its tokenizer may have a file. File is the name in errors; a line may hold that many
// sequences.
func NewParser(c *sft.Config, dir, file string, sequences ...int) *Parser {
	p := &Parser{Config: c, File: file, sequences: sequences}
	p.tokenizer, p.noTokenizer = tokenizers.Open(c.Tokenizer, dir)
	return p
}

// With is the same parser for other lines.
func (p *Parser) With(file string, sequences ...int) *Parser {
	q := *p
	q.File, q.sequences = file, sequences
	return &q
}

func (p *Parser) takes(sequences int) bool { return slices.Contains(p.sequences, sequences) }

// Parse reads the line of a number; bad is set where it could not be read.
func (p *Parser) Parse(line []byte, number int, bad error) *Request {
	r := &Request{ID: strconv.AppendInt(nil, int64(number), 10)}
	err := bad
	if err != nil {
		err = Fail(CodeParse, "%v", err)
	} else {
		err = p.fill(r, line)
	}
	if err != nil {
		// Every error made below is a failure; another kind would be a mistake here.
		if !errors.As(err, &r.Failure) {
			r.Failure = &Failure{Code: CodeInternal, Message: err.Error()}
		}
		r.Failure.Message = fmt.Sprintf("%s:%d: %s", p.File, number, r.Failure.Message)
		r.Sequences, r.Lengths, r.Features, r.Edges, r.places = nil, nil, nil, nil, nil
	}
	return r
}

func (p *Parser) fill(r *Request, line []byte) error {
	fields, err := Fields(line, requestFields)
	if err != nil {
		return err
	}
	for key, value := range fields {
		// A null is as good as an absent one, except for the id.
		if key != "id" && string(value) == "null" {
			delete(fields, key)
		}
	}
	if id, ok := fields["id"]; ok {
		r.ID = bytes.Clone(id) // it may outlive the line
	}
	r.Label, r.Numbers, r.Labels = bytes.Clone(fields["label"]), bytes.Clone(fields["numbers"]),
		bytes.Clone(fields["labels"])
	if p.Config.Featured() || fields["features"] != nil {
		return p.fillFeatures(r, fields)
	}
	names, err := p.sources(fields, line)
	if err != nil {
		return err
	}
	for _, name := range names {
		tokens, err := p.Tokenize(name, fields[name])
		if err != nil {
			return Fail(CodeParams, "%s: %v", name, err)
		}
		used, err := p.Config.Window(tokens)
		if err != nil {
			return Fail(CodeParams, "%s: %v", name, err)
		}
		if len(used) < len(tokens) { // all of them would be kept as long as the request
			used = slices.Clone(used)
		}
		if p.Places && strings.HasPrefix(name, "text") {
			if text, err := jsonlines.Text(fields[name]); err == nil {
				p.Locate(r, text, len(used))
			}
		}
		r.Sequences = append(r.Sequences, used)
		r.Lengths = append(r.Lengths, len(tokens))
	}
	return nil
}

// requestFields are the fields with a meaning; all others are passed over.
var requestFields = map[string]bool{"id": true, "tokens": true, "text": true, "tokens_a": true, "text_a": true,
	"tokens_b": true, "text_b": true, "label": true, "labels": true, "numbers": true, "features": true, "edges": true}

// methodFields hold a sequence in a request of JSON-RPC. In a line they mean nothing, and an
// error names them.
var methodFields = []string{"bytes", "bytes_a", "bytes_b", "uri", "uri_a", "uri_b"}

// Fields is [jsonlines.Fields] with a [*Failure] as its error.
func Fields(line []byte, known map[string]bool) (map[string]json.RawMessage, error) {
	fields, err := jsonlines.Fields(line, known)
	var syntax *jsonlines.NotJSON
	switch {
	case errors.As(err, &syntax):
		return fields, Fail(CodeParse, "%v", err)
	case err != nil:
		return fields, Fail(CodeRequest, "%v", err)
	}
	return fields, nil
}

// sources names the fields of a line that hold the sequence, or the two of a pair.
func (p *Parser) sources(fields map[string]json.RawMessage, line []byte) ([]string, error) {
	var found [3]string
	for i, suffix := range []string{"", "_a", "_b"} {
		tokens, text := "tokens"+suffix, "text"+suffix
		switch {
		case fields[tokens] != nil && fields[text] != nil:
			return nil, Fail(CodeRequest, "both %s and %s, expected one of them", tokens, text)
		case fields[tokens] != nil:
			found[i] = tokens
		case fields[text] != nil:
			found[i] = text
		}
	}
	single, a, b := found[0], found[1], found[2]
	switch {
	case single != "" && a+b != "":
		return nil, Fail(CodeRequest, "both %s and %s, expected one sequence or a pair", single, a+b)
	case single != "" && p.takes(1):
		return []string{single}, nil
	case a != "" && b != "" && p.takes(2):
		return []string{a, b}, nil
	case p.takes(1) && p.takes(2):
		return nil, Fail(CodeRequest,
			"expected tokens or text, or both of a pair (tokens_a or text_a, tokens_b or text_b)")
	case p.takes(2):
		return nil, Fail(CodeRequest, "expected a pair (tokens_a or text_a, and tokens_b or text_b), found %s",
			foundOf(line, single, a, b))
	}
	return nil, Fail(CodeRequest, "expected tokens or text, found %s", foundOf(line, a, b))
}

// foundOf says in an error what a line has in place of what was expected.
func foundOf(line []byte, names ...string) string {
	for _, n := range names {
		if n != "" {
			return "only " + n
		}
	}
	for quoted := range jsonlines.Members(bytes.TrimSpace(line)) {
		if name := strings.Trim(string(quoted), `"`); slices.Contains(methodFields, name) {
			return name + ", which only the methods of sftseq serve take"
		}
	}
	return "neither"
}

// Tokenize reads the value of a field with tokens or text, whose name begins
// with one of these words.
func (p *Parser) Tokenize(name string, value json.RawMessage) ([]int32, error) {
	if name[:2] == "to" {
		return jsonlines.Tokens(value)
	}
	text, err := jsonlines.Text(value)
	if err != nil {
		return nil, err
	}
	return p.Encode(text)
}

// ReadsText reports why the model takes no text.
func (p *Parser) ReadsText() error {
	if p.noTokenizer != nil {
		return fmt.Errorf("text needs a tokenizer, as tokens do not: %w", p.noTokenizer)
	}
	return nil
}

// Encode turns text into tokens, if the model has a tokenizer.
func (p *Parser) Encode(text string) ([]int32, error) {
	if p.noTokenizer != nil {
		return nil, fmt.Errorf("it needs a tokenizer, as tokens do not: %w", p.noTokenizer)
	}
	if p.Mask == "" {
		return p.tokenizer.Encode(text)
	}
	var tokens []int32
	for i, piece := range strings.Split(text, p.Mask) {
		if i > 0 {
			tokens = append(tokens, *p.Config.MaskTokenID)
		}
		var err error
		if tokens, err = tokenizers.AppendEncode(p.tokenizer, tokens, piece); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
