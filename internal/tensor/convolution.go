package tensor

// Convolution is a residual branch that mixes each channel of neighbouring tokens:
//
//	Z_i = Bias + Σ_t Weight_t ∘ X_{i + (t − (w−1)/2)·Dilation},  Y = A + GELU(Z)
//
// for the taps t = 0 … w−1, added in that order. A row that is not of the same
// sequence is left out.
type Convolution struct {
	Y        *Tensor `op:"write"` // [T, d]
	A, X     *Tensor // [T, d]
	Z        *Tensor `op:"write"` // [T, d], saved for the backward; nil where there is none
	Weight   *Tensor // [w, d]
	Bias     *Tensor // [d]
	Batch    *Batch
	Dilation int
}

func (Convolution) Name() string { return "convolution" }
func (k Convolution) check() {
	same("convolution", k.Y, k.X)
	same("convolution", k.A, k.X)
	if k.Z != nil {
		same("convolution", k.Z, k.X)
	}
	width("convolution", k.Weight, k.X.Width())
	words("convolution", k.Bias, k.X.Width())
}

// ConvolutionBackward goes back through the sum over the taps; the gradient DZ of Z
// is that of Y times GELU'(Z), and the gradient of A is that of Y itself:
//
//	DX_j = Σ_t Weight_t ∘ DZ_{j − (t − (w−1)/2)·Dilation}
//	DWeight_t = Σ_j DZ_{j − (t − (w−1)/2)·Dilation} ∘ X_j,  DBias = Σ DZ
type ConvolutionBackward struct {
	DX         *Tensor `op:"accumulate"` // [T, d]
	DWeight    *Tensor `op:"write"`      // [w, d]
	DBias      *Tensor `op:"write"`      // [d]
	DZ, X      *Tensor // [T, d]
	Weight     *Tensor // [w, d]
	Batch      *Batch
	Dilation   int
	Accumulate bool // DX += instead of =
}

func (ConvolutionBackward) Name() string { return "convolution_backward" }
func (k ConvolutionBackward) check() {
	same("convolution_backward", k.DX, k.X)
	same("convolution_backward", k.DZ, k.X)
	width("convolution_backward", k.Weight, k.X.Width())
	same("convolution_backward", k.DWeight, k.Weight)
	words("convolution_backward", k.DBias, k.X.Width())
}
