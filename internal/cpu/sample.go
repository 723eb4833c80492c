package cpu

import (
	"math"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(whole(sample)) }

// sampler holds the data of one launch. Noise, dropped tokens and partner keys are drawn for blocks of
// rows, so that threads can share a long sequence. Tokens are chosen sequence by sequence, in linear time.
type sampler struct {
	tensor.Sample
	sequences
	kernels             *simd.Kernels
	position, sequence  []int32 // position and sequence of each row
	score, noised       []float32
	top, partner, count []int32

	// Each sequence has a list that begins at its first row. The list holds the tokens that are not
	// dropped, and later the tokens that are not in S1.
	token    []int32  // ascending positions; −1 for dropped tokens until S1 is chosen
	key      []uint32 // sort key, smallest first
	ties     []uint32 // scratch memory of markSmallest
	unchosen []uint32 // length of each sequence's list after S1 is removed
}

func sample(r *run, k tensor.Sample) {
	n, s := r.rows(k.Score), r.sequences(k.Batch)
	// All pieces share the scratch memory of one worker, so no piece may request scratch memory.
	scratch := tensor.Bits(r.self.floats(3*n + s.n))
	x := sampler{
		Sample: k, sequences: s, kernels: r.device.simd, position: r.ints(k.Batch.Position),
		sequence: r.ints(k.Batch.Sequence),
		score:    r.floats(k.Score), noised: r.floats(k.Noised),
		top: r.ints(k.Top), partner: r.ints(k.Partner), count: r.ints(k.Count),
		token: tensor.As[int32](scratch[:n]), key: scratch[n : 2*n], ties: scratch[2*n : 3*n], unchosen: scratch[3*n:],
	}
	r.eachRows(n, func(w *worker, lo, hi int) { x.eachPart(w, lo, hi, x.noiseAndDrop) })
	r.parallel(s.n, x.chooseTop)
	r.eachRows(n, func(w *worker, lo, hi int) { x.eachPart(w, lo, hi, x.partnerKeys) })
	r.parallel(s.n, func(_ *worker, b int) { x.choosePartners(b) })
}

// draw draws a random word for each token of sequence b at the given positions. dst may share the
// memory of position.
func (s *sampler) draw(w *worker, dst []uint32, stream uint32, b int, position []int32) {
	w.key = [2]uint32{uint32(s.seed), uint32(s.seed >> 32)}
	w.counter = philox.Counter(0, s.tower[b], s.Layer, stream, s.example[b], s.step)
	s.kernels.Draw(dst, &w.counter, &w.key, position)
}

// eachPart calls f for the rows of each sequence among rows lo … hi−1.
func (s *sampler) eachPart(w *worker, lo, hi int, f func(w *worker, b, lo, hi int)) {
	for lo < hi {
		b := int(s.sequence[lo])
		end := min(hi, int(s.offset[b+1]))
		f(w, b, lo, end)
		lo = end
	}
}

// noiseAndDrop adds noise to the scores of rows lo … hi−1 of sequence b and drops tokens.
func (s *sampler) noiseAndDrop(w *worker, b, lo, hi int) {
	position, noised, token, words := s.position[lo:hi], s.noised[lo:hi], s.token[lo:hi], s.key[lo:hi]
	copy(noised, s.score[lo:hi])
	copy(token, position)
	if s.Noise {
		s.draw(w, words, philox.StreamGumbel, b, position)
		for i, word := range words {
			noised[i] += fmath.Gumbel(philox.Uniform(word))
		}
	}
	if s.DropRate > 0 {
		s.draw(w, words, philox.StreamDrop, b, position)
		for i, word := range words {
			if philox.Uniform(word) < s.DropRate {
				token[i] = -1
			}
		}
	}
}

// chooseTop chooses S1: among the tokens that are not dropped, the tokens with the largest noised
// scores. If all tokens are dropped, it chooses among all tokens.
func (s *sampler) chooseTop(w *worker, b int) {
	lo, hi := s.tokens(b)
	token, key := s.token[lo:hi], s.key[lo:hi]
	n := 0
	for i, at := range token {
		if at >= 0 {
			token[n], key[n] = at, descending(s.noised[lo+i])
			n++
		}
	}
	if n == 0 { // every token is dropped
		n = copy(token, s.position[lo:hi])
		for i := range key {
			key[i] = descending(s.noised[lo+i])
		}
	}
	ke := min(s.K, n)
	markSmallest(key[:n], ke, s.ties[lo:hi], func(indices []uint32) {
		for i, at := range indices {
			indices[i] = uint32(token[at])
		}
		s.draw(w, indices, philox.StreamTie, b, tensor.As[int32](indices))
	})

	first, end := s.sampled(b)
	s.count[b] = int32(ke)
	s.unchosen[b] = uint32(moveMarked(token[:n], key, s.top[first:first+ke]))
	clear(s.top[first+ke : end])
}

// partnerKeys draws the sort keys of the tokens that are not in S1.
func (s *sampler) partnerKeys(w *worker, b, lo, hi int) {
	if hi = min(hi, int(s.offset[b])+int(s.unchosen[b])); lo < hi {
		s.draw(w, s.key[lo:hi], philox.StreamPartner, b, s.token[lo:hi])
	}
}

// choosePartners chooses S2: among the tokens that are not in S1, as many tokens as S1 has, or all, with
// the smallest partner keys.
func (s *sampler) choosePartners(b int) {
	lo, _ := s.tokens(b)
	n := int(s.unchosen[b])
	token, key := s.token[lo:][:n], s.key[lo:][:n]
	m := min(int(s.count[b]), n)
	markSmallest(key, m, s.ties[lo:][:n], nil)

	first, end := s.sampled(b)
	moveMarked(token, key, s.partner[first:first+m])
	for i := first + m; i < end; i++ {
		s.partner[i] = -1
	}
}

// moveMarked moves the tokens with mark 1 to chosen and compacts the remaining tokens. It returns the
// number of remaining tokens. Both lists keep their order.
func moveMarked(token []int32, mark []uint32, chosen []int32) (remaining int) {
	chosenCount := 0
	for i, at := range token {
		if mark[i] != 0 {
			chosen[chosenCount] = at
			chosenCount++
		} else {
			token[remaining] = at
			remaining++
		}
	}
	return remaining
}

// descending maps floats to integers in reverse order, and −0 and 0 to the same integer. It does not
// branch on the sign, which is not predictable for a score.
func descending(v float32) uint32 {
	b := math.Float32bits(v)
	if b == 1<<31 {
		b = 0
	}
	negative := uint32(int32(b) >> 31) // all ones for negative v, otherwise zero
	return (b ^ ^negative) & (negative | (1<<31 - 1))
}
