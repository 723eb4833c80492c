package batching

import "time"

// pace is how fast batches are computed. The averages of time and of tokens are
// apart, and a batch counts by how full it is: a small one takes long for what it
// is, and when many wait there are none.
type pace struct{ took, tokens float64 }

// add notes the share of its time that a batch has had of the device, and its tokens.
func (p *pace) add(took time.Duration, tokens, budget int) {
	weight := min(1, float64(tokens)/float64(budget)) / 8
	p.took += (float64(took) - p.took) * weight
	p.tokens += (float64(tokens) - p.tokens) * weight
}

// of estimates the time to compute a number of tokens; 0 while nothing has been computed.
func (p *pace) of(tokens int) time.Duration {
	if p.tokens == 0 {
		return 0
	}
	return time.Duration(p.took / p.tokens * float64(tokens))
}
