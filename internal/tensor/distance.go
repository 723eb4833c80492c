package tensor

// DistanceBias is the relation of points in space, [PairWeights] packed in W. A pair of tokens i
// and t has the features
//
//	a_it = (‖x_i − x_t‖², n_i·n_t)   the second one where points have normals, so r is 1 or 2
//
// and a query i and a duplet j, with z_it = w_mul·a_it + b_mul,
//
//	Rmul_ij = p_j softplus(z_i,top) + (1−p_j) softplus(z_i,partner)
//	Radd_ij = w_add·(p_j a_i,top + (1−p_j) a_i,partner) + b_add
//
// Source: "Sampling Foundational Transformer", the attention of point clouds.
type DistanceBias struct {
	Points       *Tensor `shape:"T,c"` // x, followed by n if c is 6
	W            *Tensor `shape:"h,w"`
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (DistanceBias) relativeBias() {}

// PairFeatures returns r, the number of features of a pair.
func (b DistanceBias) PairFeatures() int { return b.W.Width()/2 - 1 }
