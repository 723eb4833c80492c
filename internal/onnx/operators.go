package onnx

// Operators of opset 18, as far as they are used. Where two shapes differ, they are broadcast
// as NumPy does.

// Add is a + b.
func (g *Graph) Add(a, b Tensor) Tensor { return g.op("Add", []Tensor{a, b}) }

// Sub is a − b.
func (g *Graph) Sub(a, b Tensor) Tensor { return g.op("Sub", []Tensor{a, b}) }

// Mul is a ∘ b.
func (g *Graph) Mul(a, b Tensor) Tensor { return g.op("Mul", []Tensor{a, b}) }

// Div is a / b, of integers rounded towards zero.
func (g *Graph) Div(a, b Tensor) Tensor { return g.op("Div", []Tensor{a, b}) }

// Max is the larger of a and b.
func (g *Graph) Max(a, b Tensor) Tensor { return g.op("Max", []Tensor{a, b}) }

// Min is the smaller of a and b.
func (g *Graph) Min(a, b Tensor) Tensor { return g.op("Min", []Tensor{a, b}) }

// BitwiseAnd is a & b, of integers.
func (g *Graph) BitwiseAnd(a, b Tensor) Tensor { return g.op("BitwiseAnd", []Tensor{a, b}) }

// BitwiseXor is a ⊕ b, of integers.
func (g *Graph) BitwiseXor(a, b Tensor) Tensor { return g.op("BitwiseXor", []Tensor{a, b}) }

// Less is whether a < b.
func (g *Graph) Less(a, b Tensor) Tensor { return g.op("Less", []Tensor{a, b}) }

// Equal is whether a = b.
func (g *Graph) Equal(a, b Tensor) Tensor { return g.op("Equal", []Tensor{a, b}) }

// Or is whether one of two conditions holds.
func (g *Graph) Or(a, b Tensor) Tensor { return g.op("Or", []Tensor{a, b}) }

// Where is a where the condition holds, b elsewhere.
func (g *Graph) Where(condition, a, b Tensor) Tensor {
	return g.op("Where", []Tensor{condition, a, b})
}

// Neg is −x.
func (g *Graph) Neg(x Tensor) Tensor { return g.op("Neg", []Tensor{x}) }

// Abs is |x|.
func (g *Graph) Abs(x Tensor) Tensor { return g.op("Abs", []Tensor{x}) }

// Log is the natural logarithm.
func (g *Graph) Log(x Tensor) Tensor { return g.op("Log", []Tensor{x}) }

// Sin is the sine of an angle in radians.
func (g *Graph) Sin(x Tensor) Tensor { return g.op("Sin", []Tensor{x}) }

// Erf is the error function.
func (g *Graph) Erf(x Tensor) Tensor { return g.op("Erf", []Tensor{x}) }

// Relu is max(x, 0).
func (g *Graph) Relu(x Tensor) Tensor { return g.op("Relu", []Tensor{x}) }

// Sigmoid is 1/(1 + exp(−x)).
func (g *Graph) Sigmoid(x Tensor) Tensor { return g.op("Sigmoid", []Tensor{x}) }

// Softplus is log(1 + exp(x)).
func (g *Graph) Softplus(x Tensor) Tensor { return g.op("Softplus", []Tensor{x}) }

// Softmax is exp(x) divided by its sum along an axis.
func (g *Graph) Softmax(x Tensor, axis int) Tensor {
	return g.op("Softmax", []Tensor{x}, attribute{"axis", axis})
}

// LayerNormalization is (x − mean)/√(variance + epsilon)·scale + bias, along the last axis.
func (g *Graph) LayerNormalization(x, scale, bias Tensor, epsilon float64) Tensor {
	return g.op("LayerNormalization", []Tensor{x, scale, bias}, attribute{"axis", -1},
		attribute{"epsilon", float32(epsilon)})
}

// MatMul is the product of matrices, of the last two axes.
func (g *Graph) MatMul(a, b Tensor) Tensor { return g.op("MatMul", []Tensor{a, b}) }

// Gemm is x·weightᵀ + bias, with x [rows, in], weight [out, in] and bias [out].
func (g *Graph) Gemm(x, weight, bias Tensor) Tensor {
	return g.op("Gemm", []Tensor{x, weight, bias}, attribute{"transB", 1})
}

// Conv is a convolution of x [1, channels, length], each channel by weight [channels, 1, taps]
// of its own, with as many zeros on both sides as keep the length.
func (g *Graph) Conv(x, weight, bias Tensor, channels, taps, dilation int) Tensor {
	pad := taps / 2 * dilation
	return g.op("Conv", []Tensor{x, weight, bias}, attribute{"dilations", []int{dilation}},
		attribute{"group", channels},
		attribute{"kernel_shape", []int{taps}}, attribute{"pads", []int{pad, pad}})
}

// Gather takes the slices of x along its first axis that the indices name.
func (g *Graph) Gather(x, indices Tensor) Tensor { return g.op("Gather", []Tensor{x, indices}) }

// ScatterElements is the vector x with values at the indices.
func (g *Graph) ScatterElements(x, indices, values Tensor) Tensor {
	return g.op("ScatterElements", []Tensor{x, indices, values})
}

// ScatterSums is the matrix x with values added to the rows that the indices name, one after the
// other: values and indices have the same shape.
func (g *Graph) ScatterSums(x, indices, values Tensor) Tensor {
	return g.op("ScatterElements", []Tensor{x, indices, values}, attribute{"axis", 0}, attribute{"reduction", "add"})
}

// TopK is the k largest of a vector, the largest first, or the k smallest, the smallest first,
// and where they are. Of equal ones the first come first.
func (g *Graph) TopK(x, k Tensor, largest bool) (values, indices Tensor) {
	side := 0
	if largest {
		side = 1
	}
	out := g.ops("TopK", 2, []Tensor{x, k}, attribute{"axis", 0}, attribute{"largest", side})
	return out[0], out[1]
}

// NonZero is where a vector of conditions holds: a vector.
func (g *Graph) NonZero(x Tensor) Tensor { return g.Reshape(g.op("NonZero", []Tensor{x}), -1) }

// ReduceSum adds along an axis, which stays with size 1.
func (g *Graph) ReduceSum(x Tensor, axis int64) Tensor {
	return g.op("ReduceSum", []Tensor{x, g.Ints(axis)})
}

// ReduceMax is the largest along an axis, which stays with size 1.
func (g *Graph) ReduceMax(x Tensor, axis int64) Tensor {
	return g.op("ReduceMax", []Tensor{x, g.Ints(axis)})
}

// ReduceMean averages along an axis, which stays with size 1.
func (g *Graph) ReduceMean(x Tensor, axis int64) Tensor {
	return g.op("ReduceMean", []Tensor{x, g.Ints(axis)})
}

// Shape is the sizes of x: a vector.
func (g *Graph) Shape(x Tensor) Tensor { return g.op("Shape", []Tensor{x}) }

// Reshape gives x another shape; −1 is the size that is left, 0 that of x.
func (g *Graph) Reshape(x Tensor, shape ...int64) Tensor {
	return g.op("Reshape", []Tensor{x, g.Ints(shape...)})
}

// ReshapeTo gives x a shape that is a vector of the graph.
func (g *Graph) ReshapeTo(x, shape Tensor) Tensor { return g.op("Reshape", []Tensor{x, shape}) }

// Transpose arranges the axes anew.
func (g *Graph) Transpose(x Tensor, axes ...int) Tensor {
	return g.op("Transpose", []Tensor{x}, attribute{"perm", axes})
}

// Unsqueeze adds an axis of size 1.
func (g *Graph) Unsqueeze(x Tensor, axis int64) Tensor {
	return g.op("Unsqueeze", []Tensor{x, g.Ints(axis)})
}

// Squeeze takes away an axis of size 1.
func (g *Graph) Squeeze(x Tensor, axis int64) Tensor {
	return g.op("Squeeze", []Tensor{x, g.Ints(axis)})
}

// Slice is x from one index of its first axis to before another one; both are vectors of one.
func (g *Graph) Slice(x, from, to Tensor) Tensor {
	return g.op("Slice", []Tensor{x, from, to, g.Ints(0)})
}

// Split cuts x along an axis into parts of some sizes.
func (g *Graph) Split(x Tensor, axis int, sizes ...int64) []Tensor {
	return g.ops("Split", len(sizes), []Tensor{x, g.Ints(sizes...)}, attribute{"axis", axis})
}

// Concat joins tensors along an axis.
func (g *Graph) Concat(axis int, x ...Tensor) Tensor {
	return g.op("Concat", x, attribute{"axis", axis})
}

// Expand repeats x to a shape, a vector.
func (g *Graph) Expand(x, shape Tensor) Tensor { return g.op("Expand", []Tensor{x, shape}) }

// Range is from, from + 1, … to before the end, all scalars: a vector.
func (g *Graph) Range(from, to Tensor) Tensor { return g.op("Range", []Tensor{from, to, g.Int(1)}) }

// Cast gives the elements another type.
func (g *Graph) Cast(x Tensor, t Type) Tensor {
	return g.op("Cast", []Tensor{x}, attribute{"to", int(t)})
}
