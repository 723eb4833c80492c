package tensor

import "fmt"

// Score is how a query meets a key.
type Score uint8

const (
	Maxout             Score = iota // Σ_c max(q_c, k_c)
	MaxoutStandardized              // Σ_c (max(q_c, k_c) − 1/√π)/√(1−1/π)
	Lily                            // Σ_c |q_c+k_c| − |q_c−k_c|
	Dot                             // Σ_c q_c k_c
)

// Probability is how scores become weights.
type Probability uint8

const (
	LeakyReLU Probability = iota // ReLU(A)/(Σ ReLU(A) + leak + 1e-9)
	ReLU                         // ReLU(A)/(Σ ReLU(A) + 1e-9)
	Softmax                      // exp(A)/Σ exp(A)
)

// AttentionEpsilon keeps a row without any positive score finite.
const AttentionEpsilon = 1e-9

// RelativeBias is the relative encoding of a query and a sampled key: what yields
// Rmul and Radd for a tile of pairs. The sinusoid's tables are the first; nil
// means Rmul = 1 and Radd = 0.
type RelativeBias interface {
	relativeBias()
}

// SinusoidBias reads the tables of [SinusoidTables]:
//
//	Rmul_ij = p_j softplus(mul(i, top_j)) + (1−p_j) softplus(mul(i, partner_j))
//	Radd_ij = p_j add(i, top_j) + (1−p_j) add(i, partner_j)
//
// with a head's mul and add of two positions F[i−j+n−1] + G[i+j], n the longest
// sequence, and softplus(mul) = log(1 + E_F[i−j+n−1]·E_G[i+j]).
type SinusoidBias struct {
	F, G, E      *Tensor // [2h, 2T]
	P            *Tensor // [S]
	Top, Partner *Tensor // [S] int32
}

func (SinusoidBias) relativeBias() {}

// RelativeBiasGradient receives the adjoint of a relative position bias.
type RelativeBiasGradient interface {
	gradient()
}

// SinusoidGradient is the adjoint of [SinusoidBias]: the histograms of the
// pairs' gradients over i−j and i+j, laid out as F and G, and each head's part
// of the gradient of the duplet weights. E has none of its own.
type SinusoidGradient struct {
	DF, DG *Tensor `op:"write"` // [2h, 2T]
	DP     *Tensor `op:"write"` // [S, h]
}

func (SinusoidGradient) gradient() {}

// Attention is sampled attention. Per sequence and head, with m the score,
//
//	A_ij = m(q_i, k_j)/√dh · Rmul_ij + Radd_ij
//	O_i  = Σ_j P_ij v_j
//
// Nothing of size [T, S] is kept: only Norm, the denominator of each row (for
// softmax its maximum plus the logarithm of its sum).
type Attention struct {
	O            *Tensor `op:"write"` // [T, d]
	Norm         *Tensor `op:"write"` // [T, h]
	DeadRows     *Tensor `op:"write"` // [1] int32: pairs of row and head with Σ ReLU(A) = 0; nil unless asked for
	Q            *Tensor // [T, d]
	K, V         *Tensor // [S, d]
	Leak         *Tensor // [B, h], nil unless leaky
	Count        *Tensor // [B] int32
	Batch        *Batch
	RelativeBias RelativeBias
	Heads        int
	Most         int // sampled keys of a sequence at most; 0 does not say
	Score        Score
	Probability  Probability
}

func (Attention) Name() string { return "attention" }
func (k Attention) check() {
	same("attention", k.O, k.Q)
	same("attention", k.K, k.V)
	width("attention", k.K, k.Q.Width())
	width("attention", k.Norm, k.Heads)
	if k.Q.Width()%k.Heads != 0 {
		panic(fmt.Sprintf("tensor: attention: %d channels in %d heads", k.Q.Width(), k.Heads))
	}
	if (k.Leak != nil) != (k.Probability == LeakyReLU) {
		panic("tensor: attention: the leak belongs to leaky_relu")
	}
}

// AttentionBackward recomputes each tile of scores. With D_i = DO_i·O_i:
//
//	dA_ij = [A_ij > 0]·(DO_i·v_j − D_i)/Norm_i (softmax: P_ij (DO_i·v_j − D_i))
//	DLeak = −Σ_i D_i/Norm_i, DV_j = Σ_i P_ij DO_i
//	dm = dA·Rmul/√dh, dRmul = dA·m/√dh, dRadd = dA
//
// max gives its gradient to q where q ≥ k; |x|'(0) = 0. Rows of DK and DV
// beyond the sampled ones are zero.
type AttentionBackward struct {
	DQ       *Tensor `op:"write"` // [T, d]
	DK, DV   *Tensor `op:"write"` // [S, d]
	DLeak    *Tensor `op:"write"` // [B, h] or nil
	Gradient RelativeBiasGradient
	DO       *Tensor // [T, d]
	Forward  Attention
}

func (AttentionBackward) Name() string { return "attention_backward" }
func (k AttentionBackward) check() {
	k.Forward.check()
	same("attention_backward", k.DQ, k.Forward.Q)
	same("attention_backward", k.DK, k.Forward.K)
	same("attention_backward", k.DV, k.Forward.V)
	same("attention_backward", k.DO, k.Forward.O)
	if (k.Gradient != nil) != (k.Forward.RelativeBias != nil) {
		panic("tensor: attention_backward: a relative position bias without its gradient")
	}
}
