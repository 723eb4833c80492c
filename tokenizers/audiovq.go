package tokenizers

import (
	"encoding/json"
	"fmt"

	"github.com/sftseq/sftseq/internal/spectra"
)

// AudioVQ reads sound, a token for every 10 ms: the nearest of a codebook's spectra. A
// spectrum is the logarithm of the power in bands that are as wide as hearing's (mel), of
// 25 ms under Hann's window, less its mean over the sound, so that neither loudness nor
// the room matters. Every id is a token, so there is no pad id.
type AudioVQ struct {
	rate int
	book spectra.Codebook
}

// Sizes of a codebook, unless others are given.
const (
	audioBands = 24
	audioCodes = 1024
)

// audioSpec is the tokenizer's JSON.
type audioSpec struct {
	Type     string `json:"type"`
	Rate     int    `json:"rate"` // samples a second
	Bands    int    `json:"bands"`
	Codebook string `json:"codebook"` // base64 of float32, the least significant byte first
}

// newAudioVQ reads a codebook.
func newAudioVQ(spec json.RawMessage) (Tokenizer, error) {
	var config audioSpec
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Rate < 1000 || config.Rate > 1<<20 {
		return nil, fmt.Errorf("tokenizer audio-vq: expected a rate from 1000, found %d", config.Rate)
	}
	book, err := spectra.Decode(config.Codebook, config.Bands)
	if err != nil {
		return nil, fmt.Errorf("tokenizer audio-vq: %w; it is learned from the training split", err)
	}
	return &AudioVQ{config.Rate, book}, nil
}

// Type returns "audio-vq".
func (*AudioVQ) Type() string { return "audio-vq" }

// VocabSize returns the number of spectra.
func (t *AudioVQ) VocabSize() int { return t.book.Len() }

// Codebook returns the spectra, [VocabSize, bands], which belong to the tokenizer.
func (t *AudioVQ) Codebook() []float32 { return t.book.Values }

// PadID returns nil.
func (*AudioVQ) PadID() *int32 { return nil }

// Encode returns an id for every 10 ms of text, which is a WAV file.
func (t *AudioVQ) Encode(text string) ([]int32, error) {
	s, err := readWAV(text)
	if err != nil {
		return nil, err
	}
	if err := s.checkRate(t.rate); err != nil {
		return nil, err
	}
	return t.book.Names(spectra.Of(s.samples, s.rate, t.book.Bands)), nil
}

// Decode returns the ids with a space between them.
func (*AudioVQ) Decode(tokens []int32) string { return IDs{}.Decode(tokens) }
