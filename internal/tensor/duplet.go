package tensor

// Duplet mixes each sampled token with its partner. With s the scores of the
// selection and λ = log softplus:
//
//	P = 1/(1 + exp(λ(s_partner) − λ(s_top))), 1 without a partner
//	Y = P·X[top] + (1−P)·X[partner]
//
// Rows of Y beyond the sampled ones are zero.
type Duplet struct {
	Y            *Tensor `op:"write" shape:"S,d"`
	P            *Tensor `op:"write" shape:"S"`
	X            *Tensor `shape:"T,d"`
	Noised       *Tensor `shape:"T"`
	Top, Partner *Tensor `shape:"S"` // int32
	Count        *Tensor `shape:"B"` // int32
	Batch        *Batch
}

// DupletBackward: with dp = DP + DY·(X[top] − X[partner]),
//
//	DScore[top] = dp·P(1−P)·ρ(s_top), DScore[partner] = −dp·P(1−P)·ρ(s_partner)
//	DX[top] += P·DY, DX[partner] += (1−P)·DY
//
// with ρ = σ/softplus; DScore is 0 for every other token. DP holds, per head,
// what attention adds to the gradient of P; nil without relative terms.
type DupletBackward struct {
	DX           *Tensor `op:"add" shape:"T,d"` // added to
	DScore       *Tensor `op:"write" shape:"T"`
	DY           *Tensor `shape:"S,d"`
	DP           *Tensor `shape:"S,h"` // or nil
	P            *Tensor `shape:"S"`
	X            *Tensor `shape:"T,d"`
	Noised       *Tensor `shape:"T"`
	Top, Partner *Tensor `shape:"S"` // int32
	Count        *Tensor `shape:"B"` // int32
	Batch        *Batch
}
