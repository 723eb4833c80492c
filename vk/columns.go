//go:build cgo

package vk

// columns is the number of columns that a workgroup of columns.glsl sums.
const columns = 64

// A piece is a chunk of the rows of a sum. minPiece is the minimum number of rows in a piece, except
// the last, and maxPieces the maximum number of pieces. Both equal the values in columns.glsl.
const minPiece, maxPieces = 32, 128

// pieces returns an upper bound on the number of pieces into which columns.glsl splits the rows in
// use, given the capacity n.
func pieces(n int) int { return min(maxPieces, blocks(n, minPiece)) }

// columns returns a dispatch of a shader that includes columns.glsl and sums columns over pieces of
// the rows.
func (e extent) columns(shader string, pieces int, operands ...operand) dispatch {
	return dispatch{shader: shader, push: e.push(uint32(pieces)),
		groups: pieces * blocks(e.width, columns), operands: operands}
}
