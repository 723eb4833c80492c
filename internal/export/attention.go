package export

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/onnx"
)

// attention samples tokens and attends from every token to them, of x [length, hidden].
func (s *sequence) attention(name string, x onnx.Tensor, layer int) onnx.Tensor {
	c := s.config
	score := s.scores(name+"sampler", x)
	if c.SamplerNoise == "always" {
		score = s.Add(score, s.gumbel(layer))
	}
	sample := s.sample(score, layer)

	p := s.Unsqueeze(sample.p, 1)
	mixed := s.mix(p, s.Gather(x, sample.top), s.Gather(x, sample.partner)) // [keys, hidden]
	q, k, v := s.split(s.linear(name+"attn.q", x)), s.split(s.linear(name+"attn.k", mixed)), s.split(s.linear(name+"attn.v", mixed))

	a := s.Mul(s.products(q, k), s.Float(1/math.Sqrt(float64(c.HiddenSize/c.NumHeads))))
	if c.Relative != "none" {
		a = s.relative(name, a, sample)
	}
	o := s.weighted(name, a, v, mixed)
	o = s.Reshape(s.Transpose(o, 1, 0, 2), 0, int64(c.HiddenSize))
	return s.linear(name+"attn.o", o)
}

// mix is p·a + (1−p)·b.
func (e *emitter) mix(p, a, b onnx.Tensor) onnx.Tensor {
	return e.Add(e.Mul(p, a), e.Mul(e.Sub(e.Float(1), p), b))
}

// split gives each head its channels: [heads, rows, channels] of [rows, hidden].
func (e *emitter) split(x onnx.Tensor) onnx.Tensor {
	c := e.config
	return e.Transpose(e.Reshape(x, 0, int64(c.NumHeads), int64(c.HiddenSize/c.NumHeads)), 1, 0, 2)
}

// products are the scores m(q, k) of queries and keys: [heads, length, keys]. All but the dot
// product are added up channel by channel, so that nothing of the size length × keys × channels is
// made.
func (e *emitter) products(q, k onnx.Tensor) onnx.Tensor {
	channels := e.config.HiddenSize / e.config.NumHeads
	k = e.Transpose(k, 0, 2, 1)
	if e.config.Score == "dot" {
		return e.MatMul(q, k)
	}
	one := slices.Repeat([]int64{1}, channels)
	qs, ks := e.Split(q, 2, one...), e.Split(k, 1, one...)
	var sum onnx.Tensor
	for i := range channels {
		var term onnx.Tensor
		switch e.config.Score {
		case "maxout", "maxout_standardized":
			term = e.Max(qs[i], ks[i])
		case "lily":
			term = e.Sub(e.Abs(e.Add(qs[i], ks[i])), e.Abs(e.Sub(qs[i], ks[i])))
		default:
			panic(fmt.Sprintf("export: no score %q", e.config.Score))
		}
		if i == 0 {
			sum = term
		} else {
			sum = e.Add(sum, term)
		}
	}
	if e.config.Score == "maxout_standardized" { // Σ (max − 1/√π)/√(1−1/π)
		mean := float64(channels) / math.Sqrt(math.Pi)
		sum = e.Mul(e.Sub(sum, e.Float(mean)), e.Float(1/math.Sqrt(1-1/math.Pi)))
	}
	return sum
}

// relative is a·Rmul + Radd, the relative encoding of queries and duplets.
func (s *sequence) relative(name string, a onnx.Tensor, sample sampled) onnx.Tensor {
	c := s.config
	heads, dim := int64(c.NumHeads), int64(c.SinusoidDim)
	// lin is Σ_c W[head, c]·S[i, c]·S[j, c] + b[head], for tokens j: [heads, length, keys].
	lin := func(part string, j onnx.Tensor) onnx.Tensor {
		weight := s.Reshape(s.weight(name+part+".weight"), heads, 1, dim)
		bias := s.Reshape(s.weight(name+part+".bias"), heads, 1, 1)
		return s.Add(s.MatMul(s.Mul(s.sines, weight), s.Transpose(s.Gather(s.sines, j), 1, 0)), bias)
	}
	factor := s.mix(sample.p, s.Softplus(lin("attn.rel_mul", sample.top)), s.Softplus(lin("attn.rel_mul", sample.partner)))
	summand := s.mix(sample.p, lin("attn.rel_add", sample.top), lin("attn.rel_add", sample.partner))
	return s.Add(s.Mul(a, factor), summand)
}

// leastSum keeps a row without a positive score from being divided by zero.
const leastSum = 1e-9

// weighted is P V, with P the probabilities of the scores a: [heads, length, channels].
func (s *sequence) weighted(name string, a, v, mixed onnx.Tensor) onnx.Tensor {
	c := s.config
	switch c.Probability {
	case "softmax":
		return s.MatMul(s.Softmax(a, -1), v)
	case "relu", "leaky_relu":
	default:
		panic(fmt.Sprintf("export: no probability %q", c.Probability))
	}
	a = s.Relu(a)
	// A column of ones beside the values gives the sum of each row, in the same order for all.
	ones := s.Expand(s.Float(1), s.Concat(0, s.Ints(int64(c.NumHeads)), s.keys, s.Ints(1)))
	parts := s.Split(s.MatMul(a, s.Concat(2, v, ones)), 2, int64(c.HiddenSize/c.NumHeads), 1)
	sum := s.Add(parts[1], s.Float(leastSum))
	if c.Probability == "leaky_relu" {
		leak := s.ReduceSum(s.Softplus(s.linear(name+"attn.leak", mixed)), 0)
		sum = s.Add(sum, s.Reshape(leak, int64(c.NumHeads), 1, 1))
	}
	return s.Div(parts[0], sum)
}
