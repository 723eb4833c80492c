package tensor

// PairFeatures joins the two pooled sequences u, v of each example, which are
// consecutive rows of X: Y = [u, v, u∘v, u−v].
type PairFeatures struct {
	Y *Tensor `op:"write"` // [E, 4d]
	X *Tensor // [2E, d]
}

func (PairFeatures) Name() string { return "pairfeatures" }
func (k PairFeatures) check()     { width("pairfeatures", k.Y, 4*k.X.Width()) }

// PairFeaturesBackward: with DY = [a, b, c, e], du = a + c∘v + e and
// dv = b + c∘u − e.
type PairFeaturesBackward struct {
	DX *Tensor `op:"write"` // [2E, d]
	DY *Tensor // [E, 4d]
	X  *Tensor // [2E, d]
}

func (PairFeaturesBackward) Name() string { return "pairfeatures_backward" }
func (k PairFeaturesBackward) check() {
	same("pairfeatures_backward", k.DX, k.X)
	width("pairfeatures_backward", k.DY, 4*k.X.Width())
}
