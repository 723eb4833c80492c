package tensor

import (
	"fmt"

	"github.com/sftseq/sftseq/sinusoid"
)

// Sinusoid computes the tables of the relative encoding, one row for each head's Rmul, then one row
// for each head's Radd. Let n be the length of the longest sequence (Counts[CountLongest]). 2n−1
// entries of each row are in use: rows of F begin at the difference t = −(n−1), rows of G at the
// sum t = 0.
//
//	F[r, t+n−1] = ½ Σ_c (W_r[2c+1] + W_r[2c]) cos(ω_c t) + b_r   −n < t < n
//	G[r, t]     = ½ Σ_c (W_r[2c+1] − W_r[2c]) cos(ω_c t)         0 ≤ t < 2n − 1
//
// Therefore Σ_c W_r[c] S[i,c] S[j,c] + b_r = F[r, i−j+n−1] + G[r, i+j], where S[i] is the sinusoidal
// encoding of position i. F is even in t but stores both sides, so that for fixed j both tables are
// read with ascending i.
//
//	E[r]   = exp(F[r])   r < h
//	E[h+r] = exp(G[r])   r < h
//
// The first h rows of E have the layout of F, and the remaining rows have the layout of G. With E,
// softplus(f+g) = log(1 + exp(f)·exp(g)) needs no exponential per pair. An entry outside float32's
// range is +Inf or 0.
type Sinusoid struct {
	F, G, E              *Tensor `op:"write" shape:"2h,m"` // m is at least 2n − 1
	MulWeight, AddWeight *Tensor `shape:"h,ds"`
	MulBias, AddBias     *Tensor `shape:"h"`
	Counts               *Tensor
	Frequencies          *sinusoid.Frequencies
}

func (k Sinusoid) check() { checkWeights(k.MulWeight, k.Frequencies) }

// checkWeights panics unless w has a weight for the sine and the cosine of each frequency.
func checkWeights(w *Tensor, f *sinusoid.Frequencies) {
	if w.Width() != 2*f.Len() {
		panic(fmt.Sprintf("tensor: %v: expected rows of %d words for %d frequencies", w, 2*f.Len(), f.Len()))
	}
}

// SinusoidBackward is the adjoint of F and G in [Sinusoid]. DF and DG have the layouts of F and G,
// and already include the gradients through E. F is even in t, so the entries of DF for t and −t
// both contribute to the frequency terms of |t|:
//
//	DW_r[2c]   = ½ Σ_t (DF[r, t+n−1] − DG[r, t]) cos(ω_c t)
//	DW_r[2c+1] = ½ Σ_t (DF[r, t+n−1] + DG[r, t]) cos(ω_c t)
//	Db_r       = Σ_t DF[r, t+n−1]
//
// where each table is summed over its own range of t.
type SinusoidBackward struct {
	DMulWeight, DAddWeight *Tensor `op:"write" shape:"h,ds"`
	DMulBias, DAddBias     *Tensor `op:"write" shape:"h"`
	DF, DG                 *Tensor `shape:"2h,m"`
	Counts                 *Tensor
	Frequencies            *sinusoid.Frequencies
}

func (k SinusoidBackward) check() { checkWeights(k.DMulWeight, k.Frequencies) }
