package export

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/sft/config"
)

// sequence holds the tensors of an encoder's input that all layers share.
type sequence struct {
	*emitter
	tokens   onnx.Tensor     // int64 [length], validated; unset if the model reads features
	length   onnx.Tensor     // int64 [1]
	position onnx.Tensor     // int64 [length]
	blocks   onnx.Tensor     // int64 [blocks, queries]: positions of the queries in each block
	relation relation        // nil without relative encoding
	words    onnx.Tensor     // random words, int64 [addresses, length]
	row      map[address]int // index of the row in words, by address
}

// encode returns the sequence of an input and its hidden states after the last layer, [length, hidden].
// With pre-norm, the final norm is applied to the hidden states.
func (e *emitter) encode(input string, dim string) (*sequence, onnx.Tensor) {
	c := e.config
	s := &sequence{emitter: e}
	scope := e.Scope
	var x onnx.Tensor
	if c.HasFeatures() {
		x = s.featured()
	} else {
		x = s.embedded(input, dim)
	}
	if c.HasAttention() {
		s.block()
	}
	s.random()
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

// embedded returns the embeddings of token ids, [length, hidden]. It maps the padding id and negative
// ids, which ONNX would count from the end, to an index out of bounds, so that the runtime reports an
// error.
func (s *sequence) embedded(input, dim string) onnx.Tensor {
	c := s.config
	tokens := s.read(s.Input(input, onnx.Int64, fmt.Sprintf("Ids of tokens, 0 to %d.", c.VocabSize-1), onnx.Named(dim)))
	s.measure(tokens)
	if c.Relative != config.NoRelation {
		s.relation = s.sinusoid()
	}
	bad := s.Less(tokens, s.Int(0))
	if c.PadTokenID != nil {
		bad = s.Or(bad, s.Equal(tokens, s.Int(int64(*c.PadTokenID))))
	}
	s.tokens = s.Where(bad, s.Int(int64(c.VocabSize)), tokens)
	x := s.within("token_is_accepted/", func() onnx.Tensor { return s.Gather(s.weight("embed.weight"), s.tokens) })
	return s.within("ngrams/", func() onnx.Tensor { return s.ngrams(x, input, dim) })
}

// read truncates the rows of x, one per token, to the input window.
func (s *sequence) read(x onnx.Tensor) onnx.Tensor {
	w := s.config.ReadWindow()
	if w.Length == 0 {
		return x
	}
	begin := s.Ints(int64(w.Length - w.Tail))
	head := s.Slice(x, s.Ints(0), begin)
	if w.Tail == 0 {
		return head
	}
	end := s.Ints(math.MaxInt64)
	// For a short sequence rest has at most Tail tokens, and the next slice keeps all of them.
	rest := s.Slice(x, begin, end)
	return s.Concat(0, head, s.Slice(rest, s.Ints(int64(-w.Tail)), end))
}

// within runs f with scope added to the names of its nodes. Errors of the runtime name the node.
func (s *sequence) within(scope string, f func() onnx.Tensor) onnx.Tensor {
	outer := s.Scope
	s.Scope += scope
	defer func() { s.Scope = outer }()
	return f()
}

// measure sets the length and the positions of the input x. For a length that is not accepted it emits an index
// out of bounds, so that the runtime reports an error.
func (s *sequence) measure(x onnx.Tensor) {
	length := s.Slice(s.Shape(x), s.Ints(0), s.Ints(1))
	refused := s.Or(s.Less(length, s.Int(1)), s.Less(s.Int(int64(longest(s.config))), length))
	s.length = s.within("length_is_accepted/",
		func() onnx.Tensor { return s.Gather(length, s.Cast(refused, onnx.Int64)) })
	s.position = s.Range(s.Int(0), s.Squeeze(s.length, 0))
}

// blockScores is the approximate number of scores of a head that are computed together: the CPU's cache holds several
// blocks.
const blockScores = 1 << 14

// block divides the positions into blocks of equal size; repeats of the last position pad the last block. The
// scores of attention then take the memory of one block at every sequence length.
func (s *sequence) block() {
	maxQueries := s.Int(int64(max(1, blockScores/s.config.NumSampledTokens)))
	one := s.Int(1)
	// ceil returns ⌈a/b⌉.
	ceil := func(a, b onnx.Tensor) onnx.Tensor { return s.Div(s.Sub(s.Add(a, b), one), b) }
	blocks := s.Max(ceil(s.length, maxQueries), one)
	queries := ceil(s.length, blocks)
	positions := s.Min(s.Range(s.Int(0), s.Squeeze(s.Mul(blocks, queries), 0)), s.Sub(s.length, one))
	s.blocks = s.ReshapeTo(positions, s.Concat(0, blocks, queries))
}

// layer applies encoder layer l to x [length, hidden].
func (s *sequence) layer(x onnx.Tensor, l int) onnx.Tensor {
	name := fmt.Sprintf("layers.%d.", l)
	pre := s.config.NormPosition == "pre"
	// branch adds a residual branch with pre-norm or post-norm.
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
	if s.config.MovingAverages > 0 {
		at := name + "average."
		branch(at+"norm", func(y onnx.Tensor) onnx.Tensor { return s.gelu(s.movingAverage(at, y)) })
	}
	if s.config.HasAttention() {
		branch(name+"norm1", func(y onnx.Tensor) onnx.Tensor { return scaled(s.attention(name, y, l)) })
	}
	branch(name+"norm2", func(y onnx.Tensor) onnx.Tensor {
		return scaled(s.linear(name+"mlp.fc2", s.gelu(s.linear(name+"mlp.fc1", y))))
	})
	return x
}

// convolution applies depthwise convolution n of a layer over the tokens.
func (s *sequence) convolution(name string, x onnx.Tensor, n int) onnx.Tensor {
	c := s.config.Convolutions[n]
	weight := s.Unsqueeze(s.Transpose(s.weight(name+"weight"), 1, 0), 1) // [hidden, 1, taps]
	y := s.Conv(s.Unsqueeze(s.Transpose(x, 1, 0), 0), weight, s.weight(name+"bias"), s.config.HiddenSize,
		c.KernelSize, c.Dilation)
	return s.Transpose(s.Squeeze(y, 0), 1, 0)
}
