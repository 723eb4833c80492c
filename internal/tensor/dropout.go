package tensor

// Dropout keeps element n = row·width + channel of X if u ≥ Rate and scales it by 1/(1−Rate), and
// otherwise clears it. The mask depends on the random stream alone, so the backward is the same
// kernel applied to the gradient. The row is the token's position, or for sampled keys the pair's
// index.
type Dropout struct {
	Y      *Tensor `op:"write" shape:"R,width"`
	X      *Tensor `shape:"R,width"`
	Batch  *Batch
	Layer  uint32
	Stream uint32
	Rate   float32
}
