package tensor

import "fmt"

// Score is the attention score of a query and a key.
type Score uint8

const (
	Maxout             Score = iota // Σ_c max(q_c, k_c)
	MaxoutStandardized              // Σ_c (max(q_c, k_c) − 1/√π)/√(1−1/π)
	Lily                            // Σ_c |q_c+k_c| − |q_c−k_c|
	Dot                             // Σ_c q_c k_c
)

// Probability is the function that converts scores to attention weights.
type Probability uint8

const (
	LeakyReLU Probability = iota // ReLU(A)/(Σ ReLU(A) + leak + 1e-9)
	ReLU                         // ReLU(A)/(Σ ReLU(A) + 1e-9)
	Softmax                      // exp(A)/Σ exp(A)
)

// AttentionEpsilon keeps the result finite for a row without a positive score.
const AttentionEpsilon = 1e-9

// RelativeBias is the relative encoding of a query and a sampled key. A device computes Rmul and
// Radd of a tile of pairs from the tables of the sinusoid ([SinusoidBias]), from distances
// ([DistanceBias]) or from edges ([EdgeBias]). A nil RelativeBias means Rmul = 1 and Radd = 0.
type RelativeBias interface {
	relativeBias()
}

// SinusoidBias computes the relative terms from the tables of [Sinusoid]:
//
//	Rmul_ij = p_j softplus(mul(i, top_j)) + (1−p_j) softplus(mul(i, partner_j))
//	Radd_ij = p_j add(i, top_j) + (1−p_j) add(i, partner_j)
//
// where a head's mul and add of two positions are F[i−j+n−1] + G[i+j] in its rows for Rmul and Radd,
// n is the length of the longest sequence, and softplus(mul) = log(1 + E_F[i−j+n−1]·E_G[i+j]). E_F and
// E_G, the two halves of E, are the exponentials of F and G in the rows for Rmul.
type SinusoidBias struct {
	F, G, E      *Tensor `shape:"2h,m"` // m is at least 2n − 1
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (SinusoidBias) relativeBias() {}

// RelativeBiasGradient holds the operands that receive the adjoint of a [RelativeBias].
type RelativeBiasGradient interface {
	gradient()
}

// SinusoidGradient receives the adjoint of [SinusoidBias]: histograms of the pairs' gradients over
// i−j and i+j, in the layout of F and G, and each head's contribution to the gradient of the duplet
// weights. E needs no gradient.
type SinusoidGradient struct {
	DF, DG *Tensor `op:"write" shape:"2h,m"`
	DP     *Tensor `op:"write" shape:"S,h"`
}

func (SinusoidGradient) gradient() {}

// Attention is sampled attention. Per sequence and head, with m the Score, and P the Probability of A,
//
//	A_ij = m(q_i, k_j)/√dh · Rmul_ij + Radd_ij
//	O_i  = Σ_j P_ij v_j
//
// Norm holds the denominator of each row's probabilities; for softmax, its logarithm.
// Nothing of size [T, S] is stored.
type Attention struct {
	O            *Tensor `op:"write" shape:"T,d"`
	Norm         *Tensor `op:"write" shape:"T,h"`
	DeadRows     *Tensor `op:"write" shape:"1"` // int32 number of (row, head) pairs with Σ ReLU(A) = 0; may be nil
	Q            *Tensor `shape:"T,d"`
	K, V         *Tensor `shape:"S,d"`
	Leak         *Tensor `shape:"B,h"` // nil unless Probability is LeakyReLU
	Count        *Tensor `shape:"B"`   // int32
	Batch        *Batch
	RelativeBias RelativeBias
	Heads        int
	MaxKeys      int // maximum number of sampled keys of a sequence; 0 if unknown
	Score        Score
	Probability  Probability
}

func (k Attention) check() {
	if k.Norm.Width() != k.Heads || k.Q.Width()%k.Heads != 0 {
		panic(fmt.Sprintf("tensor: attention: %d channels in %d heads, %v", k.Q.Width(), k.Heads, k.Norm))
	}
	if (k.Leak != nil) != (k.Probability == LeakyReLU) {
		panic("tensor: attention: the leak belongs to leaky_relu")
	}
	switch b := k.RelativeBias.(type) {
	case DistanceBias:
		checkPairWidth(b.Points.Width(), 3*b.PairFeatures())
		checkPairWidth(b.W.Shape[0], k.Heads)
	case EdgeBias:
		checkPairWidth(b.Index.Words(), k.Q.Shape[0]+1+b.Features.Shape[0])
		checkPairWidth(b.W.Width(), 2*b.PairFeatures()+2)
		checkPairWidth(b.W.Shape[0], k.Heads)
	}
}

// AttentionBackward computes the gradients of [Attention]. It recomputes each tile of scores.
//
// With D_i = DO_i·O_i:
//
//	dA_ij = [A_ij > 0]·(DO_i·v_j − D_i)/Norm_i (softmax: P_ij (DO_i·v_j − D_i))
//	DLeak = −Σ_i D_i/Norm_i, DV_j = Σ_i P_ij DO_i
//	dm = dA·Rmul/√dh, dRmul = dA·m/√dh, dRadd = dA
//
// The gradient of max(q, k) goes to q where q ≥ k; |x|'(0) = 0. Unused rows of DK and DV are zero.
type AttentionBackward struct {
	DQ       *Tensor `op:"write" shape:"T,d"`
	DK, DV   *Tensor `op:"write" shape:"S,d"`
	DLeak    *Tensor `op:"write" shape:"B,h"` // may be nil
	Gradient RelativeBiasGradient
	DO       *Tensor `shape:"T,d"`
	Forward  Attention
}

func (k AttentionBackward) check() {
	k.Forward.check()
	if g, ok := k.Gradient.(PairGradient); ok {
		if b, ok := k.Forward.RelativeBias.(interface{ PairFeatures() int }); ok {
			checkPairWidth(g.D.Width(), k.Forward.Heads*(2*b.PairFeatures()+3))
		}
	}
	if (k.Gradient != nil) != (k.Forward.RelativeBias != nil) {
		panic("tensor: attention_backward: expected a relative position bias and its gradient, or neither")
	}
}
