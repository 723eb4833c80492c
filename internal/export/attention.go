package export

import (
	"fmt"
	"math"
	"slices"

	"github.com/sftseq/sftseq/internal/onnx"
)

// attention samples tokens of x [length, hidden] and computes attention from every token to the
// sampled tokens.
func (s *sequence) attention(name string, x onnx.Tensor, layer int) onnx.Tensor {
	c := s.config
	sample := s.sampled(name+"sampler", x, c.NumSampledTokens, layer)
	q := s.linear(name+"attn.q", x)
	products := s.products(s.split(s.linear(name+"attn.k", sample.rows)))
	relative := s.relative(name, sample)
	weighted := s.weighted(name, s.split(s.linear(name+"attn.v", sample.rows)), sample)

	hidden := int64(c.HiddenSize)
	o := s.Scan(s.blocks, onnx.Int64, onnx.Float32, func(positions onnx.Tensor) onnx.Tensor {
		a := products(s.split(s.Gather(q, positions)))
		a = s.Mul(a, s.Float(1/math.Sqrt(float64(c.HiddenSize/c.NumHeads))))
		return s.Reshape(s.Transpose(weighted(relative(a, positions)), 1, 0, 2), 0, hidden)
	})
	o = s.Slice(s.Reshape(o, -1, hidden), s.Ints(0), s.length)
	return s.linear(name+"attn.o", o)
}

// mix returns p·a + (1−p)·b, where a belongs to a top token and b to its partner.
func (e *emitter) mix(p, a, b onnx.Tensor) onnx.Tensor {
	return e.Add(e.Mul(p, a), e.Mul(e.Sub(e.Float(1), p), b))
}

// split divides the channels among the heads: [rows, hidden] becomes [heads, rows, channels].
func (e *emitter) split(x onnx.Tensor) onnx.Tensor {
	c := e.config
	return e.Transpose(e.Reshape(x, 0, int64(c.NumHeads), int64(c.HiddenSize/c.NumHeads)), 1, 0, 2)
}

// products returns a function for the scores m(q, k) of queries and the keys k, [heads, queries,
// keys]. Scores other than the dot product are summed channel by channel, to avoid a tensor of the
// size queries × keys × channels.
func (e *emitter) products(k onnx.Tensor) func(q onnx.Tensor) onnx.Tensor {
	channels := e.config.HiddenSize / e.config.NumHeads
	k = e.Transpose(k, 0, 2, 1)
	var term func(q, k onnx.Tensor) onnx.Tensor // term of one channel
	switch e.config.Score {
	case "dot":
		return func(q onnx.Tensor) onnx.Tensor { return e.MatMul(q, k) }
	case "maxout", "maxout_standardized":
		term = e.Max
	case "lily":
		term = func(q, k onnx.Tensor) onnx.Tensor { return e.Sub(e.Abs(e.Add(q, k)), e.Abs(e.Sub(q, k))) }
	default:
		panic(fmt.Sprintf("export: no score %q", e.config.Score))
	}
	one := slices.Repeat([]int64{1}, channels)
	ks := e.Split(k, 1, one...)
	return func(q onnx.Tensor) onnx.Tensor {
		qs := e.Split(q, 2, one...)
		sum := term(qs[0], ks[0])
		for i := 1; i < channels; i++ {
			sum = e.Add(sum, term(qs[i], ks[i]))
		}
		if e.config.Score == "maxout_standardized" { // Σ (max − 1/√π)/√(1−1/π)
			mean := float64(channels) / math.Sqrt(math.Pi)
			sum = e.Mul(e.Sub(sum, e.Float(mean)), e.Float(1/math.Sqrt(1-1/math.Pi)))
		}
		return sum
	}
}

// minSum avoids a division by zero in rows without a positive score.
const minSum = 1e-9

// weighted returns a function that maps scores a, [heads, queries, keys], to P·V, [heads, queries,
// channels]. P are the probabilities of the scores.
func (s *sequence) weighted(name string, v onnx.Tensor, sample sampled) func(a onnx.Tensor) onnx.Tensor {
	c := s.config
	if c.Probability == "softmax" {
		return func(a onnx.Tensor) onnx.Tensor { return s.MatMul(s.Softmax(a, -1), v) }
	}
	rest := s.Float(minSum)
	switch c.Probability {
	case "relu":
	case "leaky_relu":
		leak := s.ReduceSum(s.Softplus(s.linear(name+"attn.leak", sample.rows)), 0)
		rest = s.Add(s.Reshape(leak, int64(c.NumHeads), 1, 1), rest)
	default:
		panic(fmt.Sprintf("export: no probability %q", c.Probability))
	}
	// With a column of ones next to the values, the product also contains the sum of each row of
	// Relu(a). All rows are summed in the same order.
	ones := s.Expand(s.Float(1), s.Concat(0, s.Ints(int64(c.NumHeads)), sample.keys, s.Ints(1)))
	v = s.Concat(2, v, ones)
	return func(a onnx.Tensor) onnx.Tensor {
		parts := s.Split(s.MatMul(s.Relu(a), v), 2, int64(c.HiddenSize/c.NumHeads), 1)
		return s.Div(parts[0], s.Add(parts[1], rest))
	}
}
