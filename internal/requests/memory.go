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

// MemoryOf is the same of the value of a field with tokens or text.
func (p *Parser) MemoryOf(name string, value json.RawMessage) int64 {
	if strings.HasPrefix(name, "to") {
		return tokenBytes * int64(bytes.Count(value, []byte{','})+1)
	}
	return int64(len(value)) + p.Memory(int64(len(value)))
}

// MemoryOfLine is the most that parsing a line takes, beside the line.
func (p *Parser) MemoryOfLine(line []byte) int64 {
	most := p.MemoryOf("tokens", line)
	if bytes.Contains(line, []byte("text")) || bytes.Contains(line, []byte(`\u`)) { // which may be in a name
		most += p.MemoryOf("text", line)
	}
	return most
}
