package tensor

// FeedForward is a feed-forward block that saves no activations for a backward pass:
//
//	Y = GELU(X·Weight1ᵀ + Bias1)·Weight2ᵀ + Bias2
//
// A device computes Y in blocks of rows, so that it stores the hidden rows of only a few blocks at a
// time.
type FeedForward struct {
	Y       *Tensor `op:"write" shape:"R,d"`
	X       *Tensor `shape:"R,d"`
	Weight1 *Tensor `shape:"n,d"`
	Bias1   *Tensor `shape:"n"`
	Weight2 *Tensor `shape:"d,n"`
	Bias2   *Tensor `shape:"d"`
}
