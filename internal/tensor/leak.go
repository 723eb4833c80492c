package tensor

// Leak sums each head's leak over the sampled keys of a sequence:
// Y[b, n] = Σ_r softplus(C[r, n]).
type Leak struct {
	Y     *Tensor `op:"write"` // [B, h]
	C     *Tensor // [S, h]
	Count *Tensor // [B] int32
	Batch *Batch
}

func (Leak) Name() string { return "leak" }
func (k Leak) check()     { width("leak", k.Y, k.C.Width()) }

// LeakBackward: DC[r, n] = DY[b, n]·σ(C[r, n]), 0 beyond the sampled rows.
type LeakBackward struct {
	DC    *Tensor `op:"write"` // [S, h]
	DY    *Tensor // [B, h]
	C     *Tensor // [S, h]
	Count *Tensor // [B] int32
	Batch *Batch
}

func (LeakBackward) Name() string { return "leak_backward" }
func (k LeakBackward) check()     { same("leak_backward", k.DC, k.C) }
