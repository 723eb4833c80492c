package tensor

// Embed is the embedding lookup Y[t] = Weight[Token[t]].
type Embed struct {
	Y      *Tensor `op:"write" shape:"T,d"`
	Token  *Tensor `shape:"T"` // int32
	Weight *Tensor `shape:"V,d"`
}

// EmbedBackward computes the gradient of [Embed]: DWeight[v] = Σ_{t: Token[t] = v} DY[t].
type EmbedBackward struct {
	DWeight *Tensor `op:"write" shape:"V,d"`
	DY      *Tensor `shape:"T,d"`
	Token   *Tensor `shape:"T"` // int32
}
