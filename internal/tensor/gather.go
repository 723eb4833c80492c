package tensor

// NoRow is the value of Gather.Row for a row of zeros.
const NoRow = -1

// Gather picks rows: Y[i] = X[Row[i]], or 0 where Row[i] is [NoRow]. If no row is picked twice, its
// backward is a Gather with the inverse permutation: DX[t] = DY[i] where Row[i] = t, and 0 for rows
// that were not picked.
type Gather struct {
	Y   *Tensor `op:"write" shape:"R,n"`
	X   *Tensor `shape:"S,n"`
	Row *Tensor `shape:"R"` // int32
}
