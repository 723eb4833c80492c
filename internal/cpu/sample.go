package cpu

import (
	"cmp"
	"math"
	"slices"

	"sftseq/internal/fmath"
	"sftseq/internal/philox"
	"sftseq/internal/tensor"
)

// candidate is a token with the keys that rank it: the smallest come first.
type candidate struct {
	key      uint64
	position int32
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.position, b.position))
}

func sample(r *run, k tensor.Sample) {
	s := r.sequences(k.Batch)
	noised, score := r.floats(k.Noised), r.floats(k.Score)
	top, partner, count := r.ints(k.Top), r.ints(k.Partner), r.ints(k.Count)
	r.each(s.n, func(_ *worker, b int) {
		lo, hi := s.tokens(b)
		draw := func(stream uint32, position int) uint32 {
			c := philox.Counter(uint32(position), s.tower[b], k.Layer, stream, s.example[b], s.step)
			return philox.Words(s.seed, c)[0]
		}
		out := noised[lo:hi]
		copy(out, score[lo:hi])
		if k.Noise {
			for i := range out {
				out[i] += fmath.Gumbel(philox.Uniform(draw(philox.StreamGumbel, i)))
			}
		}
		left := candidates(out, k.DropRate, draw)
		first, room := s.sampled(b)
		ke := min(k.K, len(left))
		choose(left, ke)
		rest := left[ke:]
		for i, c := range rest {
			rest[i].key = uint64(draw(philox.StreamPartner, int(c.position)))
		}
		m := min(ke, len(rest))
		choose(rest, m)

		count[b] = int32(ke)
		positions(top[first:first+ke], left[:ke])
		positions(partner[first:first+m], rest[:m])
		for i := first + m; i < room; i++ {
			partner[i] = -1
		}
		clear(top[first+ke : room])
	})
}

// candidates lists the tokens that are not dropped, ranked by descending score,
// then by tie key; all of them if every one would be dropped.
func candidates(score []float32, rate float32, draw func(stream uint32, position int) uint32) []candidate {
	out := make([]candidate, 0, len(score))
	list := func(rate float32) {
		for i, v := range score {
			if rate > 0 && philox.Uniform(draw(philox.StreamDrop, i)) < rate {
				continue
			}
			out = append(out, candidate{uint64(descending(v))<<32 | uint64(draw(philox.StreamTie, i)), int32(i)})
		}
	}
	list(rate)
	if len(out) == 0 {
		list(0)
	}
	return out
}

// descending maps floats to integers in reverse order; −0 and 0 are equal.
func descending(v float32) uint32 {
	b := math.Float32bits(v)
	if v == 0 {
		b = 0
	}
	if b>>31 == 0 {
		return ^(b | 1<<31)
	}
	return b
}

// choose moves the n first candidates to the front, in any order.
func choose(c []candidate, n int) {
	if n < len(c) {
		slices.SortFunc(c, compareCandidates)
	}
}

// positions writes the candidates' positions in ascending order.
func positions(dst []int32, c []candidate) {
	for i, x := range c {
		dst[i] = x.position
	}
	slices.Sort(dst)
}
