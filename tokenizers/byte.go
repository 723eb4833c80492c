package tokenizers

import "slices"

// Byte encodes text as its bytes: id = byte + 1, pad 0, vocabulary 257.
type Byte struct{}

// Type returns "byte".
func (Byte) Type() string { return "byte" }

// VocabSize returns 257: the pad id and 256 bytes.
func (Byte) VocabSize() int { return 257 }

// PadID returns 0.
func (Byte) PadID() *int32 { return new(int32) }

// Encode returns one id for each byte of text.
func (Byte) Encode(text string) ([]int32, error) {
	return Byte{}.appendEncode(nil, text), nil
}

func (Byte) appendEncode(ids []int32, text string) []int32 {
	n := len(ids)
	ids = slices.Grow(ids, len(text))[:n+len(text)]
	for i, to := 0, ids[n:]; i < len(to); i++ {
		to[i] = int32(text[i]) + 1
	}
	return ids
}

// Decode returns the bytes of the ids, which need not be valid UTF-8. It skips the pad id and ids
// outside the vocabulary.
func (Byte) Decode(tokens []int32) string {
	text := make([]byte, 0, len(tokens))
	for _, id := range tokens {
		if id >= 1 && id <= 256 {
			text = append(text, byte(id-1))
		}
	}
	return string(text)
}
