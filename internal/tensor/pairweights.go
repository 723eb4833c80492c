package tensor

import "fmt"

// PairWeights packs the parameters of a relative bias with r pair features ([DistanceBias] or
// [EdgeBias]), one row per head. A row has the weights and the bias for Rmul, then the weights and
// the bias for Radd.
//
//	W[h] = MulWeight[h], MulBias[h], AddWeight[h], AddBias[h]
type PairWeights struct {
	W                    *Tensor `op:"write" shape:"h,w"` // w is 2r + 2
	MulWeight, AddWeight *Tensor `shape:"h,r"`
	MulBias, AddBias     *Tensor `shape:"h"`
}

func (k PairWeights) check() { checkPairWidth(k.W.Width(), 2*k.MulWeight.Width()+2) }

// checkPairWidth panics unless a row has the expected number of words.
func checkPairWidth(found, expected int) {
	if found != expected {
		panic(fmt.Sprintf("tensor: pair features: found rows of %d words, expected %d", found, expected))
	}
}

// PairGradient receives the adjoint of a relative bias with pair features. For each sampled key and
// head it holds the gradients of p_j and of each word of W[h], 2r + 3 numbers, summed over all
// queries of the sequence. Unused rows are zero. The features are inputs and have no gradient.
type PairGradient struct {
	D *Tensor `op:"write" shape:"S,g"` // g is h·(2r + 3)
}

func (PairGradient) gradient() {}

// PairWeightsBackward sums [PairGradient] over the sampled keys to obtain the gradients of the
// weights, and extracts the gradients of the duplet weights:
//
//	DW[h] = Σ_j D[j, h, 1 …], DP[j, h] = D[j, h, 0]
type PairWeightsBackward struct {
	DMulWeight, DAddWeight *Tensor `op:"write" shape:"h,r"`
	DMulBias, DAddBias     *Tensor `op:"write" shape:"h"`
	DP                     *Tensor `op:"write" shape:"S,h"`
	D                      *Tensor `shape:"S,g"`
}

func (k PairWeightsBackward) check() {
	checkPairWidth(k.D.Width(), k.DMulWeight.Shape[0]*(2*k.DMulWeight.Width()+3))
}
