package export

import (
	"math"

	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/internal/philox"
)

// beyond is larger than every random word.
const beyond = 1 << 32

// sampled is the sample of a sequence in a layer.
type sampled struct {
	keys    onnx.Tensor // int64 [1]: number of duplets
	top     onnx.Tensor // int64 [keys]: positions of the top tokens, ascending
	partner onnx.Tensor // int64 [keys]: positions of the partners; a top token without a partner is its own
	p       onnx.Tensor // [keys]: weights p of the duplets
	rows    onnx.Tensor // [keys, hidden]: the duplets
}

// sampled scores the tokens x [length, hidden] and samples duplets with the random words of a layer.
// maxKeys is the maximum number of duplets.
func (s *sequence) sampled(name string, x onnx.Tensor, maxKeys, layer int) sampled {
	score := s.scores(name, x)
	if s.config.SamplerNoise == "always" {
		score = s.Add(score, s.gumbel(layer))
	}
	out := s.sample(score, maxKeys, layer)
	out.rows = s.mix(s.Unsqueeze(out.p, 1), s.Gather(x, out.top), s.Gather(x, out.partner))
	return out
}

// sample selects tokens by their scores [length], like package tensor's Sample: S1, at most maxKeys
// tokens, by descending score, then tie key, then position; S2 from the other tokens by partner key,
// then position. TopK, which takes the first of equal values, defines all orders.
func (s *sequence) sample(score onnx.Tensor, maxKeys, layer int) (out sampled) {
	keys := s.Min(s.length, s.Int(int64(maxKeys)))
	pairs := s.Min(keys, s.Sub(s.length, keys)) // number of keys with a partner
	out.keys = keys
	_, byTie := s.TopK(s.draw(layer, philox.StreamTie), s.length, false)
	_, best := s.TopK(s.Gather(score, byTie), keys, true)
	s1 := s.Gather(byTie, best)
	out.top, _ = s.TopK(s1, keys, false)

	// Keys beyond all random words exclude S1 from the partners.
	behind := s.Expand(s.Ints(beyond), keys)
	_, rest := s.TopK(s.ScatterElements(s.draw(layer, philox.StreamPartner), out.top, behind), pairs, false)
	s2, _ := s.TopK(rest, pairs, false)
	out.partner = s.Concat(0, s2, s.Slice(out.top, pairs, keys))

	rank := s.Range(s.Int(0), s.Squeeze(keys, 0))
	p := s.Sigmoid(s.Sub(s.logSoftplus(s.Gather(score, out.top)), s.logSoftplus(s.Gather(score, out.partner))))
	out.p = s.Where(s.Less(rank, pairs), p, s.Float(1))
	return out
}

// logSoftplus returns log softplus(x), which equals x in float32 if exp(x) is below the rounding
// error.
func (e *emitter) logSoftplus(x onnx.Tensor) onnx.Tensor {
	return e.Where(e.Less(x, e.Float(-15)), x, e.Log(e.Softplus(x)))
}

// scores returns w·x + b, [length], for x [length, hidden]. Equal rows must have bit-identical
// scores, otherwise rounding would break ties. The order of a runtime's sum along a row may depend
// on the memory address of the row. The graph therefore adds halves of the products until one
// column is left: the same tree of additions for every row in every runtime.
func (s *sequence) scores(name string, x onnx.Tensor) onnx.Tensor {
	x = s.Mul(x, s.weight(name+".weight"))
	for n := int64(s.config.HiddenSize); n > 1; n = n/2 + n%2 {
		if n%2 == 0 {
			halves := s.Split(x, 1, n/2, n/2)
			x = s.Add(halves[0], halves[1])
			continue
		}
		parts := s.Split(x, 1, n/2, n/2, 1)
		x = s.Concat(1, s.Add(parts[0], parts[1]), parts[2])
	}
	return s.Add(s.Squeeze(x, 1), s.weight(name+".bias"))
}

// gumbel returns noise [length], −log(−log u), where u is computed from a random word as in
// [philox.Uniform].
func (s *sequence) gumbel(layer int) onnx.Tensor {
	bits := s.Cast(s.Div(s.draw(layer, philox.StreamGumbel), s.Int(1<<9)), onnx.Float64)
	u := s.Mul(s.Add(bits, s.Doubles(0.5)), s.Doubles(0x1p-23))
	return s.Cast(s.Neg(s.Log(s.Neg(s.Log(u)))), onnx.Float32)
}

// draw returns the first random word at each position for a layer and a stream: int64 [length].
func (s *sequence) draw(layer int, stream uint32) onnx.Tensor {
	return s.Gather(s.words, s.Int(int64(s.row[address{layer, stream}])))
}

// address identifies the random words of a sequence.
type address struct {
	layer  int
	stream uint32
}

// random draws the words of all samplers together: int64 [addresses, length].
func (s *sequence) random() {
	streams := []uint32{philox.StreamTie, philox.StreamPartner}
	if s.config.SamplerNoise == "always" {
		streams = append(streams, philox.StreamGumbel)
	}
	s.row = map[address]int{}
	var second []int64
	first, end := 0, s.config.NumLayers
	if !s.config.HasAttention() {
		first = end
	}
	if s.config.PoolingSamples > 0 {
		end++ // the pooling of the head
	}
	if first == end {
		return
	}
	for layer := first; layer < end; layer++ {
		for _, stream := range streams {
			s.row[address{layer, stream}] = len(second)
			second = append(second, int64(philox.Counter(0, 0, uint32(layer), stream, 0, 0)[1]))
		}
	}
	counters := [4]onnx.Tensor{s.Unsqueeze(s.position, 0), s.Unsqueeze(s.Ints(second...), 1), s.Int(0), s.Int(0)}
	s.words = s.philox(s.config.SamplerSeed, counters)[0]
}

// philox emits [philox.Words] with int64 numbers below 2³². All products stay below 2⁶³, because
// integer overflow differs between runtimes.
func (e *emitter) philox(seed uint64, c [4]onnx.Tensor) [4]onnx.Tensor {
	key0, key1 := uint32(seed), uint32(seed>>32)
	xor := func(a, b onnx.Tensor, k uint32) onnx.Tensor {
		return e.BitwiseXor(e.BitwiseXor(a, b), e.Int(int64(k)))
	}
	for range philox.Rounds {
		high0, low0 := e.wideProduct(c[0], philox.Multiplier0)
		high2, low2 := e.wideProduct(c[2], philox.Multiplier1)
		c = [4]onnx.Tensor{xor(high2, c[1], key0), low2, xor(high0, c[3], key1), low0}
		key0, key1 = key0+philox.Weyl0, key1+philox.Weyl1
	}
	return c
}

// wideProduct returns the high and the low 32 bits of x·m for x < 2³². With x = 2¹⁶·a + b:
//
//	t = m·b,  u = m·a + ⌊t/2¹⁶⌋,  high = ⌊u/2¹⁶⌋,  low = 2¹⁶·(u mod 2¹⁶) + t mod 2¹⁶
func (e *emitter) wideProduct(x onnx.Tensor, m uint32) (high, low onnx.Tensor) {
	half, mask, factor := e.Int(1<<16), e.Int(math.MaxUint16), e.Int(int64(m))
	t := e.Mul(e.BitwiseAnd(x, mask), factor)
	u := e.Add(e.Mul(e.Div(x, half), factor), e.Div(t, half))
	return e.Div(u, half), e.Add(e.Mul(e.BitwiseAnd(u, mask), half), e.BitwiseAnd(t, mask))
}
