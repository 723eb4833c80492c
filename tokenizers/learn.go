package tokenizers

import (
	"context"
	"encoding/json"
	"errors"
)

// A Learner makes a tokenizer of the texts that it is for: those of the training split.
// It is not safe for concurrent use.
type Learner interface {
	// Add takes in a text. An error says why it takes in nothing; others may follow.
	Add(text string) error
	// Learn returns the JSON of the tokenizer, or ctx's error. What takes many rounds tells
	// each of them: how many are done, of how many.
	Learn(ctx context.Context, round func(done, all int)) (json.RawMessage, error)
}

// learners lists the tokenizers that are learned, by their type. Each reads the JSON
// that says how.
var learners = map[string]func(spec json.RawMessage) (Learner, error){
	"audio-vq": newAudioLearner,
	"mulaw":    newMuLawLearner,
	"words":    newWordsLearner,
}

// NewLearner returns what learns the tokenizer that spec describes, such as
// {"type": "words", "vocab": 10000}; nil if it needs nothing or has it already.
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

// errNothingLearned is for texts that have nothing to learn from.
var errNothingLearned = errors.New("there is nothing to learn from")
