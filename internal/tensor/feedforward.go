package tensor

// FeedForward is the feed-forward block where nothing of it is kept:
//
//	Y = GELU(X·Weight1ᵀ + Bias1)·Weight2ᵀ + Bias2
//
// A device computes it in blocks of rows, so that the hidden rows, which are the
// widest of the model, are never stored.
type FeedForward struct {
	Y       *Tensor `op:"write"` // [R, d]
	X       *Tensor // [R, d]
	Weight1 *Tensor // [n, d]
	Bias1   *Tensor // [n]
	Weight2 *Tensor // [d, n]
	Bias2   *Tensor // [d]
}

func (FeedForward) Name() string { return "feedforward" }
func (k FeedForward) check() {
	rows("feedforward", k.Y, k.X)
	width("feedforward", k.Weight1, k.X.Width())
	words("feedforward", k.Bias1, k.Weight1.Shape[0])
	width("feedforward", k.Weight2, k.Weight1.Shape[0])
	width("feedforward", k.Y, k.Weight2.Shape[0])
	words("feedforward", k.Bias2, k.Weight2.Shape[0])
}
