package tensor

// Embed looks tokens up: Y[t] = Weight[Token[t]].
type Embed struct {
	Y      *Tensor // [T, d]
	Token  *Tensor // [T] int32
	Weight *Tensor // [V, d]
}

func (Embed) Name() string        { return "embed" }
func (k Embed) Reads() []*Tensor  { return []*Tensor{k.Token, k.Weight} }
func (k Embed) Writes() []*Tensor { return []*Tensor{k.Y} }
func (k Embed) check()            { width("embed", k.Y, k.Weight.Width()) }

// EmbedBackward scatters: DWeight[v] = Σ_{t: Token[t] = v} DY[t].
type EmbedBackward struct {
	DWeight *Tensor // [V, d]
	DY      *Tensor // [T, d]
	Token   *Tensor // [T] int32
}

func (EmbedBackward) Name() string        { return "embed_backward" }
func (k EmbedBackward) Reads() []*Tensor  { return []*Tensor{k.DY, k.Token} }
func (k EmbedBackward) Writes() []*Tensor { return []*Tensor{k.DWeight} }
func (k EmbedBackward) check()            { width("embed_backward", k.DY, k.DWeight.Width()) }
