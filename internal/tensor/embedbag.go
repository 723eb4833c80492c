package tensor

// EmbedBag adds at most g rows of a table to each token's row, and scales the sum:
//
//	Y[t] = Scale[t]·(X[t] + Σ_g Table[Row[t,g]])
//
// It adds the terms in order and skips terms with Row[t,g] = [NoRow]. Y may share the memory of X.
type EmbedBag struct {
	Y     *Tensor `op:"write" shape:"T,d"`
	X     *Tensor `shape:"T,d"`
	Table *Tensor `shape:"U,d"`
	Row   *Tensor `shape:"T,g"` // int32
	Scale *Tensor `shape:"T"`
}

// EmbedBagBackward computes the gradients of [EmbedBag]:
//
//	DX[t] = Scale[t]·DY[t],  DTable[u] = Σ_i DX[Token[i]] for i from Offset[u] to Offset[u+1]−1
//
// It adds the terms in order. Offset and Token list, for each row of the table, the tokens that use
// it, in ascending order. DX may share the memory of DY.
type EmbedBagBackward struct {
	DX     *Tensor `op:"write" shape:"T,d"`
	DTable *Tensor `op:"write" shape:"U,d"`
	DY     *Tensor `shape:"T,d"`
	Scale  *Tensor `shape:"T"`
	Offset *Tensor // [U+1] int32
	Token  *Tensor // int32
}
