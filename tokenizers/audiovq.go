package tokenizers

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// AudioVQ reads sound, a token for every 10 ms: the nearest of a codebook's spectra. A
// spectrum is the logarithm of the power in bands that are as wide as hearing's (mel), of
// 25 ms under Hann's window, less its mean over the sound, so that neither loudness nor
// the room matters. Every id is a token, so there is no pad id.
type AudioVQ struct {
	rate     int
	bands    int
	codebook []float32 // one spectrum behind the other
}

// Measures of spectra.
const (
	frameSeconds = 0.010
	frameWindow  = 0.025
	audioBands   = 24
	audioCodes   = 1024
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
	bytes, err := base64.StdEncoding.DecodeString(config.Codebook)
	switch {
	case err != nil:
		return nil, fmt.Errorf("tokenizer audio-vq: codebook: expected base64: %w", err)
	case config.Rate < 1000 || config.Rate > 1<<20 || config.Bands < 1 || config.Bands > 256:
		return nil, fmt.Errorf("tokenizer audio-vq: expected a rate from 1000 and 1 to 256 bands, found %d and %d", config.Rate, config.Bands)
	case len(bytes) == 0 || len(bytes)%(4*config.Bands) != 0 || len(bytes) > 1<<22:
		return nil, fmt.Errorf("tokenizer audio-vq: codebook: expected spectra of %d bands, found %d bytes; it is learned from the training split", config.Bands, len(bytes))
	}
	t := &AudioVQ{rate: config.Rate, bands: config.Bands, codebook: make([]float32, len(bytes)/4)}
	for i := range t.codebook {
		t.codebook[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		if x := float64(t.codebook[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("tokenizer audio-vq: codebook: number %d is %v", i, x)
		}
	}
	return t, nil
}

// Type returns "audio-vq".
func (*AudioVQ) Type() string { return "audio-vq" }

// VocabSize returns the number of spectra.
func (t *AudioVQ) VocabSize() int { return len(t.codebook) / t.bands }

// Codebook returns the spectra, [VocabSize, bands], which belong to the tokenizer.
func (t *AudioVQ) Codebook() []float32 { return t.codebook }

// PadID returns nil.
func (*AudioVQ) PadID() *int32 { return nil }

// Encode returns an id for every 10 ms of text, which is a WAV file.
func (t *AudioVQ) Encode(text string) ([]int32, error) {
	s, err := readWAV(text)
	if err != nil {
		return nil, err
	}
	if s.rate != t.rate {
		return nil, fmt.Errorf("expected %d samples a second, found %d", t.rate, s.rate)
	}
	spectra := spectraOf(s, t.bands)
	tokens := make([]int32, len(spectra)/t.bands)
	for i := range tokens {
		tokens[i] = int32(nearest(t.codebook, spectra[i*t.bands:(i+1)*t.bands]))
	}
	return tokens, nil
}

// Decode returns the ids with a space between them.
func (*AudioVQ) Decode(tokens []int32) string { return IDs{}.Decode(tokens) }

// nearest is the number of the codebook's spectrum with the least distance, of equal
// ones the first.
func nearest(codebook, spectrum []float32) int {
	best, least := 0, float32(math.Inf(1))
	for i, n := 0, len(spectrum); i < len(codebook)/n; i++ {
		d := float32(0)
		for k, v := range codebook[i*n : (i+1)*n] {
			d += (v - spectrum[k]) * (v - spectrum[k])
		}
		if d < least {
			best, least = i, d
		}
	}
	return best
}
