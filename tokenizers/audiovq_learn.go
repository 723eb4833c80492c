package tokenizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/spectra"
)

// maxLearnedRates is the maximum number of sampling rates for which a learner holds a sample. It
// bounds the memory of the learner.
const maxLearnedRates = 8

// audioLearner learns a codebook of spectra from the sounds of the most frequent sampling rate.
type audioLearner struct {
	vocab int
	rates []*rateLearner // in the order in which the rates were added
}

// rateLearner holds a sample of the spectra of the sounds with one sampling rate.
type rateLearner struct {
	*spectra.Learner
	rate, sounds int
}

// newAudioLearner returns the learner for a JSON object such as {"type": "audio-vq", "vocab": 1024}.
func newAudioLearner(spec json.RawMessage) (Learner, error) {
	config := struct {
		Type  string `json:"type"`
		Vocab int    `json:"vocab"`
	}{Vocab: audioCodes}
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Vocab < 2 || config.Vocab > 4096 {
		return nil, fmt.Errorf("tokenizer audio-vq: vocab: expected 2 to 4096, found %d", config.Vocab)
	}
	return &audioLearner{vocab: config.Vocab}, nil
}

// Add counts a WAV file for its sampling rate and adds its spectra to the sample of this rate. Below
// minAudioRate it only counts the file. A file without samples is ignored.
func (l *audioLearner) Add(text string) error {
	s, err := readWAV(text)
	if err != nil || len(s.samples) == 0 {
		return err
	}
	r := l.at(s.rate)
	r.sounds++
	if s.rate >= minAudioRate {
		r.Add(spectra.LogMel(s.samples, s.rate, audioBands))
	}
	return nil
}

// at returns the learner of a sampling rate. If there are too many rates, a new rate replaces the
// latest of the rates with the fewest sounds.
func (l *audioLearner) at(rate int) *rateLearner {
	rarest := 0
	for i, r := range l.rates {
		if r.rate == rate {
			return r
		}
		if r.sounds <= l.rates[rarest].sounds {
			rarest = i
		}
	}
	if len(l.rates) == maxLearnedRates {
		l.rates = append(l.rates[:rarest], l.rates[rarest+1:]...)
	}
	r := &rateLearner{Learner: spectra.NewLearner(l.vocab, audioBands), rate: rate}
	l.rates = append(l.rates, r)
	return r
}

// Learn computes the codebook and returns the tokenizer's JSON. Of equally frequent rates, it
// selects the first one in rates.
func (l *audioLearner) Learn(ctx context.Context, round func(done, all int)) (json.RawMessage, error) {
	if l.rates == nil {
		return nil, errNothingLearned
	}
	frequent := l.rates[0]
	for _, r := range l.rates {
		if r.sounds > frequent.sounds {
			frequent = r
		}
	}
	if frequent.rate < minAudioRate {
		return nil, fmt.Errorf("expected a sampling rate of at least %d Hz, found %d Hz", minAudioRate, frequent.rate)
	}
	book, err := frequent.Learner.Learn(ctx, round)
	if errors.Is(err, spectra.ErrNothing) {
		return nil, errNothingLearned
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(audioSpec{"audio-vq", frequent.rate, book.Bands, book.Encode()})
}
