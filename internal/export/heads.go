package export

import (
	"cmp"
	"math"

	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// exportedTask defines the outputs and the metadata of a graph for a task.
type exportedTask struct {
	logits string // description of the logits
	heads  func(e *emitter)
	// properties adds the metadata that a program needs for this task, as lists. It is nil if the
	// task needs none.
	properties func(c *sft.Config, list func(key string, v any))
}

var exportedTasks map[string]exportedTask

func init() {
	exportedTasks = map[string]exportedTask{
		config.Classification: {"Logits of the labels; their softmax gives the probabilities.",
			(*emitter).rowHead, nil},
		config.Retrieval: {"Logits of the pair's labels; their softmax gives the probabilities.",
			(*emitter).pairHead, nil},
		config.MultiLabel: {"Logits of the labels; the sigmoid of a logit is the label's probability.",
			(*emitter).rowHead, listThresholds},
		config.Regression: {"The standardised predictions.", (*emitter).numbersHead, listNumbers},
		config.Tagging: {"Logits of the labels for each token; the softmax of a row gives the probabilities.",
			(*emitter).tokensHead, nil},
		config.FillMask: {"Logits of the vocabulary's tokens except the mask, a row for each mask; the softmax of a " +
			"row gives the probabilities.", (*emitter).masksHead, nil},
	}
}

func listThresholds(c *sft.Config, list func(key string, v any)) {
	thresholds := make([]float64, c.NumLabels)
	for i := range thresholds {
		thresholds[i] = c.Threshold(i)
	}
	list("thresholds", thresholds)
}

func listNumbers(c *sft.Config, list func(key string, v any)) { list("number_names", c.NumberNames()) }

// logits emits the task's logits, divided by the temperature, as an output.
func (e *emitter) logits(x onnx.Tensor, shape ...onnx.Dim) {
	if d := e.config.LogitDivisor(); d != 1 {
		x = e.Div(x, e.Float(d))
	}
	e.Output(outputLogits, x, onnx.Float32, exportedTasks[e.config.Task].logits, shape...)
}

func (e *emitter) embedding(name string, x onnx.Tensor) {
	hidden := onnx.Size(e.config.HiddenSize)
	e.Output(name, e.Reshape(x, int64(e.config.HiddenSize)), onnx.Float32,
		"The embedding of the sequence, to be compared by cosine similarity.", hidden)
}

// labels returns the dimension of the logits.
func (e *emitter) labels() onnx.Dim { return onnx.Size(e.config.NumLabels) }

// rowHead emits the logits and the embedding of the pooled sequence.
func (e *emitter) rowHead() { e.pooledHead(func(onnx.Tensor) {}) }

// numbersHead emits the outputs of rowHead and the predictions in the units of the data.
func (e *emitter) numbersHead() {
	e.pooledHead(func(out onnx.Tensor) {
		e.Output(outputNumbers, e.numbers(out), onnx.Float32, "The predictions, in the units of the data.", e.labels())
	})
}

func (e *emitter) pooledHead(beside func(logits onnx.Tensor)) {
	s, x := e.encode(inputTokens, dimLength)
	u := s.pool(x)
	out := e.Reshape(e.linear("head.out", u), int64(e.config.NumLabels))
	e.logits(out, e.labels())
	beside(out)
	e.embedding(outputEmbedding, u)
}

func (e *emitter) pairHead() {
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
	e.logits(e.Reshape(out, int64(e.config.NumLabels)), e.labels())
	e.embedding(outputEmbedding+"_a", u)
	e.embedding(outputEmbedding+"_b", v)
}

func (e *emitter) tokensHead() {
	_, x := e.encode(inputTokens, dimLength)
	read := dimLength
	if e.config.TruncatesAt() > 0 {
		read = dimRead
	}
	e.logits(e.linear("head.out", x), onnx.Named(read), e.labels())
	e.embedding(outputEmbedding, e.ReduceMean(x, 0))
}

func (e *emitter) masksHead() {
	s, x := e.encode(inputTokens, dimLength)
	positions := e.NonZero(e.Equal(s.tokens, e.Int(int64(*e.config.MaskTokenID))))
	e.logits(e.tokenLogits(e.Gather(x, positions)), onnx.Named(dimMasks), e.labels())
	e.Output(outputPositions, positions, onnx.Int64, "Positions of the masks.", onnx.Named(dimMasks))
	e.embedding(outputEmbedding, e.ReduceMean(x, 0))
}

// pool reduces the tokens x [length, hidden] to one row [1, hidden]: their mean with learned
// weights, or the maximum of each channel over all tokens or a sample.
func (s *sequence) pool(x onnx.Tensor) onnx.Tensor {
	c := s.config
	if c.Pooling == config.MaxPooling {
		if c.PoolingSamples > 0 {
			x = s.sampled("head.sampler", x, c.PoolingSamples, c.NumLayers).rows
		}
		return s.ReduceMax(x, 0)
	}
	score := s.Gemm(x, s.Reshape(s.weight("head.pool.weight"), 1, int64(c.HiddenSize)), s.weight("head.pool.bias"))
	return s.MatMul(s.Transpose(s.Softmax(score, 0), 1, 0), x)
}

// numbers returns the predictions of a regression, computed in float64 like
// [sft.Config.Predictions].
func (e *emitter) numbers(logits onnx.Tensor) onnx.Tensor {
	var mean, deviation []float64
	for _, n := range e.config.Numbers {
		mean = append(mean, n.Mean)
		deviation = append(deviation, cmp.Or(n.Deviation, 1))
	}
	scaled := e.Mul(e.Cast(logits, onnx.Float64), e.Doubles(deviation...))
	y := e.Add(scaled, e.Doubles(mean...))
	return e.Cast(e.Min(e.Max(y, e.Doubles(-math.MaxFloat32)), e.Doubles(math.MaxFloat32)), onnx.Float32)
}

// tokenLogits returns the logits of all tokens of the vocabulary except the mask, for each row of x.
func (e *emitter) tokenLogits(x onnx.Tensor) onnx.Tensor {
	if !e.config.TieEmbeddings {
		return e.linear("head.out", x)
	}
	weight := e.Slice(e.weight("embed.weight"), e.Ints(0), e.Ints(int64(e.config.NumLabels)))
	return e.Gemm(x, weight, e.weight("head.out.bias"))
}
