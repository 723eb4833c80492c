package tensor

// Duplet mixes each sampled token with its partner. With the noised scores s and λ = log softplus:
//
//	P = 1/(1 + exp(λ(s_partner) − λ(s_top))), or 1 without a partner
//	Y = P·X[top] + (1−P)·X[partner]
//
// Unused rows of Y are zero.
type Duplet struct {
	Y            *Tensor `op:"write" shape:"S,d"`
	P            *Tensor `op:"write" shape:"S"`
	X            *Tensor `shape:"T,d"`
	Noised       *Tensor `shape:"T"`
	Top, Partner *Tensor `shape:"S"` // int32
	Count        *Tensor `shape:"B"` // int32
	Batch        *Batch
}

// DupletBackward computes the gradients of [Duplet]. With dp = Σ_h DP + DY·(X[top] − X[partner]),
//
//	DScore[top] = dp·P(1−P)·ρ(s_top), DScore[partner] = −dp·P(1−P)·ρ(s_partner)
//	DX[top] += P·DY, DX[partner] += (1−P)·DY
//
// where ρ = σ/softplus. DScore is 0 for every other token. DP holds the contribution of each head's
// attention to the gradient of P; it is nil without a relative bias.
type DupletBackward struct {
	DX           *Tensor `op:"add" shape:"T,d"` // DX += the gradient
	DScore       *Tensor `op:"write" shape:"T"`
	DY           *Tensor `shape:"S,d"`
	DP           *Tensor `shape:"S,h"` // may be nil
	P            *Tensor `shape:"S"`
	X            *Tensor `shape:"T,d"`
	Noised       *Tensor `shape:"T"`
	Top, Partner *Tensor `shape:"S"` // int32
	Count        *Tensor `shape:"B"` // int32
	Batch        *Batch
}
