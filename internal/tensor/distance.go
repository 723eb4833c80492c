package tensor

import "fmt"

// Distance packs what the relation of points is made of, one row for each head: the weights of
// Rmul and its bias, then those of Radd.
//
//	W[h] = MulWeight[h], MulBias[h], AddWeight[h], AddBias[h]
type Distance struct {
	W                    *Tensor `op:"write" shape:"h,w"` // w is 2r + 2
	MulWeight, AddWeight *Tensor `shape:"h,r"`
	MulBias, AddBias     *Tensor `shape:"h"`
}

func (k Distance) check() { checkPairFeatures(k.W.Width(), 2*k.MulWeight.Width()+2) }

// checkPairFeatures panics on a width that is not that of the features of a pair.
func checkPairFeatures(found, expected int) {
	if found != expected {
		panic(fmt.Sprintf("tensor: distance: rows of %d words, expected %d", found, expected))
	}
}

// DistanceBias is the relation of points in space, [Distance] packed in W. A pair of tokens i
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
	Points       *Tensor `shape:"T,c"` // x, then n if c is 6
	W            *Tensor `shape:"h,w"`
	P            *Tensor `shape:"S"`
	Top, Partner *Tensor `shape:"S"` // int32
}

func (DistanceBias) relativeBias() {}

// PairFeatures is r, the number of features of a pair.
func (b DistanceBias) PairFeatures() int { return b.W.Width()/2 - 1 }

// DistanceGradient is the adjoint of [DistanceBias]: for each sampled key and head what the
// pairs of all queries give to p_j, then to each word of W, 2r + 3 numbers. Rows beyond the
// sampled ones are zero. The points are inputs and have no gradient.
type DistanceGradient struct {
	D *Tensor `op:"write" shape:"S,g"` // g is h·(2r + 3)
}

func (DistanceGradient) gradient() {}

// DistanceBackward adds up [DistanceGradient] over the sampled keys, which gives the gradients
// of the weights, and picks out those of the duplet weights:
//
//	DW[h] = Σ_j D[j, h, 1 …], DP[j, h] = D[j, h, 0]
type DistanceBackward struct {
	DMulWeight, DAddWeight *Tensor `op:"write" shape:"h,r"`
	DMulBias, DAddBias     *Tensor `op:"write" shape:"h"`
	DP                     *Tensor `op:"write" shape:"S,h"`
	D                      *Tensor `shape:"S,g"`
}

func (k DistanceBackward) check() {
	checkPairFeatures(k.D.Width(), k.DMulWeight.Shape[0]*(2*k.DMulWeight.Width()+3))
}
