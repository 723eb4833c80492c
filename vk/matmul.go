//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

// product is C[m,n] = A[m,k]·B[k,n] + bias[n], computed in one dispatch. Either m or k is the
// number of rows of a batch; only the rows in use enter the product.
type product struct {
	c, a, b, bias *tensor.Tensor // bias may be nil
	form          form
	rows          *tensor.Tensor // tensor whose axis counts the rows
	first         int            // index in the batch of the operands' first row, for a block of rows
	span          int            // number of rows in which chunks of a weight gradient may begin; 0 means all
	m, n, k       int            // dimensions; the number of rows is the capacity
	firstPart     int            // index of the first part in C
	parts         int            // number of parts of C, each the sum over a chunk of rows; 0 means C is not split
	accumulate    bool           // C += instead of =
	gelu          bool           // C = GELU(A·B + bias)
}

// form states which operands are stored with k as the outer dimension: [k,m] for A, [k,n] for B.
type form struct{ a, b bool }

var (
	forward        = form{}                 // Y = X·Wᵀ
	inputGradient  = form{b: true}          // DX = DY·W
	weightGradient = form{a: true, b: true} // DW = DYᵀ·X
)

// tile is the part of C that a workgroup computes: m×n elements, in steps of k. An invocation
// computes rows×columns elements. Each operand has one or two buffers in shared memory.
type tile struct{ m, n, k, rows, columns, buffers uint32 }

// tiles lists the available tiles. The large tiles are sorted from the fastest per element to the
// smallest, which results in the most workgroups. All tiles add in the same order. Products with few
// columns or rows have separate tiles.
type tiles struct {
	large               []tile
	fewColumns, fewRows tile
}

var exactTiles = tiles{
	large:      []tile{{128, 64, 16, 8, 4, 2}, {64, 64, 32, 4, 4, 1}, {32, 32, 16, 4, 4, 2}},
	fewColumns: tile{64, 16, 32, 4, 4, 1},
	fewRows:    tile{16, 64, 32, 4, 4, 1},
}

// enoughGroups is the number of workgroups that keeps the 60 to 140 compute units of a large device
// busy when programs run concurrently.
const enoughGroups = 128

func (t tile) invocations() uint32 { return t.m / t.rows * (t.n / t.columns) }

// tile returns the tile for the product. The choice depends on the capacity of the program and
// never changes a bit of the result.
func (p product) tile(available tiles) tile {
	switch {
	case p.n <= int(available.fewColumns.n):
		return available.fewColumns
	case p.m <= int(available.fewRows.m):
		return available.fewRows
	}
	for _, t := range available.large {
		if p.groups(t.m, t.n) >= enoughGroups {
			return t
		}
	}
	return available.large[len(available.large)-1]
}

// groups returns the number of workgroups of the product with tiles of m×n.
func (p product) groups(m, n uint32) int {
	return blocks(p.m, int(m)) * blocks(p.n, int(n)) * max(1, p.parts)
}

// multiply appends a dispatch of a product, in the precision of the device.
func (r *recorder) multiply(p product) {
	if m := r.device.mixed; m != nil {
		r.multiplyMixed(p, p.tile(mixedTiles), m.shape(p.form))
		return
	}
	r.multiplyTiled(p, p.tile(exactTiles))
}

func (r *recorder) multiplyTiled(p product, t tile) {
	d := p.dispatch("matmul", t.invocations(), t.m, t.n, t.k, t.rows, t.columns, t.buffers)
	d.groups = p.groups(t.m, t.n)
	r.dispatch(d)
}

// dispatch returns a dispatch with the constants, push constants and operands that all shaders of
// products share.
func (p product) dispatch(shader string, invocations uint32, tile ...uint32) dispatch {
	const bias, accumulate = 1, 2 // flags of matmul.glsl
	var flags uint32
	c := write(p.c)
	if p.bias != nil {
		flags |= bias
	}
	if p.accumulate {
		flags |= accumulate
		c = update(p.c)
	}
	return dispatch{
		shader: shader,
		constants: append([]uint32{invocations, boolWord(p.form.a), boolWord(p.form.b), boolWord(p.aligned()),
			boolWord(p.gelu)}, tile...),
		push: []uint32{axis(p.rows), uint32(p.rows.Shape[0]), uint32(p.first),
			uint32(p.m), uint32(p.n), uint32(p.k), uint32(p.firstPart), uint32(max(1, p.parts)), flags,
			window{span: p.span}.shaderSpan()},
		operands: []operand{read(p.a), read(p.b), read(p.bias), c},
	}
}

// aligned reports whether every row of both operands begins at a multiple of four words.
func (p product) aligned() bool {
	width := func(outer bool, n int) int {
		if outer {
			return n
		}
		return p.k
	}
	return width(p.form.a, p.m)%4 == 0 && width(p.form.b, p.n)%4 == 0
}

// boolWord returns 1 for true and 0 for false, for constants and push constants.
func boolWord(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Sums over rows are split into at most rowChunks chunks of at least chunkRows rows, except that the
// last chunk may be shorter. Both values equal those in rowchunks.glsl.
const chunkRows, rowChunks = 256, 64

// chunks returns an upper bound on the number of chunks into which the rows in use are split, given
// the capacity n.
func chunks(n int) int { return max(1, min(rowChunks, blocks(n, chunkRows))) }

// chunkLength returns an upper bound on the number of rows in a chunk, given the capacity n.
func chunkLength(n int) int { return (max(chunkRows, blocks(n, rowChunks)) + 15) / 16 * 16 }
