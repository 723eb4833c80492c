package simd

// Products computes matrix products. If tiles is set, it blocks the product around the assembly. The
// zero value uses gonum's blas32.
type Products struct {
	cols   int    // columns per tile
	tiles  []tile // tiles[i] has i+1 rows
	narrow []tile // tiles with half as many columns; may be nil

	packRows    func(k int, dst, src *float32, stride int) // packs rows of cols floats
	packColumns func(rows, cols int, dst, src *float32, stride int, sum *float32)
}

// tile computes c = a·b + init for n ≥ 1 consecutive blocks, each with the tile's number of rows and with
// cols columns. Each element of a·b is a chain of fused multiply-adds in ascending order of the summed
// index, to which init is added.
type tile func(n, k int, a *float32, rs, cs int, b *float32, ldb int, init *float32, is int, c *float32, ldc, cols int)

// Matrix is a matrix in memory. Element (i, j) is Data[i·Row + j·Col].
type Matrix struct {
	Data     []float32
	Row, Col int
}

// from returns the submatrix that begins at row i.
func (m Matrix) from(i int) Matrix { return Matrix{m.Data[i*m.Row:], m.Row, m.Col} }

// Rows returns a matrix whose rows are contiguous and stride floats apart.
func Rows(data []float32, stride int) Matrix { return Matrix{data, stride, 1} }

// Packed is the right factor of a product, K×N, stored in panels of columns. Row l of panel p
// begins at Data[p·Panel + l·Row]. The padding of the last panel beyond column N is read and must
// exist.
type Packed struct {
	Data       []float32
	Row, Panel int
	K, N       int
}

// kBlock is the length of the blocks into which the summed index is split. A panel of B of this
// length stays in the first-level cache.
const kBlock = 256

// PackedSize returns the number of floats of a packed k×n matrix.
func (p *Products) PackedSize(k, n int) int { return k * p.padded(n) }

// padded returns n, rounded up to whole panels.
func (p *Products) padded(n int) int {
	if p.tiles == nil {
		return n
	}
	return (n + p.cols - 1) / p.cols * p.cols
}

// Pack packs the k×n matrix b into dst, which must have PackedSize(k, n) floats.
func (p *Products) Pack(dst []float32, b Matrix, k, n int) Packed {
	if p.tiles == nil {
		packPanel(dst, b, k, n, n)
		return Packed{Data: dst, Row: n, Panel: n, K: k, N: n}
	}
	q := Packed{Data: dst, Row: p.cols, Panel: p.cols * k, K: k, N: n}
	for j := 0; j < n; j += p.cols {
		w := min(p.cols, n-j)
		if b.Col == 1 && w == p.cols && k > 0 {
			_, _ = dst[(j+w)*k-1], b.Data[(k-1)*b.Row+j+w-1]
			p.packRows(k, &dst[j*k], &b.Data[j], b.Row)
			continue
		}
		packPanel(dst[j*k:][:p.cols*k], Matrix{b.Data[j*b.Col:], b.Row, b.Col}, k, w, p.cols)
	}
	return q
}

// packPanel copies k rows of w elements, and pads each row with zeros to width elements.
func packPanel(dst []float32, b Matrix, k, w, width int) {
	if b.Col == 1 {
		for l := range k {
			to := dst[l*width:][:width]
			clear(to[copy(to, b.Data[l*b.Row:][:w]):])
		}
		return
	}
	if w < width {
		clear(dst[:k*width])
	}
	// Copy sixteen rows at a time, so that the cache lines of dst that a column touches stay in the
	// first-level cache.
	for l0 := 0; l0 < k; l0 += 16 {
		n := min(16, k-l0)
		for j := range w {
			to := dst[l0*width+j:]
			at := j*b.Col + l0*b.Row
			if b.Row == 1 {
				for l, v := range b.Data[at:][:n] {
					to[l*width] = v
				}
				continue
			}
			for l := range n {
				to[l*width] = b.Data[at]
				at += b.Row
			}
		}
	}
}

// PackColumns copies rows of cols floats, which are stride floats apart in src, contiguously to
// dst, and writes the sum of each column to sum. As the left factor of a product, dst is transposed:
// Row = 1 and Col = cols.
func (p *Products) PackColumns(dst, src []float32, stride, rows, cols int, sum []float32) {
	_, _, _ = dst[rows*cols-1], src[(rows-1)*stride+cols-1], sum[cols-1]
	if p.packColumns != nil {
		p.packColumns(rows, cols, &dst[0], &src[0], stride, &sum[0])
		return
	}
	clear(sum[:cols])
	for l := range rows {
		row := src[l*stride:][:cols]
		copy(dst[l*cols:], row)
		for c, v := range row {
			sum[c] += v
		}
	}
}

// View returns a k×n matrix with contiguous rows as a right factor, without a copy. Its memory must
// include the padding of the last panel: stride must be at least [Products.Columns](n).
func (p *Products) View(b []float32, stride, k, n int) Packed {
	return Packed{Data: b, Row: stride, Panel: p.cols, K: k, N: n}
}

// Columns returns the number of columns, including padding, that the memory of a view of n columns
// must have.
func (p *Products) Columns(n int) int {
	if p.narrow == nil {
		return p.padded(n)
	}
	half := p.cols / 2
	return (n + half - 1) / half * half
}

// Mul computes C = init + A·B for m rows. A is m×K and C is m×N with contiguous rows. init is m×N
// with contiguous rows; a stride of 0 uses the same row, a bias, for all rows. If init is C, Mul
// accumulates. The zero Matrix as init means zero.
//
// Every 256 products are summed before their sum is added to the total, because one long chain of
// float32 additions would lose precision. The order of additions depends only on K, not on other
// rows and columns or on how A and B are stored.
func (p *Products) Mul(c Matrix, a Matrix, b Packed, init Matrix, m int) {
	if m == 0 || b.N == 0 {
		return
	}
	if b.K == 0 {
		copyInit(c, init, m, b.N)
		return
	}
	if p.tiles == nil {
		mulBLAS(c, a, b, init, m)
		return
	}
	for k0 := 0; k0 < b.K; k0 += kBlock {
		k := min(kBlock, b.K-k0)
		left := Matrix{a.Data[k0*a.Col:], a.Row, a.Col}
		if k0 > 0 {
			init = c
		}
		for j := 0; j < b.N; j += p.cols {
			panel := b.Data[j/p.cols*b.Panel+k0*b.Row:]
			p.mulPanel(c, left, panel, b.Row, init, m, k, j, min(p.cols, b.N-j))
		}
	}
}

// zeroInit is the initial value of a tile of C if init is zero.
var zeroInit = make([]float32, 32)

// copyInit copies init to C unless both are the same matrix. For the zero Matrix it clears C.
func copyInit(c, init Matrix, m, n int) {
	for i := range m {
		if init.Data == nil {
			clear(c.Data[i*c.Row:][:n])
			continue
		}
		to, from := c.Data[i*c.Row:][:n], init.Data[i*init.Row:][:n]
		if &to[0] != &from[0] {
			copy(to, from)
		}
	}
}

// mulPanel computes the columns of C for one panel of B.
func (p *Products) mulPanel(c, a Matrix, panel []float32, ldb int, init Matrix, m, k, j, cols int) {
	tiles, width := p.tiles, p.cols
	if p.narrow != nil && cols <= p.cols/2 {
		tiles, width = p.narrow, p.cols/2
	}
	_ = a.Data[(m-1)*a.Row+(k-1)*a.Col] // the assembly has no checks
	_ = panel[(k-1)*ldb+width-1]
	_ = c.Data[(m-1)*c.Row+j+cols-1]
	if init.Data == nil {
		init.Data = zeroInit
	} else {
		init.Data = init.Data[j:]
	}
	_ = init.Data[(m-1)*init.Row+cols-1]
	// Use tiles of nearly equal height, because a tile of few rows would wait for its own sums.
	n := (m + len(tiles) - 1) / len(tiles)
	rows, higher := m/n, m%n
	run := func(i, n, rows int) {
		if n > 0 {
			tiles[rows-1](n, k, &a.Data[i*a.Row], a.Row, a.Col, &panel[0], ldb,
				&init.Data[i*init.Row], init.Row, &c.Data[i*c.Row+j], c.Row, cols)
		}
	}
	run(0, higher, rows+1)
	run(higher*(rows+1), n-higher, rows)
}
