package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// parseExplain parses the field that requests an explanation of a classification.
func (c *call) parseExplain(path string, value json.RawMessage) (batching.Work, error) {
	var yes bool
	if value != nil {
		if err := unmarshal(path, value, &yes, "true or false"); err != nil {
			return batching.Classify, err
		}
	}
	if yes {
		if c.model.Scorer.CanExplain() != nil {
			return batching.Classify, badParam(path, "%s", several)
		}
		return batching.Explain, nil
	}
	return batching.Classify, nil
}

// explainedTokens returns the number of tokens that an explanation has weights of, for a sequence of n tokens of which
// the model reads a number by its own input window.
func (c *call) explainedTokens(read, n int) int {
	if c.model.config.ReadWindow().Tail > 0 {
		return n
	}
	return read
}

// shift converts positions in windows to positions in the whole sequence.
func shift(outputs []sft.Output, cuts []cut) {
	for i, o := range outputs {
		for _, e := range o.Explanations {
			for _, l := range e.Layers {
				for n := range l.Positions {
					l.Positions[n] += int32(cuts[i].start)
				}
			}
			if e.Linear != nil {
				shiftPlaces(e.Linear.NGrams, int32(cuts[i].start))
			}
		}
	}
}

func shiftPlaces(all []sft.NGramExplanation, by int32) {
	for _, g := range all {
		for n := range g.Places {
			g.Places[n][0] += by
			g.Places[n][1] += by
		}
	}
}
