package requests

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sftseq/sftseq/tokenizers"
)

// tokenBytes is the memory of a token id or a number, in bytes.
const tokenBytes = 4

// Memory returns an upper bound in bytes for the memory to tokenize a text of n bytes, including its tokens. For an hf
// tokenizer that inserts or expands text, it is an estimate ([tokenizers.Scratch]). It returns 0 if the model has no
// tokenizer.
func (p *Parser) Memory(n int64) int64 {
	if p.noTokenizer != nil {
		return 0
	}
	return n * (tokenBytes + int64(tokenizers.Scratch(p.tokenizer)))
}

// Memory of a feature vector and of an edge in bytes, without their numbers.
const (
	rowBytes  = 24
	edgeBytes = 32
)

// Bytes returns the memory of the request's sequences, features and edges in bytes.
func (r *Request) Bytes() int64 {
	n := int64(rowBytes*len(r.Features) + edgeBytes*len(r.Edges))
	if len(r.Features) > 0 {
		n += int64(tokenBytes * len(r.Features) * len(r.Features[0]))
	}
	if len(r.Edges) > 0 {
		n += int64(tokenBytes * len(r.Edges) * len(r.Edges[0].Features))
	}
	for _, s := range r.Sequences {
		n += int64(tokenBytes * len(s))
	}
	return n
}

// MemoryOf returns an upper bound in bytes for the memory to parse the value of a field with tokens, text,
// features or edges. name is the field's name.
func (p *Parser) MemoryOf(name string, value json.RawMessage) int64 {
	numbers := int64(bytes.Count(value, []byte{','}) + 1)
	switch {
	case strings.HasPrefix(name, "to"):
		return tokenBytes * numbers
	case name == "features":
		return tokenBytes*numbers + rowBytes*int64(bytes.Count(value, []byte{'['}))
	case name == "edges":
		return tokenBytes*numbers + edgeBytes*int64(bytes.Count(value, []byte{'['}))
	}
	return int64(len(value)) + p.Memory(int64(len(value)))
}

// MemoryOfLine returns an upper bound in bytes for the memory to parse a line, without the line itself.
func (p *Parser) MemoryOfLine(line []byte) int64 {
	maxBytes := p.MemoryOf("tokens", line)
	if p.Config.HasFeatures() {
		maxBytes = p.MemoryOf("edges", line)
	}
	if bytes.Contains(line, []byte("text")) || bytes.Contains(line, []byte(`\u`)) { // a field name may have escapes
		maxBytes += p.MemoryOf("text", line)
	}
	return maxBytes
}
