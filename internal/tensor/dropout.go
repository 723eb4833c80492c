package tensor

// Dropout scales an element of X by 1/(1−Rate) if its uniform random number u is at least Rate, and
// otherwise sets it to 0. u is a function of the seed, the step, the sequence, Layer, Stream and
// row·width + channel, where row is the token's position in its sequence or, for sampled keys, the
// duplet's index in its sequence. u does not depend on X, so the backward pass applies the same kernel
// to the gradient.
type Dropout struct {
	Y      *Tensor `op:"write" shape:"R,width"`
	X      *Tensor `shape:"R,width"`
	Batch  *Batch
	Layer  uint32
	Stream uint32
	Rate   float32
}
