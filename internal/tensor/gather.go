package tensor

// NoRow is the index that selects no row: [Gather] writes zeros, and [EmbedBag] skips the term.
const NoRow = -1

// Gather selects rows: Y[i] = X[Row[i]], or 0 where Row[i] is [NoRow]. If no row is selected twice,
// the backward pass is a Gather with the inverse selection: DX[t] = DY[i] where Row[i] = t, and 0 for
// rows that are not selected.
type Gather struct {
	Y   *Tensor `op:"write" shape:"R,n"`
	X   *Tensor `shape:"S,n"`
	Row *Tensor `shape:"R"` // int32
}
