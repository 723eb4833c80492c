package tensor

// Convolution is a residual branch that mixes each channel of neighbouring tokens:
//
//	Z_i = Bias + Σ_t Weight_t ∘ X_{i + (t − (w−1)/2)·Dilation},  Y = A + GELU(Z)
//
// for the taps t = 0 … w−1, added in this order. Rows outside the sequence of row i do not
// contribute.
type Convolution struct {
	Y        *Tensor `op:"write" shape:"T,d"`
	A, X     *Tensor `shape:"T,d"`
	Z        *Tensor `op:"write" shape:"T,d"` // saved for the backward pass; nil without one
	Weight   *Tensor `shape:"w,d"`
	Bias     *Tensor `shape:"d"`
	Batch    *Batch
	Dilation int
}

// ConvolutionBackward computes the gradients of the sum over taps in [Convolution]. The gradient of
// Z is DZ = DY·GELU'(Z); the gradient of A is DY.
//
//	DX_j = Σ_t Weight_t ∘ DZ_{j − (t − (w−1)/2)·Dilation}
//	DWeight_t = Σ_j DZ_{j − (t − (w−1)/2)·Dilation} ∘ X_j,  DBias = Σ DZ
type ConvolutionBackward struct {
	DX         *Tensor `op:"accumulate" shape:"T,d"`
	DWeight    *Tensor `op:"write" shape:"w,d"`
	DBias      *Tensor `op:"write" shape:"d"`
	DZ, X      *Tensor `shape:"T,d"`
	Weight     *Tensor `shape:"w,d"`
	Batch      *Batch
	Dilation   int
	Accumulate bool // add to DX instead of assigning it
}
