package bench

import (
	"strings"

	"sftseq/internal/tensor"
	"sftseq/sft"
)

// work is the arithmetic that a kernel is measured by, in operations: without
// any, it is measured by the bytes of its operands.
type work struct {
	products    float64 // multiply and add, two for each pair of them
	comparisons float64 // maximum and add, and in the backward select and add, likewise
}

func (w work) operations() float64 { return w.products + w.comparisons }

func (w *work) add(v work) {
	w.products += v.products
	w.comparisons += v.comparisons
}

// arithmetic is the work of a launch whose operands are full: of matrix products,
// and of attention over sequences of one length. What the relative encoding and
// the probability take for a pair of query and key comes on top.
func arithmetic(k tensor.Kernel) work {
	product := func(rows, weight *tensor.Tensor) float64 { return 2 * float64(rows.Shape[0]) * float64(weight.Words()) }
	switch k := k.(type) {
	case tensor.Linear:
		return work{products: product(k.X, k.Weight)}
	case tensor.LinearBackward: // the gradients of the input and of the weight
		return work{products: 2 * product(k.X, k.Weight)}
	case tensor.FeedForward:
		return work{products: product(k.X, k.Weight1) + product(k.X, k.Weight2)}
	case tensor.Attention:
		return pairs(k, 1, 1) // the weighted sum; the score
	case tensor.AttentionBackward:
		// The gradients of probability and value; the score again, and the
		// gradients of query and key.
		return pairs(k.Forward, 2, 3)
	}
	return work{}
}

// pairs is the work of going over all channels of all pairs of query and key: so
// many times to multiply, so many times for the score.
func pairs(k tensor.Attention, products, scores float64) work {
	once := 2 * float64(k.Q.Words()) * float64(k.K.Shape[0]) / float64(k.Count.Shape[0])
	if k.Score == tensor.Dot {
		return work{products: (products + scores) * once}
	}
	return work{products: products * once, comparisons: scores * once}
}

// convolved is the work of the sums over a convolution's taps, from rows of x or to
// them. A launch is measured by its bytes all the same: taps are few.
func convolved(x, weight *tensor.Tensor) work {
	return work{products: 2 * float64(x.Words()) * float64(weight.Shape[0])}
}

// Operations are those of a run of a workload: of its matrix products, scores,
// weighted sums and convolutions, a multiply or a maximum with its add being two. What
// else there is, is small beside them.
type Operations struct{ linear, forward, queries, keys, total work }

// Operations counts those of forward or train.
func (w *Workload) Operations(what string) (*Operations, error) {
	mode := sft.Infer
	if what == Train {
		mode = sft.Train
	}
	sequences, length := w.Settings.Batch, w.Length
	if w.Config.Pair() {
		sequences, length = 2*sequences, length/2
	}
	shape := sft.Shape{Tokens: sequences * length, Sequences: sequences, Sampled: sequences * min(length, w.Config.NumSampledTokens)}
	pass, err := sft.NewPass(w.Config, sft.NewParameters(w.Config), shape, mode)
	if err != nil {
		return nil, err
	}
	o := &Operations{}
	for _, k := range pass.Program.Launches {
		n := arithmetic(k)
		o.total.add(n)
		switch k := k.(type) {
		case tensor.Attention:
			o.forward.add(n)
		case tensor.Convolution:
			o.total.add(convolved(k.X, k.Weight))
		case tensor.ConvolutionBackward: // the gradients of the input and of the weight
			o.total.add(convolved(k.X, k.Weight))
			o.total.add(convolved(k.X, k.Weight))
		case tensor.AttentionBackward:
			// Two shaders, each of which computes scores and the gradient of
			// probability again.
			o.queries.add(pairs(k.Forward, 1, 2))
			o.keys.add(pairs(k.Forward, 2, 2))
		default:
			o.linear.add(n)
		}
	}
	return o, nil
}

// Total is their number.
func (o *Operations) Total() float64 { return o.total.operations() }

// Shader returns how many operations one of Vulkan's shaders makes, and the
// fraction of the ceilings that it reaches if that takes so many seconds; zero
// where its work is not arithmetic above all.
func (o *Operations) Shader(name string, seconds float64, c *Ceilings) (operations, fraction float64) {
	var w work
	switch {
	case strings.HasPrefix(name, "matmul"):
		w = o.linear
	case name == "attention":
		w = o.forward
	case name == "attention_backward_queries":
		w = o.queries
	case name == "attention_backward_keys":
		w = o.keys
	}
	if w == (work{}) || c == nil || seconds == 0 {
		return w.operations(), 0
	}
	return w.operations(), c.seconds(w, traffic{}) / seconds
}
