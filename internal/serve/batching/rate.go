package batching

import "time"

// rate is the rate of computation, from separate moving averages of time and tokens. A batch is
// weighted by the fraction of the budget that it fills, because small batches take longer per token and
// do not occur under load.
type rate struct{ time, tokens float64 }

// add records a batch: its share of the device's time, and its tokens.
func (p *rate) add(took time.Duration, tokens, budget int) {
	weight := min(1, float64(tokens)/float64(budget)) / 8
	p.time += (float64(took) - p.time) * weight
	p.tokens += (float64(tokens) - p.tokens) * weight
}

// timeFor estimates the time to compute a number of tokens; it is 0 before the first batch.
func (p *rate) timeFor(tokens int) time.Duration {
	if p.tokens == 0 {
		return 0
	}
	return time.Duration(p.time / p.tokens * float64(tokens))
}
