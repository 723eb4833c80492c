package tokenizers

import (
	"encoding/json"
	"fmt"

	"github.com/sftseq/sftseq/internal/spectra"
)

// AudioVQ encodes audio with one token per 10 ms: the index of the nearest spectrum in a codebook.
// A spectrum is the logarithm of the power in mel bands, in a Hann window of 25 ms. The mean spectrum of
// the sound is subtracted, which largely removes the gain and the frequency response of the
// recording. Every id is a token, so there is no pad id.
type AudioVQ struct {
	rate int
	book spectra.Codebook
}

// Sizes of a learned codebook.
const (
	audioBands = 24   // mel bands per spectrum
	audioCodes = 1024 // default number of spectra
)

// minAudioRate is the minimum sampling rate in Hz. Lower rates have too few samples per window.
const minAudioRate = 1000

// audioSpec is the JSON of an audio-vq tokenizer.
type audioSpec struct {
	Type     string `json:"type"`
	Rate     int    `json:"rate"` // samples per second
	Bands    int    `json:"bands"`
	Codebook string `json:"codebook"` // base64 of little-endian float32
}

// newAudioVQ returns the tokenizer for a JSON object with a codebook.
func newAudioVQ(spec json.RawMessage) (Tokenizer, error) {
	var config audioSpec
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Rate < minAudioRate || config.Rate > 1<<20 {
		return nil, fmt.Errorf("tokenizer audio-vq: rate: expected %d to %d Hz, found %d", minAudioRate, 1<<20,
			config.Rate)
	}
	book, err := spectra.Decode(config.Codebook, config.Bands)
	if err != nil {
		return nil, fmt.Errorf("tokenizer audio-vq: %w (data convert learns the codebook from the training split)", err)
	}
	return &AudioVQ{config.Rate, book}, nil
}

// Type returns "audio-vq".
func (*AudioVQ) Type() string { return "audio-vq" }

// VocabSize returns the number of spectra in the codebook.
func (t *AudioVQ) VocabSize() int { return t.book.Len() }

// Codebook returns the spectra, a matrix [VocabSize, bands]. The caller must not change it.
func (t *AudioVQ) Codebook() []float32 { return t.book.Values }

// PadID returns nil.
func (*AudioVQ) PadID() *int32 { return nil }

// Encode returns an id for each window of 25 ms; a new window begins every 10 ms. text is the content of
// a WAV file, which must have the tokenizer's sampling rate.
func (t *AudioVQ) Encode(text string) ([]int32, error) {
	s, err := readWAV(text)
	if err != nil {
		return nil, err
	}
	if err := s.checkRate(t.rate); err != nil {
		return nil, err
	}
	return t.book.Indices(spectra.LogMel(s.samples, s.rate, t.book.Bands)), nil
}

// Decode returns the ids with a space between them.
func (*AudioVQ) Decode(tokens []int32) string { return IDs{}.Decode(tokens) }
