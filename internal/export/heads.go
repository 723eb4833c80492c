package export

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/sft"
)

// heads appends the encoder of each input and what the task makes of it.
func (e *emitter) heads() {
	c := e.config
	labels, hidden := onnx.Size(c.NumLabels), onnx.Size(c.HiddenSize)
	logits := func(x onnx.Tensor, doc string, shape ...onnx.Dim) {
		if d := c.LogitDivisor(); d != 1 {
			x = e.Div(x, e.Float(d))
		}
		e.Output(outputLogits, x, onnx.Float32, doc, shape...)
	}
	embedding := func(name string, x onnx.Tensor) {
		e.Output(name, e.Reshape(x, int64(c.HiddenSize)), onnx.Float32, "The sequence as a vector, compared by cosine.", hidden)
	}
	switch c.Task {
	case sft.Classification, sft.MultiLabel, sft.Regression:
		s, x := e.encode(inputTokens, dimLength)
		u := s.pool(x)
		out := e.Reshape(e.linear("head.out", u), int64(c.NumLabels))
		logits(out, logitsDoc[c.Task], labels)
		if c.Predicts() {
			e.Output(outputNumbers, e.numbers(out), onnx.Float32, "The predictions, in the units of the data.", labels)
		}
		embedding(outputEmbedding, u)
	case sft.Retrieval:
		var pooled []onnx.Tensor
		for _, name := range []string{"a", "b"} {
			e.Scope = name + "/"
			s, x := e.encode(name, dimLength+"_"+name)
			pooled = append(pooled, s.pool(x))
		}
		e.Scope = ""
		u, v := pooled[0], pooled[1]
		features := e.Concat(1, u, v, e.Mul(u, v), e.Sub(u, v))
		out := e.linear("head.out", e.gelu(e.linear("head.hidden", features)))
		logits(e.Reshape(out, int64(c.NumLabels)), logitsDoc[c.Task], labels)
		embedding(outputEmbedding+"_a", u)
		embedding(outputEmbedding+"_b", v)
	case sft.Tagging:
		_, x := e.encode(inputTokens, dimLength)
		read := dimLength
		if c.TruncatesAt() > 0 {
			read = dimRead
		}
		logits(e.linear("head.out", x), logitsDoc[c.Task], onnx.Named(read), labels)
		embedding(outputEmbedding, e.ReduceMean(x, 0))
	case sft.FillMask:
		s, x := e.encode(inputTokens, dimLength)
		positions := e.NonZero(e.Equal(s.tokens, e.Int(int64(*c.MaskTokenID))))
		logits(e.tokenLogits(e.Gather(x, positions)), logitsDoc[c.Task], onnx.Named(dimMasks), labels)
		e.Output(outputPositions, positions, onnx.Int64, "Where the masks are.", onnx.Named(dimMasks))
		embedding(outputEmbedding, e.ReduceMean(x, 0))
	default:
		panic(fmt.Sprintf("export: no task %q", c.Task))
	}
}

// logitsDoc says what the logits of a task mean.
var logitsDoc = map[string]string{
	sft.Classification: "Of each label; their softmax is the probabilities.",
	sft.Retrieval:      "Of each label of the pair; their softmax is the probabilities.",
	sft.MultiLabel:     "Of each label; the sigmoid of one is the probability that it holds.",
	sft.Regression:     "The standardised predictions.",
	sft.Tagging:        "Of each label of each token; the softmax of a row is the probabilities.",
	sft.FillMask:       "Of each token of the vocabulary but the mask, a row for each mask; the softmax of a row is the probabilities.",
}

// pool makes one row of the tokens x [length, hidden]: their mean by learned weights, or the
// maximum of each channel, of all or of a sample. [1, hidden].
func (s *sequence) pool(x onnx.Tensor) onnx.Tensor {
	c := s.config
	if c.Pooling == sft.MaxPooling {
		if c.PoolingSamples > 0 {
			x = s.sampled("head.sampler", x, c.PoolingSamples, c.NumLayers).rows
		}
		return s.ReduceMax(x, 0)
	}
	score := s.Gemm(x, s.Reshape(s.weight("head.pool.weight"), 1, int64(c.HiddenSize)), s.weight("head.pool.bias"))
	return s.MatMul(s.Transpose(s.Softmax(score, 0), 1, 0), x)
}

// numbers are the predictions of a regression, computed in float64 as [sft.Config.Predictions] does.
func (e *emitter) numbers(logits onnx.Tensor) onnx.Tensor {
	var mean, deviation []float64
	for _, n := range e.config.Numbers {
		mean = append(mean, n.Mean)
		if n.Deviation == 0 {
			n.Deviation = 1
		}
		deviation = append(deviation, n.Deviation)
	}
	scaled := e.Mul(e.Cast(logits, onnx.Float64), e.Doubles(deviation...))
	y := e.Add(scaled, e.Doubles(mean...))
	return e.Cast(e.Min(e.Max(y, e.Doubles(-math.MaxFloat32)), e.Doubles(math.MaxFloat32)), onnx.Float32)
}

// tokenLogits are the logits of all tokens but the mask, for each row of x.
func (e *emitter) tokenLogits(x onnx.Tensor) onnx.Tensor {
	if !e.config.TieEmbeddings {
		return e.linear("head.out", x)
	}
	weight := e.Slice(e.weight("embed.weight"), e.Ints(0), e.Ints(int64(e.config.NumLabels)))
	return e.Gemm(x, weight, e.weight("head.out.bias"))
}
