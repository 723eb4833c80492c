package tensor

// FeedForward is the feed-forward block where nothing of it is kept:
//
//	Y = GELU(X·Weight1ᵀ + Bias1)·Weight2ᵀ + Bias2
//
// A device computes it in blocks of rows, so that the hidden rows, which are the
// widest of the model, are never stored.
type FeedForward struct {
	Y       *Tensor `op:"write" shape:"R,d"`
	X       *Tensor `shape:"R,d"`
	Weight1 *Tensor `shape:"n,d"`
	Bias1   *Tensor `shape:"n"`
	Weight2 *Tensor `shape:"d,n"`
	Bias2   *Tensor `shape:"d"`
}
