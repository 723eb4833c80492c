package lockstep

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/tensor"
)

// roundingGap is the gap between scores below which rounding may change the chosen tokens.
const roundingGap = 1e-5

// Flip is a sequence for which two devices sampled different tokens.
type Flip struct {
	Layer    uint32
	Sequence int     // index in the batch
	Swapped  []int32 // positions that only one device chose as tokens or, if these agree, as partners
	// Gap is the range of the scores of the swapped tokens. It is +Inf if the devices differ in the
	// number of tokens, in their order or only in the partners.
	Gap    float64
	Tensor *tensor.Tensor // sampler output that differs
}

// Rounding reports whether rounding may be the reason for the different tokens.
func (f Flip) Rounding() bool { return f.Gap < roundingGap }

func (f Flip) String() string {
	return fmt.Sprintf("layer %d, sequence %d: different tokens sampled at positions %v, scores differ by %.1e",
		f.Layer, f.Sequence, f.Swapped, f.Gap)
}

// Choice holds the tokens that a sampler chose, by sequence.
type Choice struct {
	sample       tensor.Sample
	scores       [][]float32
	top, partner [][]int32
}

// ReadChoice reads the choice of a launch that has just run.
func ReadChoice(p *tensor.Program, k tensor.Sample, mem tensor.Binding) (*Choice, error) {
	var ints [6][]int32
	for i, t := range []*tensor.Tensor{p.Counts, k.Batch.Offset, k.Batch.SampleOffset, k.Count, k.Top, k.Partner} {
		var err error
		if ints[i], err = downloadInts(mem, t); err != nil {
			return nil, err
		}
	}
	counts, offset, firstSampled, count, top, partner := ints[0], ints[1], ints[2], ints[3], ints[4], ints[5]
	scores := make([]float32, k.Noised.Words())
	if err := tensor.Download(mem[k.Noised.Region], k.Noised, scores); err != nil {
		return nil, err
	}
	c := &Choice{sample: k}
	for b := range counts[tensor.Sequences] {
		lo, hi := firstSampled[b], min(firstSampled[b]+max(count[b], 0), firstSampled[b+1])
		c.scores = append(c.scores, scores[offset[b]:offset[b+1]])
		c.top, c.partner = append(c.top, top[lo:hi]), append(c.partner, partner[lo:hi])
	}
	return c, nil
}

// Flips returns the sequences for which the other device chose different tokens.
func (c *Choice) Flips(other *Choice) []Flip {
	var flips []Flip
	for b, top := range c.top {
		f := Flip{Layer: c.sample.Layer, Sequence: b, Tensor: c.sample.Top, Gap: math.Inf(1)}
		switch {
		case len(top) != len(other.top[b]):
			f.Tensor = c.sample.Count
		case !slices.Equal(top, other.top[b]):
			f.Swapped = append(subtract(top, other.top[b]), subtract(other.top[b], top)...)
			f.Gap = gap(c.scores[b], f.Swapped)
		case !slices.Equal(c.partner[b], other.partner[b]):
			f.Tensor = c.sample.Partner // partners are chosen by integers only, so rounding is not the reason
			f.Swapped = append(subtract(c.partner[b], other.partner[b]), subtract(other.partner[b], c.partner[b])...)
		default:
			continue
		}
		flips = append(flips, f)
	}
	return flips
}

// subtract returns the elements of x that are not in y.
func subtract(x, y []int32) (z []int32) {
	for _, v := range x {
		if !slices.Contains(y, v) {
			z = append(z, v)
		}
	}
	return z
}

// gap returns the difference between the largest and the smallest score at the positions.
func gap(scores []float32, positions []int32) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, position := range positions {
		if position < 0 || int(position) >= len(scores) {
			return math.Inf(1)
		}
		lo, hi = min(lo, float64(scores[position])), max(hi, float64(scores[position]))
	}
	if !(hi >= lo) { // no positions: the devices chose the same tokens in another order
		return math.Inf(1)
	}
	return hi - lo
}

// flips returns the sequences for which the two devices chose different tokens.
func (x *executable) flips(k tensor.Sample, first, second tensor.Binding) ([]Flip, error) {
	a, err := ReadChoice(x.program, k, first)
	if err != nil {
		return nil, err
	}
	b, err := ReadChoice(x.program, k, second)
	if err != nil {
		return nil, err
	}
	return a.Flips(b), nil
}
