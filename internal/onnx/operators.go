package onnx

// Operators of opset 18. Elementwise operators broadcast different shapes as in NumPy.

// Add returns a + b.
func (g *Graph) Add(a, b Tensor) Tensor { return g.op("Add", []Tensor{a, b}) }

// Sub returns a − b.
func (g *Graph) Sub(a, b Tensor) Tensor { return g.op("Sub", []Tensor{a, b}) }

// Mul returns the elementwise product of a and b.
func (g *Graph) Mul(a, b Tensor) Tensor { return g.op("Mul", []Tensor{a, b}) }

// Div returns a / b. Quotients of integers are rounded towards zero.
func (g *Graph) Div(a, b Tensor) Tensor { return g.op("Div", []Tensor{a, b}) }

// Max returns the larger of a and b.
func (g *Graph) Max(a, b Tensor) Tensor { return g.op("Max", []Tensor{a, b}) }

// Min returns the smaller of a and b.
func (g *Graph) Min(a, b Tensor) Tensor { return g.op("Min", []Tensor{a, b}) }

// BitwiseAnd returns a & b for tensors of integers.
func (g *Graph) BitwiseAnd(a, b Tensor) Tensor { return g.op("BitwiseAnd", []Tensor{a, b}) }

// BitwiseXor returns a ⊕ b for tensors of integers.
func (g *Graph) BitwiseXor(a, b Tensor) Tensor { return g.op("BitwiseXor", []Tensor{a, b}) }

// Less returns whether a < b.
func (g *Graph) Less(a, b Tensor) Tensor { return g.op("Less", []Tensor{a, b}) }

// Equal returns whether a = b.
func (g *Graph) Equal(a, b Tensor) Tensor { return g.op("Equal", []Tensor{a, b}) }

// Or returns the logical or of two conditions.
func (g *Graph) Or(a, b Tensor) Tensor { return g.op("Or", []Tensor{a, b}) }

// Where returns a where the condition is true, b elsewhere.
func (g *Graph) Where(condition, a, b Tensor) Tensor {
	return g.op("Where", []Tensor{condition, a, b})
}

// Neg returns −x.
func (g *Graph) Neg(x Tensor) Tensor { return g.op("Neg", []Tensor{x}) }

// Abs returns |x|.
func (g *Graph) Abs(x Tensor) Tensor { return g.op("Abs", []Tensor{x}) }

// Log returns the natural logarithm.
func (g *Graph) Log(x Tensor) Tensor { return g.op("Log", []Tensor{x}) }

// Exp returns the exponential function.
func (g *Graph) Exp(x Tensor) Tensor { return g.op("Exp", []Tensor{x}) }

// Sin returns the sine of an angle in radians.
func (g *Graph) Sin(x Tensor) Tensor { return g.op("Sin", []Tensor{x}) }

// Erf returns the error function.
func (g *Graph) Erf(x Tensor) Tensor { return g.op("Erf", []Tensor{x}) }

// Relu returns max(x, 0).
func (g *Graph) Relu(x Tensor) Tensor { return g.op("Relu", []Tensor{x}) }

// Sigmoid returns 1/(1 + exp(−x)).
func (g *Graph) Sigmoid(x Tensor) Tensor { return g.op("Sigmoid", []Tensor{x}) }

// Softplus returns log(1 + exp(x)).
func (g *Graph) Softplus(x Tensor) Tensor { return g.op("Softplus", []Tensor{x}) }

// Softmax returns exp(x) divided by its sum along an axis.
func (g *Graph) Softmax(x Tensor, axis int) Tensor {
	return g.op("Softmax", []Tensor{x}, attribute{"axis", axis})
}

// LayerNormalization returns (x − mean)/√(variance + epsilon)·scale + bias, along the last axis.
func (g *Graph) LayerNormalization(x, scale, bias Tensor, epsilon float64) Tensor {
	return g.op("LayerNormalization", []Tensor{x, scale, bias}, attribute{"axis", -1},
		attribute{"epsilon", float32(epsilon)})
}

// MatMul returns the products of the matrices in the last two axes.
func (g *Graph) MatMul(a, b Tensor) Tensor { return g.op("MatMul", []Tensor{a, b}) }

// Gemm returns x·weightᵀ + bias, with x [rows, in], weight [out, in] and bias [out].
func (g *Graph) Gemm(x, weight, bias Tensor) Tensor {
	return g.op("Gemm", []Tensor{x, weight, bias}, attribute{"transB", 1})
}

// Conv returns a depthwise convolution of x [1, channels, length] by weight [channels, 1, taps], plus
// bias [channels]. taps must be odd. x is padded with zeros, so the result has the length of x.
func (g *Graph) Conv(x, weight, bias Tensor, channels, taps, dilation int) Tensor {
	pad := taps / 2 * dilation
	return g.op("Conv", []Tensor{x, weight, bias}, attribute{"dilations", []int{dilation}},
		attribute{"group", channels},
		attribute{"kernel_shape", []int{taps}}, attribute{"pads", []int{pad, pad}})
}

// Gather returns the slices of x along its first axis at the indices.
func (g *Graph) Gather(x, indices Tensor) Tensor { return g.op("Gather", []Tensor{x, indices}) }

// ScatterElements returns the vector x with the elements at indices replaced by values.
func (g *Graph) ScatterElements(x, indices, values Tensor) Tensor {
	return g.op("ScatterElements", []Tensor{x, indices, values})
}

// ScatterSums returns the matrix x after adding values[i, j] to x[indices[i, j], j] for all i and j.
// values and indices have the same shape.
func (g *Graph) ScatterSums(x, indices, values Tensor) Tensor {
	return g.op("ScatterElements", []Tensor{x, indices, values}, attribute{"axis", 0}, attribute{"reduction", "add"})
}

// TopK returns the k largest elements of a vector in descending order, or the k smallest in
// ascending order, and their indices. Equal elements are in the order of their indices.
func (g *Graph) TopK(x, k Tensor, largest bool) (values, indices Tensor) {
	side := 0
	if largest {
		side = 1
	}
	out := g.ops("TopK", 2, []Tensor{x, k}, attribute{"axis", 0}, attribute{"largest", side})
	return out[0], out[1]
}

// NonZero returns the vector of indices at which a vector of conditions is true.
func (g *Graph) NonZero(x Tensor) Tensor { return g.Reshape(g.op("NonZero", []Tensor{x}), -1) }

// ReduceSum returns the sums along an axis, whose size becomes 1.
func (g *Graph) ReduceSum(x Tensor, axis int64) Tensor {
	return g.op("ReduceSum", []Tensor{x, g.Ints(axis)})
}

// ReduceMax returns the maxima along an axis, whose size becomes 1.
func (g *Graph) ReduceMax(x Tensor, axis int64) Tensor {
	return g.op("ReduceMax", []Tensor{x, g.Ints(axis)})
}

// ReduceMean returns the means along an axis, whose size becomes 1.
func (g *Graph) ReduceMean(x Tensor, axis int64) Tensor {
	return g.op("ReduceMean", []Tensor{x, g.Ints(axis)})
}

// Shape returns the vector of the sizes of x.
func (g *Graph) Shape(x Tensor) Tensor { return g.op("Shape", []Tensor{x}) }

// Reshape returns x with another shape. A size of −1 is inferred; a size of 0 keeps the size of x in this axis.
func (g *Graph) Reshape(x Tensor, shape ...int64) Tensor {
	return g.op("Reshape", []Tensor{x, g.Ints(shape...)})
}

// ReshapeTo returns x with the shape in a vector of the graph.
func (g *Graph) ReshapeTo(x, shape Tensor) Tensor { return g.op("Reshape", []Tensor{x, shape}) }

// Transpose permutes the axes of x.
func (g *Graph) Transpose(x Tensor, axes ...int) Tensor {
	return g.op("Transpose", []Tensor{x}, attribute{"perm", axes})
}

// Unsqueeze adds an axis of size 1.
func (g *Graph) Unsqueeze(x Tensor, axis int64) Tensor {
	return g.op("Unsqueeze", []Tensor{x, g.Ints(axis)})
}

// Squeeze removes an axis of size 1.
func (g *Graph) Squeeze(x Tensor, axis int64) Tensor {
	return g.op("Squeeze", []Tensor{x, g.Ints(axis)})
}

// Slice returns x[from:to], a range of the first axis of x. from and to are vectors
// of length 1.
func (g *Graph) Slice(x, from, to Tensor) Tensor {
	return g.op("Slice", []Tensor{x, from, to, g.Ints(0)})
}

// Split splits x along an axis into parts of the given sizes.
func (g *Graph) Split(x Tensor, axis int, sizes ...int64) []Tensor {
	return g.ops("Split", len(sizes), []Tensor{x, g.Ints(sizes...)}, attribute{"axis", axis})
}

// Concat concatenates tensors along an axis.
func (g *Graph) Concat(axis int, x ...Tensor) Tensor {
	return g.op("Concat", x, attribute{"axis", axis})
}

// Expand broadcasts x to the shape in a vector.
func (g *Graph) Expand(x, shape Tensor) Tensor { return g.op("Expand", []Tensor{x, shape}) }

// Range returns the vector of the integers in the range [from, to). from and to are scalars.
func (g *Graph) Range(from, to Tensor) Tensor { return g.op("Range", []Tensor{from, to, g.Int(1)}) }

// Cast converts the elements of x to another type.
func (g *Graph) Cast(x Tensor, t Type) Tensor {
	return g.op("Cast", []Tensor{x}, attribute{"to", int(t)})
}
