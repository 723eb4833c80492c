package sft

// Lanes is how many passes run at once.
func (s *Scorer) Lanes() int { return cap(s.lanes) }

// PassTokens is how many tokens share a pass: examples of no more in all are
// computed together.
func (s *Scorer) PassTokens() int { return forwardTokens(s.engine.device) }
