package tensor

// FeedForward is a feed-forward block that saves nothing for a backward:
//
//	Y = GELU(X·Weight1ᵀ + Bias1)·Weight2ᵀ + Bias2
//
// A device computes it in blocks of rows, so that it never stores the hidden rows, the widest rows
// of the model.
type FeedForward struct {
	Y       *Tensor `op:"write" shape:"R,d"`
	X       *Tensor `shape:"R,d"`
	Weight1 *Tensor `shape:"n,d"`
	Bias1   *Tensor `shape:"n"`
	Weight2 *Tensor `shape:"d,n"`
	Bias2   *Tensor `shape:"d"`
}
