package tokenizers

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// DNA encodes a nucleic acid: bases A, C, G and T in either case, U as T, and every ambiguous IUPAC
// code as N. It skips gaps and white space.
//
// With K = 1 the ids are A 0, C 1, G 2, T 3, N 4. With a larger K, the tokens are overlapping
// k-mers at a stride of one base. The id of a k-mer is the number whose base-4 digits are its
// bases, the first base being the most significant digit. The id is 4^K if a base is ambiguous.
// Every id is a token, so there is no pad id.
type DNA struct{ K int }

// maxBases is the maximum K, which keeps the vocabulary below 2²⁴.
const maxBases = 11

// newDNA returns the tokenizer for a JSON object such as {"type": "dna", "k": 6}. The default of k is 1.
func newDNA(spec json.RawMessage) (Tokenizer, error) {
	var config struct {
		Type string `json:"type"`
		K    *int   `json:"k"`
	}
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	t := DNA{1}
	if config.K != nil {
		t.K = *config.K
	}
	if t.K < 1 || t.K > maxBases {
		return nil, fmt.Errorf("tokenizer dna: k: expected 1 to %d, found %d", maxBases, t.K)
	}
	return t, nil
}

// Type returns "dna".
func (DNA) Type() string { return "dna" }

// VocabSize returns 4^K + 1.
func (t DNA) VocabSize() int { return 1<<(2*t.K) + 1 }

// PadID returns nil.
func (DNA) PadID() *int32 { return nil }

// Values of characters other than the four bases.
const (
	ambiguousBase = 4
	noBase        = 5 // gap or white space, which is skipped
	otherByte     = 6 // invalid character
)

const baseLetters = "ACGTN"

// baseValues maps every byte to a base 0 … 3 or to one of the constants above.
var baseValues = func() (v [256]byte) {
	for i := range v {
		v[i] = otherByte
	}
	set := func(letters string, value byte) {
		for _, c := range []byte(letters + strings.ToLower(letters)) {
			v[c] = value
		}
	}
	set("A", 0)
	set("C", 1)
	set("G", 2)
	set("TU", 3)
	set("NRYSWKMBDHVX", ambiguousBase)
	set(" \t\r\n\v\f-.", noBase)
	return v
}()

// Letters returns a sequence without its white space. Positions in interval files, such as BED and
// GFF, do not count white space.
func Letters(sequence string) string {
	if strings.IndexFunc(sequence, unicode.IsSpace) < 0 {
		return sequence
	}
	return strings.Join(strings.Fields(sequence), "")
}

// Encode returns an id for each base from the K-th on. It skips gaps and white space; any other byte that
// is not a base is an error.
func (t DNA) Encode(text string) ([]int32, error) {
	s := dnaStream{t: t}
	return appendBases(&s, make([]int32, 0, len(text)), text)
}

// dnaStream encodes a nucleic acid in parts.
type dnaStream struct {
	t     DNA
	at    int   // bytes before the next part
	id    int32 // last K unambiguous bases, as an id
	known int   // bases since the last ambiguous base
	seen  int   // bases so far
}

func (s *dnaStream) Append(ids []int32, part []byte) ([]int32, error) {
	return appendBases(s, ids, part)
}

func (s *dnaStream) End(ids []int32) ([]int32, error) { return ids, nil }

// appendBases appends the ids of the next part of a nucleic acid.
func appendBases[T string | []byte](s *dnaStream, tokens []int32, text T) ([]int32, error) {
	k := s.t.K
	mask := int32(1)<<(2*k) - 1
	id, known, seen := s.id, s.known, s.seen
	for i := range len(text) {
		v := baseValues[text[i]]
		switch v {
		case noBase:
			continue
		case otherByte:
			return nil, fmt.Errorf("byte %d: expected a base (A, C, G, T, U or an ambiguity code such as N), found %q",
				s.at+i, text[i])
		case ambiguousBase:
			known = 0
		default:
			id = (id<<2 | int32(v)) & mask
			known++
		}
		seen++
		if seen < k {
			continue
		}
		if known >= k {
			tokens = append(tokens, id)
		} else {
			tokens = append(tokens, mask+1)
		}
	}
	s.at, s.id, s.known, s.seen = s.at+len(text), id, known, seen
	return tokens, nil
}

// Decode returns all bases of the first token and the last base of each further token, because the
// tokens overlap. For a token with an ambiguous base, it returns N instead of these bases.
func (t DNA) Decode(tokens []int32) string {
	out := make([]byte, 0, len(tokens)+t.K)
	for i, id := range tokens {
		first := t.K - 1 // only the last base of a token is new
		if i == 0 {
			first = 0
		}
		for k := first; k < t.K; k++ {
			base := int32(ambiguousBase)
			if id >= 0 && int(id) < t.VocabSize()-1 {
				base = id >> (2 * (t.K - 1 - k)) & 3
			}
			out = append(out, baseLetters[base])
		}
	}
	return string(out)
}
