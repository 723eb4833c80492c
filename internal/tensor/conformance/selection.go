package conformance

import (
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// selection is a random choice of tokens in the layout of a sampler's outputs. Only the first count rows of
// each sequence are in use; the remaining rows hold garbage.
type selection struct {
	count        []int // per sequence
	top, partner []int // per sampled row
	inUse        []bool
	sequence     []int // index of each sampled row's sequence
}

// selection draws a selection. A third of the tokens is dropped in every other sequence.
func (r *fixture) selection() selection {
	n := r.used(tensor.Sampled)
	s := selection{top: make([]int, n), partner: make([]int, n), inUse: make([]bool, n), sequence: make([]int, n)}
	for b, length := range r.shape.lengths {
		positions := r.random.Perm(length)
		if b%2 == 1 {
			positions = positions[:max(1, length*2/3)]
		}
		ke := min(r.shape.k, len(positions))
		first, second := positions[:ke], positions[ke:min(2*ke, len(positions))]
		slices.Sort(first)
		slices.Sort(second)
		s.count = append(s.count, ke)
		for i, j := 0, r.sampled[b]; j < r.sampled[b+1]; i, j = i+1, j+1 {
			s.sequence[j], s.inUse[j] = b, i < ke
			s.top[j], s.partner[j] = garbage, garbage
			if i < ke {
				s.top[j], s.partner[j] = first[i], -1
			}
			if i < len(second) {
				s.partner[j] = second[i]
			}
		}
	}
	return s
}

// eachToken visits the tokens of duplet j with their weight and the derivative of the weight with
// respect to p.
func (s selection) eachToken(j int, p []float64, visit func(weight, sign float64, position int)) {
	if s.partner[j] < 0 {
		visit(1, 0, s.top[j])
		return
	}
	visit(p[j], 1, s.top[j])
	visit(1-p[j], -1, s.partner[j])
}

// sampledIn declares an input with a row per sampled key; unused rows hold NaN.
func (r *fixture) sampledIn(s selection, width int) *operand {
	o := r.in(tensor.Sampled, width)
	for j, used := range s.inUse {
		if !used {
			for c := range o.row(j) {
				o.row(j)[c] = math.NaN()
			}
		}
	}
	return o
}

// weights declares the input P of a selection, with values in (0, 1), and 1 for a duplet without a
// partner.
func (r *fixture) weights(s selection) *operand {
	p := r.sampledIn(s, 1)
	p.set(func(j int) float64 {
		if s.inUse[j] && s.partner[j] < 0 {
			return 1
		}
		return sigmoid64(p.x[j])
	})
	return p
}

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func softplus64(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
