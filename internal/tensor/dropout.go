package tensor

// Dropout scales element n = row·width + channel of X by 1/(1−Rate) if u ≥ Rate, and otherwise sets
// it to 0. The uniform random number u does not depend on X, so the backward pass applies the same
// kernel to the gradient. The row is the token's position in its sequence. For sampled keys, it is
// the index of the duplet in its sequence.
type Dropout struct {
	Y      *Tensor `op:"write" shape:"R,width"`
	X      *Tensor `shape:"R,width"`
	Batch  *Batch
	Layer  uint32
	Stream uint32
	Rate   float32
}
