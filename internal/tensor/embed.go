package tensor

// Embed looks tokens up: Y[t] = Weight[Token[t]].
type Embed struct {
	Y      *Tensor `op:"write"` // [T, d]
	Token  *Tensor // [T] int32
	Weight *Tensor // [V, d]
}

func (Embed) Name() string { return "embed" }
func (k Embed) check()     { width("embed", k.Y, k.Weight.Width()) }

// EmbedBackward scatters: DWeight[v] = Σ_{t: Token[t] = v} DY[t].
type EmbedBackward struct {
	DWeight *Tensor `op:"write"` // [V, d]
	DY      *Tensor // [T, d]
	Token   *Tensor // [T] int32
}

func (EmbedBackward) Name() string { return "embed_backward" }
func (k EmbedBackward) check()     { width("embed_backward", k.DY, k.DWeight.Width()) }
