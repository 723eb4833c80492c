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
	First        *Tensor // [T+1] int32: the edges into packed row t are First[t] … First[t+1]−1
	Source       *Tensor `shape:"n"`   // int32: where an edge begins, a place in the sequence; ascending for each target, each once
	Features     *Tensor `shape:"n,r"` // the last is 1, or how many edges are joined in this one
	W            *Tensor `shape:"h,w"`
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (EdgeBias) relativeBias() {}

// PairFeatures is r, the number of features of an edge.
func (b EdgeBias) PairFeatures() int { return b.Features.Width() }
