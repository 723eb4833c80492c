package export

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/onnx"
)

// sequence is one that the encoder reads: what all layers share.
type sequence struct {
	*emitter
	tokens onnx.Tensor // int64 [length], checked
	length onnx.Tensor // int64 [1]
	keys   onnx.Tensor // int64 [1]: how many tokens a layer samples
	pairs  onnx.Tensor // int64 [1]: how many of them have a partner
	blocks onnx.Tensor // int64 [blocks, queries]: the positions whose queries are computed at a time
	sines  onnx.Tensor // [length, sinusoid_dim]; none without relative terms
	words  onnx.Tensor // random, int64 [rows, length]
	row    map[address]int
}

// encode reads an input: the rows of its tokens after the last layer, [length, hidden], under
// pre-norm after the final norm.
func (e *emitter) encode(input string, dim string) (*sequence, onnx.Tensor) {
	c := e.config
	s := &sequence{emitter: e}
	scope := e.Scope
	s.read(e.Input(input, onnx.Int64, fmt.Sprintf("Ids of tokens, 0 to %d.", c.VocabSize-1), onnx.Named(dim)))
	position := e.Range(e.Int(0), e.Squeeze(s.length, 0))
	s.block()
	s.random(position)
	if c.Relative != "none" {
		s.sinusoid(position)
	}
	e.Scope = scope + "token_is_accepted/"
	x := e.Gather(e.weight("embed.weight"), s.tokens)
	for l := range c.NumLayers {
		e.Scope = fmt.Sprintf("%slayers.%d/", scope, l)
		x = s.layer(x, l)
	}
	e.Scope = scope
	if c.NormPosition == "pre" {
		x = e.norm("final_norm", x)
	}
	return s, x
}

// read takes what the model reads of the tokens. What it cannot read becomes an index out of
// bounds: a token that is negative, which would count from the end, or the padding id; and a length that
// is not accepted, in a list of one number of samples.
func (s *sequence) read(tokens onnx.Tensor) {
	c := s.config
	if n := c.TruncatesAt(); n > 0 {
		tokens = s.Slice(tokens, s.Ints(0), s.Ints(int64(n)))
	}
	bad := s.Less(tokens, s.Int(0))
	if c.PadTokenID != nil {
		bad = s.Or(bad, s.Equal(tokens, s.Int(int64(*c.PadTokenID))))
	}
	s.tokens = s.Where(bad, s.Int(int64(c.VocabSize)), tokens)
	s.length = s.Shape(tokens)
	scope := s.Scope
	s.Scope = scope + "length_is_accepted/" // errors name the node
	refused := s.Or(s.Less(s.length, s.Int(1)), s.Less(s.Int(int64(longest(c))), s.length))
	most := s.Gather(s.Ints(int64(c.NumSampledTokens)), s.Cast(refused, onnx.Int64))
	s.Scope = scope
	s.keys = s.Min(s.length, most)
	s.pairs = s.Min(s.keys, s.Sub(s.length, s.keys))
}

// blockScores is how many scores of a head are computed at a time, about: a number that a
// processor's cache holds several times.
const blockScores = 1 << 14

// block cuts the positions into blocks of the same number, whose last one repeats the last position
// where there are too few. So attention takes memory for the scores of a block, however long the
// sequence is.
func (s *sequence) block() {
	most := s.Int(int64(max(1, blockScores/s.config.NumSampledTokens)))
	one := s.Int(1)
	// ceil is ⌈a/b⌉.
	ceil := func(a, b onnx.Tensor) onnx.Tensor { return s.Div(s.Sub(s.Add(a, b), one), b) }
	blocks := s.Max(ceil(s.length, most), one)
	queries := ceil(s.length, blocks)
	positions := s.Min(s.Range(s.Int(0), s.Squeeze(s.Mul(blocks, queries), 0)), s.Sub(s.length, one))
	s.blocks = s.ReshapeTo(positions, s.Concat(0, blocks, queries))
}

// sinusoid is the encoding of positions, S[i, 2c] = sin(i·ω_c) and S[i, 2c+1] = cos(i·ω_c),
// its phases in float64. A cosine is a shifted sine: ONNX Runtime has no other in float64.
func (s *sequence) sinusoid(position onnx.Tensor) {
	c := s.config
	frequency, shift := make([]float64, c.SinusoidDim), make([]float64, c.SinusoidDim)
	for j := range frequency {
		frequency[j] = math.Pow(c.SinusoidBase, -float64(j/2*2)/float64(c.SinusoidDim))
		shift[j] = float64(j%2) * math.Pi / 2
	}
	phase := s.Mul(s.Cast(s.Unsqueeze(position, 1), onnx.Float64), s.Doubles(frequency...))
	s.sines = s.Cast(s.Sin(s.Add(phase, s.Doubles(shift...))), onnx.Float32)
}

// layer is one encoder layer, of x [length, hidden].
func (s *sequence) layer(x onnx.Tensor, l int) onnx.Tensor {
	name := fmt.Sprintf("layers.%d.", l)
	pre := s.config.NormPosition == "pre"
	// branch is a residual branch under either norm position.
	branch := func(norm string, f func(onnx.Tensor) onnx.Tensor) {
		if pre {
			x = s.Add(x, f(s.norm(norm, x)))
		} else {
			x = s.norm(norm, s.Add(x, f(x)))
		}
	}
	scaled := func(y onnx.Tensor) onnx.Tensor {
		if s.config.ResidualScale {
			return s.Mul(y, s.weight(name+"residual_scale"))
		}
		return y
	}
	for n := range s.config.Convolutions {
		at := fmt.Sprintf("%sconv.%d.", name, n)
		branch(at+"norm", func(y onnx.Tensor) onnx.Tensor { return s.gelu(s.convolution(at, y, n)) })
	}
	branch(name+"norm1", func(y onnx.Tensor) onnx.Tensor { return scaled(s.attention(name, y, l)) })
	branch(name+"norm2", func(y onnx.Tensor) onnx.Tensor {
		return scaled(s.linear(name+"mlp.fc2", s.gelu(s.linear(name+"mlp.fc1", y))))
	})
	return x
}

// convolution mixes each channel of a token with those of its neighbours.
func (s *sequence) convolution(name string, x onnx.Tensor, n int) onnx.Tensor {
	c := s.config.Convolutions[n]
	weight := s.Unsqueeze(s.Transpose(s.weight(name+"weight"), 1, 0), 1) // [hidden, 1, taps]
	y := s.Conv(s.Unsqueeze(s.Transpose(x, 1, 0), 0), weight, s.weight(name+"bias"), s.config.HiddenSize, c.KernelSize, c.Dilation)
	return s.Transpose(s.Squeeze(y, 0), 1, 0)
}
