package conformance

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
)

// draw returns the first random word of a token. [philox.Counter] describes the counter.
func (r *fixture) draw(b int, layer, stream uint32, position int) uint32 {
	counter := [4]uint32{uint32(position), r.tower[b]<<31 | layer<<8 | stream, r.example[b], r.step}
	return philox.Words(r.seed, counter)[0]
}

func uniform64(word uint32) float64 { return (float64(word>>9) + 0.5) / (1 << 23) }

// sample64 returns the sets S1 and S2 of [tensor.Sample] for one sequence, sorted by position.
func sample64(noised []float64, k int, dropped func(i int) bool, tie, partner func(i int) uint32) (s1, s2 []int) {
	var candidates []int
	for i := range noised {
		if !dropped(i) {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 {
		for i := range noised {
			candidates = append(candidates, i)
		}
	}
	slices.SortFunc(candidates, func(i, j int) int {
		return cmp.Or(cmp.Compare(noised[j], noised[i]), cmp.Compare(tie(i), tie(j)), i-j)
	})
	ke := min(k, len(candidates))
	s1 = candidates[:ke]
	rest := slices.Clone(candidates[ke:])
	slices.SortFunc(rest, func(i, j int) int { return cmp.Or(cmp.Compare(partner(i), partner(j)), i-j) })
	s2 = rest[:min(ke, len(rest))]
	slices.Sort(s1)
	slices.Sort(s2)
	return s1, s2
}

// scoreKinds are distributions of scores. Distributions with few values have ties. One of them
// contains both −0 and 0.
var scoreKinds = []struct {
	name string
	f    func(normal float64) float64
}{
	{"random scores", func(v float64) float64 { return v }},
	{"three scores", func(v float64) float64 {
		return []float64{0, math.Copysign(0, -1), -1,
			2}[int(math.Abs(v)*1e3)%4]
	}},
	{"equal scores", func(float64) float64 { return -0.5 }},
	{"large scores", func(v float64) float64 { return 1e30 * v * v * v }},
}

func init() { register("sample", sampleCases) }

func sampleCases(add func(...Case)) {
	layers := uint32(0)
	lengths := []int{1, 2, 31, 32, 33, 100, 257, 300}
	for _, k := range []int{1, 20, 32, 150, 256, 400} {
		for _, scores := range scoreKinds {
			for _, noise := range []bool{false, true} {
				if noise && scores.name != "random scores" {
					continue
				}
				for _, drop := range []float32{0, 0.3, 0.995} {
					layer := layers
					layers++
					name := fmt.Sprintf("sample k %d, %s, noise %v, drop %g", k, scores.name, noise, drop)
					add(Case{name, shape{lengths, k}, func(r *fixture) tensor.Kernel {
						score := r.in(tensor.Tokens, 1)
						score.set(func(i int) float64 { return scores.f(score.x[i]) })
						return sampleCase(r, tensor.Sample{Score: score.Tensor, Batch: r.batch, K: k, Layer: layer,
							Noise: noise, DropRate: drop}, score)
					}})
				}
			}
		}
	}
}

func sampleCase(r *fixture, k tensor.Sample, score *operand) tensor.Kernel {
	noised, tolerance := slices.Clone(score.x), 0.0
	if k.Noise {
		tolerance = 5e-7
		for b := range r.shape.lengths {
			for i := range r.shape.lengths[b] {
				u := uniform64(r.draw(b, k.Layer, philox.StreamGumbel, i))
				noised[r.offset[b]+i] -= math.Log(-math.Log(u))
			}
		}
	}
	out := r.want(r.out(tensor.Tokens, 1), noised, tolerance)
	top, partner := r.unchecked(tensor.Sampled), r.unchecked(tensor.Sampled)
	count := r.unchecked(tensor.Sequences)
	k.Noised, k.Top, k.Partner, k.Count = out.Tensor, top.Tensor, partner.Tensor, count.Tensor
	// The expected sets are computed from the device's own noised scores, because rounding could
	// change the order.
	r.check(func() error {
		for b := range r.shape.lengths {
			key := func(stream uint32) func(int) uint32 {
				words := make([]uint32, r.shape.lengths[b])
				for i := range words {
					words[i] = r.draw(b, k.Layer, stream, i)
				}
				return func(i int) uint32 { return words[i] }
			}
			drop := key(philox.StreamDrop)
			dropped := func(i int) bool { return uniform64(drop(i)) < float64(k.DropRate) }
			s1, s2 := sample64(out.got[r.offset[b]:r.offset[b+1]], k.K, dropped, key(philox.StreamTie),
				key(philox.StreamPartner))
			if int(count.got[b]) != len(s1) {
				return fmt.Errorf("sequence %d: %v tokens in S1, expected %d", b, count.got[b], len(s1))
			}
			for i, want := range s1 {
				j, p := r.sampled[b]+i, -1
				if i < len(s2) {
					p = s2[i]
				}
				if int(top.got[j]) != want || int(partner.got[j]) != p {
					return fmt.Errorf("sequence %d: duplet %d has the tokens %v and %v, expected %d and %d", b, i,
						top.got[j], partner.got[j], want, p)
				}
			}
		}
		return nil
	})
	return k
}

// unchecked declares an output of integers that only a custom check compares.
func (r *fixture) unchecked(axis tensor.Axis) *operand {
	o := r.out(axis, 1)
	o.ints, o.Int, o.unchecked = true, true, true
	return o
}
