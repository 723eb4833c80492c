package tensor

// DistanceBias is the relative bias of points in space, with [PairWeights] packed in W. A pair of
// tokens i and t has the r features
//
//	a_it = (‖x_i − x_t‖², n_i·n_t)   with normals n, r = 2; without normals only the first, r = 1
//
// and a query i and a duplet j have, with z_it = w_mul·a_it + b_mul,
//
//	Rmul_ij = p_j softplus(z_i,top) + (1−p_j) softplus(z_i,partner)
//	Radd_ij = w_add·(p_j a_i,top + (1−p_j) a_i,partner) + b_add
//
// Source: "Sampling Foundational Transformer", attention for point clouds.
type DistanceBias struct {
	Points       *Tensor `shape:"T,c"` // x, followed by the normal n if c is 6
	W            *Tensor `shape:"h,w"`
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (DistanceBias) relativeBias() {}

// PairFeatures returns r, the number of pair features.
func (b DistanceBias) PairFeatures() int { return b.W.Width()/2 - 1 }
