package tensor

import "sftseq/sinusoid"

// SinusoidTables computes the tables of the relative encoding, one row for each
// head's Rmul, then one for each head's Radd:
//
//	F[r, t] = ½ Σ_c (W_r[2c+1] + W_r[2c]) cos(ω_c t) + b_r   0 ≤ t < longest
//	G[r, t] = ½ Σ_c (W_r[2c+1] − W_r[2c]) cos(ω_c t)         0 ≤ t < 2·longest − 1
//
// so that Σ_c W_r[c] S[i,c] S[j,c] + b_r = F[r, |i−j|] + G[r, i+j].
type SinusoidTables struct {
	F                    *Tensor // [2h, T]
	G                    *Tensor // [2h, 2T]
	MulWeight, AddWeight *Tensor // [h, ds]
	MulBias, AddBias     *Tensor // [h]
	Counts               *Tensor
	Frequencies          *sinusoid.Frequencies
}

func (SinusoidTables) Name() string { return "sinusoid" }
func (k SinusoidTables) Reads() []*Tensor {
	return []*Tensor{k.MulWeight, k.AddWeight, k.MulBias, k.AddBias, k.Counts}
}
func (k SinusoidTables) Writes() []*Tensor { return []*Tensor{k.F, k.G} }
func (k SinusoidTables) check() {
	width("sinusoid", k.MulWeight, 2*k.Frequencies.Len())
	width("sinusoid", k.G, 2*k.F.Width())
	words("sinusoid", k.MulBias, k.F.Shape[0]/2)
}

// SinusoidTablesBackward is the adjoint of [SinusoidTables].
type SinusoidTablesBackward struct {
	DMulWeight, DAddWeight *Tensor // [h, ds]
	DMulBias, DAddBias     *Tensor // [h]
	DF                     *Tensor // [2h, T]
	DG                     *Tensor // [2h, 2T]
	Counts                 *Tensor
	Frequencies            *sinusoid.Frequencies
}

func (SinusoidTablesBackward) Name() string { return "sinusoid_backward" }
func (k SinusoidTablesBackward) Reads() []*Tensor {
	return []*Tensor{k.DF, k.DG, k.Counts}
}
func (k SinusoidTablesBackward) Writes() []*Tensor {
	return []*Tensor{k.DMulWeight, k.DAddWeight, k.DMulBias, k.DAddBias}
}
func (k SinusoidTablesBackward) check() {
	width("sinusoid_backward", k.DMulWeight, 2*k.Frequencies.Len())
	width("sinusoid_backward", k.DG, 2*k.DF.Width())
}
