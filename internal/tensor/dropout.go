package tensor

// Dropout keeps element n = row·width + channel of X if u ≥ Rate and scales it
// by 1/(1−Rate), else clears it. The mask is a function of the random stream
// alone, so the backward is the same kernel on the gradient. The row is the
// token's position; for sampled keys, the pair's index.
type Dropout struct {
	Y      *Tensor `op:"write" shape:"R,width"`
	X      *Tensor `shape:"R,width"`
	Batch  *Batch
	Layer  uint32
	Stream uint32
	Rate   float32
}
