package tokenizers

import "github.com/sftseq/sftseq/internal/spectra"

// MuLaw reads sound, a token a sample: the 8 bits of the µ-law, whose steps are the
// finer the softer the sound. Of several channels it takes the mean. A sample x from −1
// to 1 has the id
//
//	round(127.5 (1 + sgn(x) ln(1 + 255|x|) / ln 256))
//
// Every id is a token, so there is no pad id.
type MuLaw struct{}

// Type returns "mulaw".
func (MuLaw) Type() string { return "mulaw" }

// VocabSize returns 256.
func (MuLaw) VocabSize() int { return spectra.Levels }

// PadID returns nil.
func (MuLaw) PadID() *int32 { return nil }

// Encode returns an id for each sample of text, which is a WAV file.
func (MuLaw) Encode(text string) ([]int32, error) {
	sound, err := readWAV(text)
	if err != nil {
		return nil, err
	}
	tokens := make([]int32, len(sound.samples))
	for i, x := range sound.samples {
		tokens[i] = spectra.MuLaw(x)
	}
	return tokens, nil
}

// Decode returns the ids as numbers with a space between them.
func (MuLaw) Decode(tokens []int32) string { return IDs{}.Decode(tokens) }
