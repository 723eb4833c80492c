package tensor

// NoRow stands in Gather.Row for a row of zeros.
const NoRow = -1

// Gather picks rows: Y[i] = X[Row[i]], or 0 where Row[i] is [NoRow]. Where no row is picked
// twice, its backward is a Gather, too, by the inverse: DX[t] = DY[i] where Row[i] = t, and
// 0 for the rows that were not picked.
type Gather struct {
	Y   *Tensor `op:"write" shape:"R,n"`
	X   *Tensor `shape:"S,n"`
	Row *Tensor `shape:"R"` // int32
}
