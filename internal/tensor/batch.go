package tensor

// Batch holds the inputs that describe packed rows. The sequences of a batch follow each other
// without padding. Sequence b owns the token rows Offset[b] … Offset[b+1]−1 and the sampled rows
// SampleOffset[b] … SampleOffset[b+1]−1. A run uses the first sampled rows of each sequence, one per
// sampled token.
type Batch struct {
	Tokens       *Tensor // [T] int32: token ids
	Position     *Tensor // [T] int32: position in the sequence, from 0
	Sequence     *Tensor // [T] int32: index of the row's sequence
	Offset       *Tensor // [B+1] int32
	SampleOffset *Tensor // [B+1] int32
	Example      *Tensor // [B] uint32: index of the example in the counters of the random numbers
	Tower        *Tensor // [B] uint32: 1 for the second sequence of a pair in training
	Random       *Tensor // [3] uint32: seed (low, high), step
}

// NewBatch declares the inputs for a batch of up to t token rows and b sequences.
func NewBatch(p *Program, t, b int) *Batch {
	p.Counts = p.Input("counts", Fixed, CountWords)
	return &Batch{
		Tokens:       p.Input("tokens", Tokens, t),
		Position:     p.Input("position", Tokens, t),
		Sequence:     p.Input("sequence", Tokens, t),
		Offset:       p.Input("offset", Fixed, b+1),
		SampleOffset: p.Input("sample_offset", Fixed, b+1),
		Example:      p.Input("example", Sequences, b),
		Tower:        p.Input("tower", Sequences, b),
		Random:       p.Input("random", Fixed, 3),
	}
}
