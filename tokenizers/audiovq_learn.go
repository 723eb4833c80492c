package tokenizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sftseq/sftseq/internal/spectra"
)

// audioLearner learns a codebook of spectra.
type audioLearner struct {
	rate    int // sampling rate of the first sound; sounds of other rates are skipped
	learner *spectra.Learner
}

// newAudioLearner returns the learner for a JSON such as {"type": "audio-vq", "vocab": 1024}.
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
	return &audioLearner{learner: spectra.NewLearner(config.Vocab, audioBands)}, nil
}

// Add adds the spectra of a WAV file. It skips a file whose sampling rate differs from the first
// file's.
func (l *audioLearner) Add(text string) error {
	s, err := readWAV(text)
	if err != nil || l.rate != 0 && s.rate != l.rate {
		return err
	}
	l.rate = s.rate
	l.learner.Add(spectra.Of(s.samples, s.rate, audioBands))
	return nil
}

// Learn computes the codebook and returns the tokenizer's JSON.
func (l *audioLearner) Learn(ctx context.Context, round func(done, all int)) (json.RawMessage, error) {
	if l.rate != 0 && l.rate < 1000 {
		return nil, fmt.Errorf("expected a sampling rate of at least 1000 Hz, found %d Hz", l.rate)
	}
	book, err := l.learner.Learn(ctx, round)
	if errors.Is(err, spectra.ErrNothing) {
		return nil, errNothingLearned
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(audioSpec{"audio-vq", l.rate, book.Bands, book.Encode()})
}
