package sft

// Lanes is how many passes run at once.
func (s *Scorer) Lanes() int { return cap(s.lanes) }

// PassTokens is how many tokens share a pass: sequences of no more in all are
// computed together, if none is very short.
func (s *Scorer) PassTokens() int { return s.forward(Infer).size }
