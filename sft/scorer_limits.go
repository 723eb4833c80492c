package sft

// Slots is how many passes run at once.
func (s *Scorer) Slots() int { return cap(s.slots) }

// PassTokens is how many tokens share a pass: sequences of no more in all are
// computed together, if none is very short.
func (s *Scorer) PassTokens() int { return s.forward(inferMode).size }
