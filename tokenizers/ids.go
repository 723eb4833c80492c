package tokenizers

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// IDs parses token ids: integers from 0 to Vocab − 1, separated by white space or commas,
// optionally in brackets. Every id is a token, so there is no pad id.
type IDs struct{ Vocab int }

// newIDs returns the tokenizer for a JSON object such as {"type": "ids", "vocab": 1000}.
func newIDs(spec json.RawMessage) (Tokenizer, error) {
	var config struct {
		Type  string `json:"type"`
		Vocab int    `json:"vocab"`
	}
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Vocab < 1 || config.Vocab > math.MaxInt32 {
		return nil, fmt.Errorf("tokenizer ids: vocab: expected 1 to %d, found %d", math.MaxInt32, config.Vocab)
	}
	return IDs{config.Vocab}, nil
}

// Type returns "ids".
func (IDs) Type() string { return "ids" }

// VocabSize returns Vocab.
func (t IDs) VocabSize() int { return t.Vocab }

// PadID returns nil.
func (IDs) PadID() *int32 { return nil }

func (IDs) scratch() int { return growthPerID }

// Encode returns the ids in text. It fails if an item is not an integer from 0 to Vocab − 1.
func (t IDs) Encode(text string) ([]int32, error) {
	inner := strings.TrimSpace(text)
	if strings.HasPrefix(inner, "[") && strings.HasSuffix(inner, "]") {
		inner = inner[1 : len(inner)-1]
	}
	tokens := make([]int32, 0, len(inner)/4)
	for word := range strings.FieldsFuncSeq(inner, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		id, err := strconv.ParseUint(word, 10, 31)
		if err != nil || int(id) >= t.Vocab {
			return nil, fmt.Errorf("number %d: expected a token id from 0 to %d, found %.40q",
				len(tokens)+1, t.Vocab-1, word)
		}
		tokens = append(tokens, int32(id))
	}
	return tokens, nil
}

// Decode returns the ids with a space between them.
func (IDs) Decode(tokens []int32) string {
	words := make([]string, len(tokens))
	for i, id := range tokens {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, " ")
}
