package tensor

// EdgeBias is the relative bias of the tokens of a graph, with [PairWeights] packed in W. A pair of
// tokens i and t has the features a_it of the edge from i to t, and a_it = 0 without an edge. A
// query i and a duplet j have, with z_it = w_mul·a_it + b_mul,
//
//	Rmul_ij = p_j softplus(z_i,top) + (1−p_j) softplus(z_i,partner)
//	Radd_ij = w_add·(p_j a_i,top + (1−p_j) a_i,partner) + b_add
//
// A pair without an edge therefore has softplus(b_mul) and b_add. A device computes these two for
// all pairs, and then corrects the pairs with an edge into a sampled token.
//
// Source: "Sampling Foundational Transformer", attention for graphs.
type EdgeBias struct {
	// Index is int32: T+1 words, followed by a word for each edge. The edges into packed row t have
	// the indices Index[t] … Index[t+1]−1. The source of edge n is at position Index[T+1+n] of the
	// sequence. The sources of each target are distinct and ascending.
	Index        *Tensor
	Features     *Tensor `shape:"n,r"` // the last feature is the number of merged edges, usually 1
	W            *Tensor `shape:"h,w"`
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (EdgeBias) relativeBias() {}

// PairFeatures returns r, the number of features of an edge.
func (b EdgeBias) PairFeatures() int { return b.Features.Width() }
