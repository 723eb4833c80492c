package serve

import (
	"encoding/json"

	"sftseq/sft"
)

// parseExplain reads whether a classification is to be explained.
func parseExplain(path string, value json.RawMessage) (work, error) {
	var yes bool
	if value != nil {
		if err := unmarshal(path, value, &yes, "true or false"); err != nil {
			return classify, err
		}
	}
	if yes {
		return explain, nil
	}
	return classify, nil
}

// explainedBytes is about what a number of an explanation takes, with its text.
const explainedBytes = 16

// reserveFor takes memory for the explanation of what is read of a sequence, until
// the call is answered. It has a number for each token, and a few bytes may ask for
// many windows of a document.
func (c *call) reserveFor(what work, q *sequence, tokens []int32) error {
	if what != explain {
		return nil
	}
	config := c.model.config
	sampled := min(len(tokens), 2*config.NumSampledTokens)
	n := explainedBytes * int64(len(tokens)+3*sampled*config.NumLayers)
	if !c.session.reserve(n) {
		return fail(codeBusy, retry{c.session.server.retryAfter()}, "%s: to explain it would take more than --max-memory allows", q.field)
	}
	c.bytes += n
	return nil
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
