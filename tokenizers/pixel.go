package tokenizers

// Pixel encodes the gray levels of an image, row by row: id = level, 0 to 255. Every id is a token,
// including black, so there is no pad id.
type Pixel struct{}

// Type returns "pixel".
func (Pixel) Type() string { return "pixel" }

// VocabSize returns 256.
func (Pixel) VocabSize() int { return 256 }

// PadID returns nil.
func (Pixel) PadID() *int32 { return nil }

// Encode returns one id for each byte of text. A byte is a gray level.
func (Pixel) Encode(text string) ([]int32, error) {
	tokens := make([]int32, len(text))
	for i := range tokens {
		tokens[i] = int32(text[i])
	}
	return tokens, nil
}

// Decode returns the levels as numbers with a space between them.
func (Pixel) Decode(tokens []int32) string { return IDs{}.Decode(tokens) }
