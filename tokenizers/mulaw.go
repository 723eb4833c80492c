package tokenizers

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/sftseq/sftseq/internal/spectra"
)

// MuLaw encodes audio with one token per sample: its value quantised to 8 bits by the µ-law, whose
// steps are finer for quieter samples. It averages the channels. A sample x from −1 to 1 has the id
//
//	round(127.5 (1 + sgn(x) ln(1 + 255|x|) / ln 256))
//
// Every id is a token, so there is no pad id. If Rate is not 0, MuLaw rejects recordings with another
// sampling rate.
type MuLaw struct {
	Rate int // samples per second; 0 accepts any rate
}

// mulawSpec is the JSON of a mulaw tokenizer. Data of earlier versions have no rate.
type mulawSpec struct {
	Type string `json:"type"`
	Rate *int   `json:"rate,omitempty"`
}

// newMuLaw returns the tokenizer for a JSON object such as {"type": "mulaw", "rate": 8000}.
func newMuLaw(spec json.RawMessage) (Tokenizer, error) {
	var config mulawSpec
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Rate == nil {
		return MuLaw{}, nil
	}
	if *config.Rate < 1 {
		return nil, fmt.Errorf("tokenizer mulaw: rate: expected at least 1 Hz, found %d", *config.Rate)
	}
	return MuLaw{*config.Rate}, nil
}

// mulawLearner holds the number of recordings at each sampling rate.
type mulawLearner map[int]int

func newMuLawLearner(spec json.RawMessage) (Learner, error) {
	_, err := newMuLaw(spec)
	return mulawLearner{}, err
}

// Add counts the sampling rate of a WAV file. It ignores malformed files.
func (l mulawLearner) Add(text string) error {
	if rate := wavRate(text); rate > 0 {
		l[rate]++
	}
	return nil
}

// Learn returns the JSON with the most frequent rate, or the lowest of equally frequent rates. The
// JSON has no rate if there are no recordings.
func (l mulawLearner) Learn(context.Context, func(done, all int)) (json.RawMessage, error) {
	spec := mulawSpec{Type: MuLaw{}.Type()}
	if rates := slices.SortedFunc(maps.Keys(l), func(a, b int) int { return cmp.Or(l[b]-l[a], a-b) }); len(rates) > 0 {
		spec.Rate = &rates[0]
	}
	return json.Marshal(spec)
}

// Type returns "mulaw".
func (MuLaw) Type() string { return "mulaw" }

// VocabSize returns 256.
func (MuLaw) VocabSize() int { return spectra.Levels }

// PadID returns nil.
func (MuLaw) PadID() *int32 { return nil }

// Encode returns an id for each sample of a recording. text is the content of a WAV file.
func (t MuLaw) Encode(text string) ([]int32, error) {
	sound, err := readWAV(text)
	if err != nil {
		return nil, err
	}
	if err := sound.checkRate(t.Rate); err != nil {
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
