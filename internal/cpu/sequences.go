package cpu

import "github.com/sftseq/sftseq/internal/tensor"

// sequences describes the rows of a batch to kernels that work sequence by sequence.
type sequences struct {
	n                    int
	offset, sampleOffset []int32
	example, tower       []uint32
	seed                 uint64
	step                 uint32
}

func (r *run) sequences(b *tensor.Batch) sequences {
	random := r.words(b.Random)
	return sequences{
		n:      r.rows(b.Example),
		offset: r.ints(b.Offset), sampleOffset: r.ints(b.SampleOffset),
		example: r.words(b.Example), tower: r.words(b.Tower),
		seed: uint64(random[0]) | uint64(random[1])<<32, step: random[2],
	}
}

// tokens returns the range of packed rows of sequence b.
func (s sequences) tokens(b int) (lo, hi int) { return int(s.offset[b]), int(s.offset[b+1]) }

// sampled returns the range of rows for the sampled keys of sequence b, including unused rows.
func (s sequences) sampled(b int) (lo, hi int) {
	return int(s.sampleOffset[b]), int(s.sampleOffset[b+1])
}
