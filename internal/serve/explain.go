package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// parseExplain reads whether a classification is to be explained.
func (c *call) parseExplain(path string, value json.RawMessage) (batching.Work, error) {
	var yes bool
	if value != nil {
		if err := unmarshal(path, value, &yes, "true or false"); err != nil {
			return batching.Classify, err
		}
	}
	if yes {
		if lacking := needsOne(c); lacking != "" {
			return batching.Classify, badParam(path, "%s", lacking)
		}
		return batching.Explain, nil
	}
	return batching.Classify, nil
}

// explanationNumbers is how many numbers the explanations of sequences have: one
// for each token, and three for each that a layer has sampled.
func explanationNumbers(config *sft.Config, lengths ...int) int {
	n := 0
	for _, length := range lengths {
		n += length + 3*min(length, 2*config.NumSampledTokens)*config.NumLayers
	}
	return n
}

// shift has positions in windows count from the start of the whole sequence.
func shift(outputs []sft.Output, cuts []cut) {
	for i, o := range outputs {
		for _, e := range o.Explanations {
			for _, l := range e.Layers {
				for n := range l.Positions {
					l.Positions[n] += int32(cuts[i].start)
				}
			}
		}
	}
}
