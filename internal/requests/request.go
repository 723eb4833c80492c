// Package requests parses sequences from JSON, and builds the replies with a model's predictions. Commands
// such as predict use it for JSON lines, and the server uses it for requests.
package requests

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// Error codes of JSON-RPC.
const (
	CodeParse    = -32700 // not JSON, or longer than --max-line
	CodeRequest  = -32600 // JSON, but not an object with the expected fields
	CodeParams   = -32602 // a sequence or label that the model cannot read
	CodeInternal = -32603 // for example, the model's output is not finite
)

// Failure is the error in the reply to a line.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Message }

// Fail returns a [*Failure].
func Fail(code int, format string, args ...any) error {
	return &Failure{code, fmt.Sprintf(format, args...)}
}

// Request is a parsed line of input.
type Request struct {
	ID        json.RawMessage
	Sequences [][]int32   // one sequence, or both sequences of a pair
	Lengths   []int       // lengths before truncation by an input window
	Features  [][]float32 // features per token, instead of ids
	Edges     []seq.Edge  // edges of a graph
	Label     json.RawMessage
	Numbers   json.RawMessage
	Labels    json.RawMessage     // labels of a multi-label row, or of tokens
	offsets   []tokenizers.Offset // text positions of the tokens, for tagging
	unit      string              // unit of offsets
	Failure   *Failure            // nil if the line is valid
}

// Tokens returns the number of tokens that the model reads.
func (r *Request) Tokens() int {
	n := len(r.Features)
	for _, s := range r.Sequences {
		n += len(s)
	}
	return n
}

// Example returns the request as an example for the model.
func (r *Request) Example() seq.Example {
	e := seq.Example{A: r.Sequences[0], Features: r.Features, Edges: r.Edges, Label: seq.NoLabel}
	if len(r.Sequences) == 2 {
		e.B = r.Sequences[1]
	}
	return e
}

// Parser parses requests for one model.
type Parser struct {
	Config        *sft.Config
	File          string // name in errors
	Mask          string // text that represents the model's mask token; "" for none
	RecordOffsets bool   // record text positions of the tokens, for predictions of spans
	LengthAdvice  string // next step in the error for a sequence that is too long; "" for none
	sequences     []int  // allowed numbers of sequences: 1, 2, or either

	tokenizer   tokenizers.Tokenizer
	noTokenizer error // reason for a missing tokenizer; tokens can still be read
}

// Window returns the tokens of a sequence that the model reads: see [config.Config.Window].
func (p *Parser) Window(tokens []int32) ([]int32, error) {
	used, err := p.Config.Window(tokens)
	if p.LengthAdvice != "" && errors.As(err, new(*config.LengthError)) {
		err = fmt.Errorf("%w: %s", err, p.LengthAdvice)
	}
	return used, err
}

// NewParser returns a parser for a model with configuration c. dir is the model's directory, which
// may have a tokenizer file. file is the name in errors. sequences are the allowed numbers of
// sequences in a line.
func NewParser(c *sft.Config, dir, file string, sequences ...int) *Parser {
	p := &Parser{Config: c, File: file, sequences: sequences}
	p.tokenizer, p.noTokenizer = tokenizers.Open(c.Tokenizer, dir)
	return p
}

// With returns a copy of the parser for lines of another file, with the given numbers of sequences
// allowed.
func (p *Parser) With(file string, sequences ...int) *Parser {
	q := *p
	q.File, q.sequences = file, sequences
	return &q
}

func (p *Parser) allows(sequences int) bool { return slices.Contains(p.sequences, sequences) }

// Parse parses a line. number is the line number. readErr is the error of reading the line, or nil. For an
// invalid line, the request has a Failure.
func (p *Parser) Parse(line []byte, number int, readErr error) *Request {
	r := &Request{ID: strconv.AppendInt(nil, int64(number), 10)}
	err := readErr
	if err != nil {
		err = Fail(CodeParse, "%v", err)
	} else {
		err = p.fillRequest(r, line)
	}
	if err != nil {
		// All errors of fillRequest are Failures; another type would be a bug.
		if !errors.As(err, &r.Failure) {
			r.Failure = &Failure{Code: CodeInternal, Message: err.Error()}
		}
		r.Failure.Message = fmt.Sprintf("%s:%d: %s", p.File, number, r.Failure.Message)
		r.Sequences, r.Lengths, r.Features, r.Edges, r.offsets = nil, nil, nil, nil, nil
	}
	return r
}

func (p *Parser) fillRequest(r *Request, line []byte) error {
	fields, err := Fields(line, requestFields)
	if err != nil {
		return err
	}
	for key, value := range fields {
		// null counts as absent, except for the id.
		if key != "id" && string(value) == "null" {
			delete(fields, key)
		}
	}
	if id, ok := fields["id"]; ok {
		r.ID = bytes.Clone(id) // the id may outlive the line
	}
	r.Label, r.Numbers, r.Labels = bytes.Clone(fields["label"]), bytes.Clone(fields["numbers"]),
		bytes.Clone(fields["labels"])
	if p.Config.HasFeatures() || fields["features"] != nil {
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
		used, err := p.Window(tokens)
		if err != nil {
			return Fail(CodeParams, "%s: %v", name, err)
		}
		if len(used) < len(tokens) { // without a copy, all tokens would be kept with the request
			used = slices.Clone(used)
		}
		if p.RecordOffsets && strings.HasPrefix(name, "text") {
			if text, err := jsonlines.Text(fields[name]); err == nil {
				p.RecordPositions(r, text, len(used))
			}
		}
		r.Sequences = append(r.Sequences, used)
		r.Lengths = append(r.Lengths, len(tokens))
	}
	return nil
}

// requestFields are the known fields of a line; all other fields are ignored.
var requestFields = map[string]bool{"id": true, "tokens": true, "text": true, "tokens_a": true, "text_a": true,
	"tokens_b": true, "text_b": true, "label": true, "labels": true, "numbers": true, "features": true, "edges": true}

// methodFields are the sequence fields that only JSON-RPC methods support. If a line without a sequence has
// such a field, the error names the first one, unless the parser allows both one sequence and a pair.
var methodFields = []string{"bytes", "bytes_a", "bytes_b", "uri", "uri_a", "uri_b"}

// Fields is like [jsonlines.Fields], with a [*Failure] as its error.
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

// sources returns the names of the fields with the line's sequence, or with both sequences of a
// pair.
func (p *Parser) sources(fields map[string]json.RawMessage, line []byte) ([]string, error) {
	var found [3]string
	for i, suffix := range []string{"", "_a", "_b"} {
		tokens, text := "tokens"+suffix, "text"+suffix
		switch {
		case fields[tokens] != nil && fields[text] != nil:
			return nil, Fail(CodeRequest, "found both %s and %s, expected one of them", tokens, text)
		case fields[tokens] != nil:
			found[i] = tokens
		case fields[text] != nil:
			found[i] = text
		}
	}
	single, a, b := found[0], found[1], found[2]
	switch {
	case single != "" && a+b != "":
		return nil, Fail(CodeRequest, "found both %s and %s, expected one sequence or a pair", single, cmp.Or(a, b))
	case single != "" && p.allows(1):
		return []string{single}, nil
	case a != "" && b != "" && p.allows(2):
		return []string{a, b}, nil
	case p.allows(1) && p.allows(2):
		return nil, Fail(CodeRequest,
			"expected tokens or text, or a pair (tokens_a or text_a, and tokens_b or text_b)")
	case p.allows(2):
		return nil, Fail(CodeRequest, "expected a pair (tokens_a or text_a, and tokens_b or text_b), found %s",
			describeFound(line, single, a, b))
	}
	return nil, Fail(CodeRequest, "expected tokens or text, found %s", describeFound(line, a, b))
}

// describeFound describes, for an error, the fields that a line has instead of the expected fields.
func describeFound(line []byte, names ...string) string {
	for _, n := range names {
		if n != "" {
			return "only " + n
		}
	}
	for quoted := range jsonlines.Members(bytes.TrimSpace(line)) {
		if name := strings.Trim(string(quoted), `"`); slices.Contains(methodFields, name) {
			return name + " (only the methods of sftseq serve accept it)"
		}
	}
	return "neither"
}

// Tokenize returns the tokens of a field with tokens or text. The name of the field begins with
// "tokens" or "text".
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

// ReadsText returns an error if the model cannot read text.
func (p *Parser) ReadsText() error {
	if p.noTokenizer != nil {
		return fmt.Errorf("text requires a tokenizer (tokens do not): %w", p.noTokenizer)
	}
	return nil
}

// EncodesBytes reports whether each byte of a text is a token, independent of other bytes.
func (p *Parser) EncodesBytes() bool {
	_, ok := p.tokenizer.(tokenizers.Byte)
	return ok && p.Mask == ""
}

// Encode returns the tokens of a text, with a mask token for each occurrence of p.Mask unless it is "".
// It returns an error if the model has no tokenizer.
func (p *Parser) Encode(text string) ([]int32, error) {
	if p.noTokenizer != nil {
		return nil, fmt.Errorf("text requires a tokenizer (tokens do not): %w", p.noTokenizer)
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
