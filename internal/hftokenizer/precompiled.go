package hftokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// precompiled is SentencePiece's table of replacements: a trie in a double array of units. Its leaves
// are offsets into zero-terminated texts.
type precompiled struct {
	units []uint32
	texts string
}

// clusterLimit is a length in bytes. Like Hugging Face's library, normalize looks up only shorter
// grapheme clusters as a whole.
const clusterLimit = 6

func (p *precompiled) normalize(text string) (string, error) {
	var out strings.Builder
	state, cluster := -1, ""
	for len(text) > 0 {
		cluster, text, _, state = uniseg.FirstGraphemeClusterInString(text, state)
		replacement, whole := "", false
		if len(cluster) < clusterLimit {
			replacement, whole = p.lookup(cluster)
		}
		if whole {
			out.WriteString(replacement)
		} else {
			p.replaceRunes(&out, cluster)
		}
		if out.Len() > maxGrowth {
			return "", errGrowth
		}
	}
	return out.String(), nil
}

// replaceRunes appends text to out, with replacements for the characters that have one.
func (p *precompiled) replaceRunes(out *strings.Builder, text string) {
	for _, r := range text {
		char := string(r)
		if replacement, ok := p.lookup(char); ok {
			char = replacement
		}
		out.WriteString(char)
	}
}

// lookup returns the replacement of the shortest prefix of text that has a replacement. Like
// Hugging Face's library, the caller replaces the whole text with it.
func (p *precompiled) lookup(text string) (string, bool) {
	at := offset(p.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		if at ^= c; c == 0 || at >= uint32(len(p.units)) || p.units[at]&(1<<31|0xFF) != c {
			return "", false
		}
		unit := p.units[at]
		if at ^= offset(unit); unit>>8&1 == 0 {
			continue
		}
		if at >= uint32(len(p.units)) {
			return "", false
		}
		start := p.units[at] & (1<<31 - 1)
		if start > uint32(len(p.texts)) {
			return "", false
		}
		replacement, _, _ := strings.Cut(p.texts[start:], "\x00")
		return replacement, true
	}
	return "", false
}

// offset returns the offset of a unit's children, relative to the unit.
func offset(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

func readPrecompiled(text json.RawMessage) (normalizer, error) {
	var o struct {
		Type string `json:"type"`
		Map  string `json:"precompiled_charsmap"`
	}
	if err := strict(text, &o); err != nil {
		return nil, err
	}
	bytes, err := base64.StdEncoding.DecodeString(o.Map)
	if err != nil {
		return nil, fmt.Errorf("precompiled_charsmap: expected base64: %w", err)
	}
	if len(bytes) < 8 {
		return nil, errors.New("precompiled_charsmap: expected a table of at least 8 bytes, found fewer")
	}
	size := int64(binary.LittleEndian.Uint32(bytes))
	if bytes = bytes[4:]; size < 4 || size%4 != 0 || size > int64(len(bytes)) || !utf8.Valid(bytes[size:]) {
		return nil,
			fmt.Errorf("precompiled_charsmap: expected a table of 4-byte units, then UTF-8 texts, found %d bytes of units in a table of %d bytes", size, len(bytes))
	}
	p := &precompiled{units: make([]uint32, size/4), texts: string(bytes[size:])}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	return p, nil
}
