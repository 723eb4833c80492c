package bench

import (
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/sft"
)

// work is the counted arithmetic of a kernel in operations. A kernel whose work is zero is measured by
// the bytes of its operands instead.
type work struct {
	products    float64 // multiply-adds, counted as two operations
	comparisons float64 // maxima (backward: selections) with their additions, counted as two operations
}

func (w work) operations() float64 { return w.products + w.comparisons }

func (w *work) add(v work) {
	w.products += v.products
	w.comparisons += v.comparisons
}

// kernelWork returns the work of a launch of matrix products, or of attention over sequences of equal
// length, with all rows in use. It ignores attention's relative encoding and probability function. The
// result is zero for all other kernels.
func kernelWork(k tensor.Kernel) work {
	product := func(rows, weight *tensor.Tensor) float64 { return 2 * float64(rows.Shape[0]) * float64(weight.Words()) }
	switch k := k.(type) {
	case tensor.Linear:
		return work{products: product(k.X, k.Weight)}
	case tensor.LinearBackward: // gradients of the input and of the weight
		return work{products: 2 * product(k.X, k.Weight)}
	case tensor.FeedForward:
		return work{products: product(k.X, k.Weight1) + product(k.X, k.Weight2)}
	case tensor.Attention:
		return pairs(k, 1, 1) // weighted sum; score
	case tensor.AttentionBackward:
		// Products: gradients of probability and value. Comparisons: the recomputed score, and the
		// gradients of query and key.
		return pairs(k.Forward, 2, 3)
	}
	return work{}
}

// pairs returns the work of attention on all pairs of query and key, for the given numbers of products
// and scores per pair. Each of them passes over all channels of the pair.
func pairs(k tensor.Attention, products, scores float64) work {
	perPass := 2 * float64(k.Q.Words()) * float64(k.K.Shape[0]) / float64(k.Count.Shape[0])
	if k.Score == tensor.Dot {
		return work{products: (products + scores) * perPass}
	}
	return work{products: products * perPass, comparisons: scores * perPass}
}

// convolution returns the work of a convolution's sums over taps. [Kernel.Measure] nevertheless measures
// a convolution by its bytes, because it has few taps.
func convolution(x, weight *tensor.Tensor) work {
	return work{products: 2 * float64(x.Words()) * float64(weight.Shape[0])}
}

// Operations holds the number of operations of a run of a workload: of its matrix products, scores,
// weighted sums and convolutions. A multiply-add counts as two operations, and so does a maximum
// with its addition. All other operations are negligible.
type Operations struct {
	total  work
	byName map[string]work // by kernel name of a [tensor.Profiler]; "matmul" stands for all matmul shaders
}

// Operations returns the number of operations of a forward pass or a training step.
func (w *Workload) Operations(pass string) (*Operations, error) {
	sequences, length := w.Settings.Batch*w.Config.Sequences(), w.Length/w.Config.Sequences()
	recorded, err := sft.Record(w.Config, pass == Train, sequences*length, sequences)
	if err != nil {
		return nil, err
	}
	program := recorded.(*tensor.Program)
	_, shaders := tensor.Capability[tensor.OwnMemory](w.Device)
	o := &Operations{byName: map[string]work{}}
	for _, k := range program.Launches {
		n := kernelWork(k)
		switch k := k.(type) {
		case tensor.Convolution:
			n = convolution(k.X, k.Weight)
		case tensor.ConvolutionBackward: // gradients of the input and of the weight
			n = convolution(k.X, k.Weight)
			n.add(n)
		}
		o.total.add(n)
		if shaders {
			o.addShaders(k, n)
		} else {
			o.add(tensor.Name(k), n)
		}
	}
	return o, nil
}

// addShaders adds the work n of a launch to its Vulkan shaders.
func (o *Operations) addShaders(k tensor.Kernel, n work) {
	switch k := k.(type) {
	case tensor.Attention:
		o.add("attention", n)
	case tensor.AttentionBackward:
		// Both shaders recompute scores and the gradient of probability.
		o.add("attention_backward_queries", pairs(k.Forward, 1, 2))
		o.add("attention_backward_keys", pairs(k.Forward, 2, 2))
	case tensor.Convolution, tensor.ConvolutionBackward: // few taps: memory limits the rate, not arithmetic
	default:
		o.add("matmul", n)
	}
}

func (o *Operations) add(name string, n work) {
	n.add(o.byName[name])
	o.byName[name] = n
}

// Total returns the total number of operations.
func (o *Operations) Total() float64 { return o.total.operations() }

// Of returns the number of operations of a kernel, named as in a [tensor.Profiler], and its rate in
// the given time as a fraction of the device's peak rate. Both are 0 if the kernel's operations are not
// counted. The fraction is also 0 if c is nil or seconds is 0.
func (o *Operations) Of(name string, seconds float64, c *Ceilings) (operations, fraction float64) {
	if strings.HasPrefix(name, "matmul") { // several shaders have this prefix
		name = "matmul"
	}
	w := o.byName[name]
	if w == (work{}) || c == nil || seconds == 0 {
		return w.operations(), 0
	}
	return w.operations(), c.seconds(w, traffic{}) / seconds
}
