package requests

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/sftseq/sftseq/tokenizers"
)

// tokenBytes is what a token takes.
const tokenBytes = 4

// Memory is the most that making tokens of a text of n bytes takes, the tokens among it,
// which are no more than the bytes.
func (p *Parser) Memory(n int64) int64 {
	if p.noTokenizer != nil {
		return 0
	}
	return n * (tokenBytes + int64(tokenizers.Scratch(p.tokenizer)))
}

// What a token's features and an edge take beside their numbers.
const (
	rowBytes  = 24
	edgeBytes = 32
)

// Bytes is what the sequences of a request take.
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

// MemoryOf is the same of the value of a field with tokens, text, features or edges.
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

// MemoryOfLine is the most that parsing a line takes, beside the line.
func (p *Parser) MemoryOfLine(line []byte) int64 {
	most := p.MemoryOf("tokens", line)
	if p.Config.Featured() {
		most = p.MemoryOf("edges", line)
	}
	if bytes.Contains(line, []byte("text")) || bytes.Contains(line, []byte(`\u`)) { // a name may have escapes
		most += p.MemoryOf("text", line)
	}
	return most
}
