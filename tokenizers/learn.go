package tokenizers

import (
	"context"
	"encoding/json"
	"errors"
)

// A Learner learns a tokenizer from the texts of the training split. It is not safe for concurrent
// use.
type Learner interface {
	// Add adds a text. After an error, which says why the text is unusable, others may follow.
	Add(text string) error
	// Learn returns the JSON of the tokenizer, or ctx's error. It reports the number of finished
	// rounds to round, if there are many.
	Learn(ctx context.Context, round func(done, all int)) (json.RawMessage, error)
}

// learners lists the types of tokenizers that are learned. Each function reads the JSON with the
// learner's settings.
var learners = map[string]func(spec json.RawMessage) (Learner, error){
	"audio-vq": newAudioLearner,
	"mulaw":    newMuLawLearner,
	"words":    newWordsLearner,
}

// NewLearner returns the learner of the tokenizer that spec describes, such as {"type": "words",
// "vocab": 10000}; nil if the tokenizer needs no learning or was learned already.
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

// errNothingLearned is the error for texts without anything to learn from.
var errNothingLearned = errors.New("there is nothing to learn from")
