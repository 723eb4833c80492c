package tensor

import "github.com/sftseq/sftseq/sinusoid"

// SinusoidTables computes the tables of the relative encoding, one row for each
// head's Rmul, then one for each head's Radd. With n the longest sequence
// (Counts[CountLongest]), 2n−1 entries of a row are in use: F's begin at the
// difference t = −(n−1), G's at the sum t = 0.
//
//	F[r, t+n−1] = ½ Σ_c (W_r[2c+1] + W_r[2c]) cos(ω_c t) + b_r   −n < t < n
//	G[r, t]     = ½ Σ_c (W_r[2c+1] − W_r[2c]) cos(ω_c t)         0 ≤ t < 2n − 1
//
// so that Σ_c W_r[c] S[i,c] S[j,c] + b_r = F[r, i−j+n−1] + G[r, i+j]. F is even
// and holds both sides, so that for one j both tables are read with i ascending.
//
//	E[r]   = exp(F[r])   r < h
//	E[h+r] = exp(G[r])   r < h
//
// in their layouts: softplus(f+g) = log(1 + exp(f)·exp(g)) takes no exponential
// for a pair. Out of float32's range an entry is +Inf or 0.
type SinusoidTables struct {
	F, G, E              *Tensor `op:"write"` // [2h, 2T]
	MulWeight, AddWeight *Tensor // [h, ds]
	MulBias, AddBias     *Tensor // [h]
	Counts               *Tensor
	Frequencies          *sinusoid.Frequencies
}

func (SinusoidTables) Name() string { return "sinusoid" }
func (k SinusoidTables) check() {
	width("sinusoid", k.MulWeight, 2*k.Frequencies.Len())
	same("sinusoid", k.F, k.G)
	same("sinusoid", k.F, k.E)
	words("sinusoid", k.MulBias, k.F.Shape[0]/2)
}

// SinusoidTablesBackward is the adjoint of F and G of [SinusoidTables], with DF
// and DG in their layouts; what E receives is already in these. An entry of DF
// counts for its difference, whichever its sign:
//
//	DW_r[2c]   = ½ Σ_t (DF[r, t+n−1] − DG[r, t]) cos(ω_c t)
//	DW_r[2c+1] = ½ Σ_t (DF[r, t+n−1] + DG[r, t]) cos(ω_c t)
//	Db_r       = Σ_t DF[r, t+n−1]
//
// each table summed over its own range of t.
type SinusoidTablesBackward struct {
	DMulWeight, DAddWeight *Tensor `op:"write"` // [h, ds]
	DMulBias, DAddBias     *Tensor `op:"write"` // [h]
	DF, DG                 *Tensor // [2h, 2T]
	Counts                 *Tensor
	Frequencies            *sinusoid.Frequencies
}

func (SinusoidTablesBackward) Name() string { return "sinusoid_backward" }
func (k SinusoidTablesBackward) check() {
	width("sinusoid_backward", k.DMulWeight, 2*k.Frequencies.Len())
	same("sinusoid_backward", k.DF, k.DG)
}
