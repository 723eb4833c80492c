package tokenizers

import (
	"context"
	"encoding/json"
	"errors"
)

// Learner learns a tokenizer from the texts of the training split. It is not safe for concurrent
// use.
type Learner interface {
	// Add adds a text. An error states why the text is unusable; the caller may add further texts.
	Add(text string) error
	// Learn returns the JSON of the tokenizer. A learner that needs many rounds stops with ctx's
	// error when ctx is done, and calls round with the numbers of finished and of all rounds.
	Learn(ctx context.Context, round func(done, all int)) (json.RawMessage, error)
}

// learners maps each type of learned tokenizer to a function that returns its learner for a JSON
// object with settings.
var learners = map[string]func(spec json.RawMessage) (Learner, error){
	"audio-vq": newAudioLearner,
	"mulaw":    newMuLawLearner,
	"words":    newWordsLearner,
}

// NewLearner returns the learner for spec, such as {"type": "words", "vocab": 10000}. It returns
// nil if the tokenizer needs no learning or is learned already.
func NewLearner(spec json.RawMessage) (Learner, error) {
	var config struct {
		Type     string          `json:"type"`
		Words    json.RawMessage `json:"words"`
		Codebook json.RawMessage `json:"codebook"`
		Rate     json.RawMessage `json:"rate"`
	}
	if err := json.Unmarshal(spec, &config); err != nil {
		return nil, err
	}
	learner, ok := learners[config.Type]
	if !ok || config.Words != nil || config.Codebook != nil || config.Rate != nil {
		return nil, nil
	}
	return learner(spec)
}

// errNothingLearned is the error of Learn if the texts contain no words or no spectra to learn from.
var errNothingLearned = errors.New("no text or sound to learn from")
