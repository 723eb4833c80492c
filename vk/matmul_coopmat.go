//go:build cgo

package vk

// mixedTile is what a workgroup computes by cooperative matrices: m×n elements,
// in steps of k, a subgroup rows×columns of them, out of one or two tiles of each
// operand.
type mixedTile struct{ m, n, k, rows, columns, buffers uint32 }

// mixedTiles are those of matmul.go for matrices.
var (
	mixedTiles      = []mixedTile{{128, 128, 32, 64, 32, 1}, {64, 64, 32, 32, 32, 2}, {32, 32, 32, 16, 16, 2}}
	mixedFewColumns = mixedTile{64, 16, 32, 16, 16, 2}
	mixedFewRows    = mixedTile{16, 64, 32, 16, 16, 2}
)

// mixedTile chooses as tile does.
func (p product) mixedTile() mixedTile {
	switch {
	case p.n <= int(mixedFewColumns.n):
		return mixedFewColumns
	case p.m <= int(mixedFewRows.m):
		return mixedFewRows
	}
	for _, t := range mixedTiles {
		if p.groups(t.m, t.n) >= enoughGroups {
			return t
		}
	}
	return mixedTiles[len(mixedTiles)-1]
}

// multiplyMixed launches a product with operands in half precision.
func (r *recorder) multiplyMixed(p product, t mixedTile, c *cooperative) {
	shader := "matmul_coopmat"
	if c.bfloat16 {
		shader = "matmul_coopmat_bfloat16"
	}
	// One subgroup for each share of the tile, of 32 invocations where that can
	// be asked for; the shader is right with any number of them.
	l := r.device.limits
	size, required := l.subgroupMax, uint32(0)
	if l.subgroupMin <= 32 && l.subgroupMax > 32 && r.device.physical.features.subgroup_size_control != 0 {
		size, required = 32, 32
	}
	shares := t.m / t.rows * (t.n / t.columns)
	// A workgroup stages whole quads of both tiles.
	invocations := min(shares*uint32(size), min(t.m, t.n)*t.k/4, 256)
	d := p.dispatch(shader, invocations, t.m, t.n, t.k, t.rows, t.columns, c.M, c.N, c.K, t.buffers)
	d.groups, d.subgroup = p.groups(t.m, t.n), required
	r.dispatch(d)
}
