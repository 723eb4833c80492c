package serve

import (
	"encoding/json"
	"errors"

	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/sft"
)

// parseExplain parses the field explain. It returns batching.Explain for true, and batching.Classify for
// false or a missing field. path is the name of the field in errors.
func (c *call) parseExplain(path string, value json.RawMessage) (batching.Work, error) {
	var requested bool
	if value != nil {
		if err := unmarshal(path, value, &requested, "true or false"); err != nil {
			return batching.Classify, err
		}
	}
	if requested {
		switch err := c.model.Scorer.CanExplain(); {
		case errors.Is(err, sft.ErrEnsemble):
			return batching.Classify, badParam(path, "%s", noExplanations)
		case err != nil:
			return batching.Classify, badParam(path, "%v", err)
		}
		return batching.Explain, nil
	}
	return batching.Classify, nil
}

// explanationTokens returns the number of tokens that an explanation covers: n, the length of the
// sequence, if the input window has a tail; otherwise the parameter read, the number of tokens that the
// model reads.
func (c *call) explanationTokens(read, n int) int {
	if c.model.config.ReadWindow().Tail > 0 {
		return n
	}
	return read
}

// shift converts the positions of explanations from positions in windows to positions in the whole
// sequence.
func shift(outputs []sft.Output, cuts []windowPart) {
	for i, o := range outputs {
		for _, e := range o.Explanations {
			for _, l := range e.Layers {
				for n := range l.Positions {
					l.Positions[n] += int32(cuts[i].start)
				}
			}
			for n := range e.Chunks {
				x := &e.Chunks[n]
				x.Start, x.End = x.Start+int32(cuts[i].start), x.End+int32(cuts[i].start)
				for p := range x.Positions {
					x.Positions[p] += int32(cuts[i].start)
				}
			}
			if e.Linear != nil {
				shiftPositions(e.Linear.NGrams, int32(cuts[i].start))
			}
		}
	}
}

// shiftPositions adds an offset to the positions of n-grams.
func shiftPositions(ngrams []sft.NGramExplanation, by int32) {
	for _, g := range ngrams {
		for n := range g.Places {
			g.Places[n][0] += by
			g.Places[n][1] += by
		}
	}
}
