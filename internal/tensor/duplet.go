package tensor

// Duplet mixes each sampled token with its partner. With s the scores of the
// selection and λ = log softplus:
//
//	P = 1/(1 + exp(λ(s_partner) − λ(s_top))), 1 without a partner
//	Y = P·X[top] + (1−P)·X[partner]
//
// Rows of Y beyond the sampled ones are zero.
type Duplet struct {
	Y            *Tensor `op:"write"` // [S, d]
	P            *Tensor `op:"write"` // [S]
	X            *Tensor // [T, d]
	Noised       *Tensor // [T]
	Top, Partner *Tensor // [S] int32
	Count        *Tensor // [B] int32
	Batch        *Batch
}

func (Duplet) Name() string { return "duplet" }
func (k Duplet) check() {
	width("duplet", k.Y, k.X.Width())
	same("duplet", k.P, k.Top)
}

// DupletBackward: with dp = DP + DY·(X[top] − X[partner]),
//
//	DScore[top] = dp·P(1−P)·ρ(s_top), DScore[partner] = −dp·P(1−P)·ρ(s_partner)
//	DX[top] += P·DY, DX[partner] += (1−P)·DY
//
// with ρ = σ/softplus; DScore is 0 for every other token. DP holds, per head,
// what attention adds to the gradient of P; nil without relative terms.
type DupletBackward struct {
	DX           *Tensor `op:"add"`   // [T, d], added to
	DScore       *Tensor `op:"write"` // [T]
	DY           *Tensor // [S, d]
	DP           *Tensor // [S, h] or nil
	P            *Tensor // [S]
	X            *Tensor // [T, d]
	Noised       *Tensor // [T]
	Top, Partner *Tensor // [S] int32
	Count        *Tensor // [B] int32
	Batch        *Batch
}

func (DupletBackward) Name() string { return "duplet_backward" }
func (k DupletBackward) check() {
	same("duplet_backward", k.DX, k.X)
	width("duplet_backward", k.DY, k.X.Width())
	same("duplet_backward", k.DScore, k.Noised)
}
