package cpu

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
)

// sampleRun runs [tensor.Sample] on sequences with given scores.
type sampleRun struct {
	tensor.Sample
	firstRow       []int // first sampled row of each sequence, and the total number of rows
	executable     tensor.Executable
	mem            tensor.Binding
	seed           uint64
	example, tower []uint32
	step           uint32
}

func newSampleRun(t testing.TB, d *Device, random *rand.Rand, k tensor.Sample, scores [][]float32) *sampleRun {
	t.Helper()
	s := &sampleRun{Sample: k, firstRow: []int{0}, seed: random.Uint64(), step: random.Uint32()}
	var packed []float32
	var position, sequence, offset, firstRow []int32
	for b, score := range scores {
		offset, firstRow = append(offset, int32(len(packed))), append(firstRow, int32(s.firstRow[b]))
		packed = append(packed, score...)
		for i := range score {
			position, sequence = append(position, int32(i)), append(sequence, int32(b))
		}
		s.firstRow = append(s.firstRow, s.firstRow[b]+min(k.K, len(score))+b%2) // some sequences have an unused row
		s.example, s.tower = append(s.example, random.Uint32()), append(s.tower, random.Uint32()&1)
	}
	sampled := s.firstRow[len(scores)]
	p := tensor.NewProgram()
	s.Batch = tensor.NewBatch(p, len(packed), len(scores))
	s.Score = p.Input("score", tensor.Tokens, len(packed))
	s.Noised = p.Temp("noised", tensor.Tokens, len(packed))
	s.Top, s.Partner = p.TempInts("top", tensor.Sampled, sampled), p.TempInts("partner", tensor.Sampled, sampled)
	s.Count = p.TempInts("count", tensor.Sequences, len(scores))
	for _, out := range tensor.Writes(s.Sample) {
		p.Keep(out)
	}
	p.Segment("sample")
	p.Launch(s.Sample)
	p.Finish()

	s.executable = must.Get(d.Prepare(p))(t)
	for _, region := range []tensor.Region{tensor.Arena, tensor.Inputs} {
		s.mem[region] = must.Get(d.Allocate(p.Words(region)))(t)
	}
	write := func(x *tensor.Tensor, words []uint32) {
		must.Succeed(t, tensor.Upload(s.mem[tensor.Inputs], x, words))
	}
	counts := tensor.Counts{Tokens: int32(len(packed)), Sequences: int32(len(scores)), Sampled: int32(sampled)}
	write(p.Counts, tensor.Bits(counts.Words()))
	write(s.Batch.Position, tensor.Bits(position))
	write(s.Batch.Sequence, tensor.Bits(sequence))
	write(s.Batch.Offset, tensor.Bits(append(offset, int32(len(packed)))))
	write(s.Batch.SampleOffset, tensor.Bits(append(firstRow, int32(sampled))))
	write(s.Batch.Example, s.example)
	write(s.Batch.Tower, s.tower)
	write(s.Batch.Random, []uint32{uint32(s.seed), uint32(s.seed >> 32), s.step})
	write(s.Score, tensor.Bits(packed))
	return s
}

func (s *sampleRun) run(t testing.TB) {
	t.Helper()
	must.Succeed(t, s.executable.Run(context.Background(), s.mem, 0, 1))
}

func (s *sampleRun) ints(t testing.TB, x *tensor.Tensor) []int32 {
	t.Helper()
	out := make([]int32, x.Words())
	must.Succeed(t, tensor.Download(s.mem[tensor.Arena], x, out))
	return out
}

// candidate is a token with its sort keys.
type candidate struct {
	key      uint64
	position int32
}

// descendingReference is the reference implementation of descending.
func descendingReference(v float32) uint32 {
	b := math.Float32bits(v)
	if v == 0 {
		b = 0
	}
	if b>>31 == 0 {
		return ^(b | 1<<31)
	}
	return b
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.position, b.position))
}

// reference is the reference implementation: it selects S1 and S2 of sequence b by sorting.
func (s *sampleRun) reference(b int, score []float32) (noised []float32, top, partner []int32) {
	draw := func(stream uint32, i int) uint32 {
		return philox.Words(s.seed, philox.Counter(uint32(i), s.tower[b], s.Layer, stream, s.example[b], s.step))[0]
	}
	noised = slices.Clone(score)
	if s.Noise {
		for i := range noised {
			noised[i] += fmath.Gumbel(philox.Uniform(draw(philox.StreamGumbel, i)))
		}
	}
	var candidates []candidate
	list := func(rate float32) {
		for i, v := range noised {
			if rate > 0 && philox.Uniform(draw(philox.StreamDrop, i)) < rate {
				continue
			}
			candidates = append(candidates, candidate{
				uint64(descendingReference(v))<<32 | uint64(draw(philox.StreamTie, i)), int32(i)})
		}
	}
	if list(s.DropRate); len(candidates) == 0 {
		list(0)
	}
	slices.SortFunc(candidates, compareCandidates)
	ke := min(s.K, len(candidates))
	rest := slices.Clone(candidates[ke:])
	for i, c := range rest {
		rest[i].key = uint64(draw(philox.StreamPartner, int(c.position)))
	}
	slices.SortFunc(rest, compareCandidates)
	positions := func(c []candidate) (out []int32) {
		for _, x := range c {
			out = append(out, x.position)
		}
		slices.Sort(out)
		return out
	}
	return noised, positions(candidates[:ke]), positions(rest[:min(ke, len(rest))])
}

func (s *sampleRun) compare(t *testing.T, scores [][]float32) {
	t.Helper()
	s.run(t)
	got := s.ints(t, s.Noised)
	tops, partners, count := s.ints(t, s.Top), s.ints(t, s.Partner), s.ints(t, s.Count)
	for b, score := range scores {
		noised, top, partner := s.reference(b, score)
		for i, v := range noised {
			if g := uint32(got[i]); g != math.Float32bits(v) {
				t.Fatalf("sequence %d: noised score %d is %#x, want %#x", b, i, g, math.Float32bits(v))
			}
		}
		got = got[len(score):]
		if int(count[b]) != len(top) {
			t.Fatalf("sequence %d: count %d, want %d", b, count[b], len(top))
		}
		rows := s.firstRow[b+1] - s.firstRow[b]
		for len(partner) < rows {
			partner = append(partner, -1)
		}
		for len(top) < rows {
			top = append(top, 0)
		}
		if g := tops[s.firstRow[b]:s.firstRow[b+1]]; !slices.Equal(g, top) {
			t.Fatalf("sequence %d of %d tokens: got S1 %v, want %v", b, len(score), g, top)
		}
		if g := partners[s.firstRow[b]:s.firstRow[b+1]]; !slices.Equal(g, partner) {
			t.Fatalf("sequence %d of %d tokens: got S2 %v, want %v", b, len(score), g, partner)
		}
	}
}

var inf = float32(math.Inf(1))

// scoreKinds are distributions of scores.
var scoreKinds = []struct {
	name string
	draw func(r *rand.Rand) float32
}{
	{"normal", func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }},
	{"any bits", func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32()) }},
	{"few", func(r *rand.Rand) float32 { return float32(r.IntN(5)) }},
	{"equal", func(*rand.Rand) float32 { return -0.5 }},
	{"zeros", func(r *rand.Rand) float32 { return math.Float32frombits(uint32(r.IntN(2)) << 31) }},
	{"not finite", func(r *rand.Rand) float32 {
		nan := math.Float32frombits(0x7fc00000 | uint32(r.IntN(2))<<31 | uint32(r.IntN(2)))
		return []float32{inf, -inf, nan, nan, 1, math.Float32frombits(math.MaxUint32)}[r.IntN(6)]
	}},
	{"neighbours", func(r *rand.Rand) float32 { return math.Float32frombits(0x3f800000 + uint32(r.IntN(40))) }},
}

// TestSampleEqualsSort checks that the kernel selects the same tokens as sorting.
func TestSampleEqualsSort(t *testing.T) {
	d := New(2)
	for _, kind := range scoreKinds {
		random := rand.New(rand.NewPCG(1, 2))
		for n := range 60 {
			var scores [][]float32
			for _, length := range []int{1, 2 + n%3, 31 + n, 1 + random.IntN(700)} {
				score := make([]float32, length)
				for i := range score {
					score[i] = kind.draw(random)
				}
				scores = append(scores, score)
			}
			k := tensor.Sample{K: []int{1, 2, 7, 32, 100, 256, 699, 1000}[n%8], Layer: uint32(n), Noise: n%4 == 3,
				DropRate: []float32{0, 0.3, 0.9, 0.999, 1}[n%5]}
			t.Run(fmt.Sprintf("%s scores %d", kind.name, n), func(t *testing.T) {
				newSampleRun(t, d, random, k, scores).compare(t, scores)
			})
		}
	}
}

// TestSampleLong checks the selection among a million tokens with ties at the threshold.
func TestSampleLong(t *testing.T) {
	testenv.Long(t, "samples a sequence of a million tokens")
	random := rand.New(rand.NewPCG(3, 4))
	score := make([]float32, 1<<20)
	for i := range score {
		score[i] = float32(random.IntN(1000))
	}
	scores := [][]float32{score}
	newSampleRun(t, New(2), random, tensor.Sample{K: 2500, DropRate: 0.1}, scores).compare(t, scores)
}

func BenchmarkSample(b *testing.B) {
	for _, bench := range []struct {
		lengths []int
		kind    int
		noise   bool
	}{{[]int{2048}, 0, false}, {[]int{2048, 2048}, 0, true}, {[]int{2048}, 3, false}, {[]int{1 << 20}, 0, false},
		{[]int{1 << 20}, 0, true}, {[]int{1 << 20}, 3, false}} {
		random := rand.New(rand.NewPCG(5, 6))
		var scores [][]float32
		tokens := 0
		for _, n := range bench.lengths {
			score := make([]float32, n)
			for i := range score {
				score[i] = scoreKinds[bench.kind].draw(random)
			}
			scores, tokens = append(scores, score), tokens+n
		}
		for _, threads := range []int{1, 2} {
			s := newSampleRun(b, New(threads), random, tensor.Sample{K: 256, Noise: bench.noise}, scores)
			b.Run(fmt.Sprintf("%dx%d/%s/noise=%v/threads=%d", len(scores), bench.lengths[0],
				scoreKinds[bench.kind].name, bench.noise, threads), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.run(b)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(tokens), "ns/token")
			})
		}
	}
}
