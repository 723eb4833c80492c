package tensor

// Convolution is a residual branch that mixes each channel of neighbouring tokens:
//
//	Z_i = Bias + Σ_t Weight_t ∘ X_{i + (t − (w−1)/2)·Dilation},  Y = A + GELU(Z)
//
// for the taps t = 0 … w−1, added in that order. A row that is not of the same
// sequence is left out.
type Convolution struct {
	Y        *Tensor `op:"write" shape:"T,d"`
	A, X     *Tensor `shape:"T,d"`
	Z        *Tensor `op:"write" shape:"T,d"` // saved for the backward; nil if there is none
	Weight   *Tensor `shape:"w,d"`
	Bias     *Tensor `shape:"d"`
	Batch    *Batch
	Dilation int
}

// ConvolutionBackward goes back through the sum over the taps; the gradient DZ of Z
// is that of Y times GELU'(Z), and the gradient of A is that of Y itself:
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
	Accumulate bool // DX += instead of =
}
