//go:build cgo

package vk

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// runKernel runs one launch on random inputs with the given number of rows in use, and returns the
// words of its outputs. The function build declares the operands and returns the launch. Outputs
// are tensors in the memory of the gradients.
func runKernel(t *testing.T, d *gpu, rows int,
	build func(in, out func(axis tensor.Axis, shape ...int) *tensor.Tensor) tensor.Kernel) [][]uint32 {
	t.Helper()
	p := tensor.NewProgram()
	p.Counts = p.Input("counts", tensor.Fixed, tensor.CountWords)
	var inputs, outputs []*tensor.Tensor
	words := 0
	in := func(axis tensor.Axis, shape ...int) *tensor.Tensor {
		inputs = append(inputs, p.Input("input", axis, shape...))
		return inputs[len(inputs)-1]
	}
	out := func(axis tensor.Axis, shape ...int) *tensor.Tensor {
		o := tensor.At(tensor.Gradients, words, "output", shape...)
		o.Rows = axis
		words += align(o.Words())
		outputs = append(outputs, o)
		return o
	}
	k := build(in, out)
	p.Segment("kernel")
	p.Launch(k)
	p.Finish()
	x := must.Get(d.Prepare(p))(t)
	mem := tensor.Binding{}
	for s, n := range map[tensor.Region]int{tensor.Inputs: p.Words(tensor.Inputs), tensor.Gradients: words} {
		mem[s] = must.Get(d.Allocate(n))(t)
		defer mem[s].Free()
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, i := range inputs {
		n := i.Words()
		if i.Rows != tensor.Fixed {
			n = rows * i.Width()
		}
		values := make([]float32, n)
		for j := range values {
			values[j] = float32(random.NormFloat64())
		}
		must.Succeed(t, tensor.Upload(mem[tensor.Inputs], i, values))
	}
	must.Succeed(t, tensor.Upload(mem[tensor.Inputs], p.Counts, tensor.Counts{Tokens: int32(rows)}.Words()))
	must.Succeed(t, x.Run(context.Background(), mem, 0, 1))
	var results [][]uint32
	for _, o := range outputs {
		n := o.Words()
		if o.Rows != tensor.Fixed {
			n = rows * o.Width()
		}
		result := make([]uint32, n)
		must.Succeed(t, mem[tensor.Gradients].Read(o.Offset, result))
		results = append(results, result)
	}
	return results
}

// TestCapacityKeepsBits checks that the gradients of a linear layer are bitwise identical for several
// capacities of the batch. The gradients of weights and biases are sums over the rows in use, in an
// order that does not depend on the capacity.
func TestCapacityKeepsBits(t *testing.T) {
	d := open(t, Options{})
	const in, out = 5, 3
	for _, rows := range []int{200, 700, 20000} {
		var first [][]uint32
		for _, capacity := range []int{rows, rows + 300, 40000} {
			got := runKernel(t, d, rows, func(input, output func(tensor.Axis, ...int) *tensor.Tensor) tensor.Kernel {
				return tensor.LinearBackward{DX: output(tensor.Tokens, capacity, in),
					DWeight: output(tensor.Fixed, out, in),
					DBias:   output(tensor.Fixed, out), DY: input(tensor.Tokens, capacity, out),
					X:      input(tensor.Tokens, capacity, in),
					Weight: input(tensor.Fixed, out, in)}
			})
			if first == nil {
				first = got
			}
			for i, name := range []string{"DX", "DWeight", "DBias"} {
				if !slices.Equal(first[i], got[i]) {
					t.Errorf("%d rows, capacity %d: %s differs from the result with capacity %d", rows, capacity, name,
						rows)
				}
			}
		}
	}
}
