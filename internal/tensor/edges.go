package tensor

// EdgeBias is the relation of the tokens of a graph, [PairWeights] packed in W. A pair of tokens
// i and t has the features a_it of the edge from i to t, of which the last is 1, and a_it = 0
// where there is no edge. A query i and a duplet j, with z_it = w_mul·a_it + b_mul, have
//
//	Rmul_ij = p_j softplus(z_i,top) + (1−p_j) softplus(z_i,partner)
//	Radd_ij = w_add·(p_j a_i,top + (1−p_j) a_i,partner) + b_add
//
// so that a pair without an edge has softplus(b_mul) and b_add. A device takes these for all
// pairs, and corrects those of the edges into the sampled tokens.
//
// Source: "Sampling Foundational Transformer", the attention of graphs.
type EdgeBias struct {
	// Index is int32: T+1 words, followed by one for each edge. The edges into packed row t are
	// Index[t] … Index[t+1]−1, and the source of edge n is position Index[T+1+n] of the sequence.
	// For each target the sources are distinct and ascending.
	Index        *Tensor
	Features     *Tensor `shape:"n,r"` // the last is 1, or the number of edges merged into this one
	W            *Tensor `shape:"h,w"`
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (EdgeBias) relativeBias() {}

// PairFeatures returns r, the number of features of an edge.
func (b EdgeBias) PairFeatures() int { return b.Features.Width() }
