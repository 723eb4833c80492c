package tensor

// Batch has the inputs that describe packed rows. All sequences of a batch follow each other
// without padding: sequence b owns the token rows Offset[b] … Offset[b+1]−1 and the sampled rows
// SampleOffset[b] … SampleOffset[b+1]−1, of which a run uses the first ones, one per sampled token.
type Batch struct {
	Tokens       *Tensor // [T] int32: token ids
	Position     *Tensor // [T] int32: position in the sequence, from 0
	Sequence     *Tensor // [T] int32: index of the sequence of a row
	Offset       *Tensor // [B+1] int32
	SampleOffset *Tensor // [B+1] int32
	Example      *Tensor // [B] uint32: the example whose random numbers a sequence uses
	Tower        *Tensor // [B] uint32: 1 for the second sequence of a pair in training
	Random       *Tensor // [3] uint32: seed (low, high), step
}

// NewBatch declares the inputs for at most t token rows and b sequences.
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
