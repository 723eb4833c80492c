//go:build cgo

package vk

// columns is the number of columns that a workgroup of columns.glsl sums.
const columns = 64

// minPiece is the minimum number of rows of a piece of a sum, maxPieces the maximum number of pieces,
// as in columns.glsl.
const minPiece, maxPieces = 32, 128

// pieces returns an upper bound of the number of pieces of the rows in use, given the capacity n.
func pieces(n int) int { return min(maxPieces, blocks(n, minPiece)) }

// columns returns a launch that sums columns over pieces of the rows with columns.glsl.
func (e extent) columns(shader string, pieces int, operands ...operand) dispatch {
	return dispatch{shader: shader, push: e.push(uint32(pieces)),
		groups: pieces * blocks(e.width, columns), operands: operands}
}
