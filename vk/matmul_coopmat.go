//go:build cgo

package vk

// mixedTiles are the tiles for cooperative matrices. A subgroup, rather than an invocation,
// computes rows×columns elements, in at most four cooperative matrices.
var mixedTiles = tiles{
	large:      []tile{{64, 64, 32, 32, 16, 2}, {32, 64, 32, 16, 32, 2}, {32, 32, 32, 16, 16, 2}},
	fewColumns: tile{64, 16, 32, 16, 16, 2},
	fewRows:    tile{16, 64, 32, 16, 16, 2},
}

// multiplyMixed appends a dispatch of a product with 16-bit operands.
func (r *recorder) multiplyMixed(p product, t tile, c cooperative) {
	shader := "matmul_coopmat"
	if c.bfloat16 {
		shader = "matmul_coopmat_bfloat16"
	}
	// One subgroup computes each part of the tile. If subgroups may be larger than 32 and the device can
	// select their size, it is 32; the shader is correct for any size.
	l := r.device.limits
	size, requiredSize := l.subgroupMax, uint32(0)
	if l.subgroupMin <= 32 && l.subgroupMax > 32 && r.device.physical.features.subgroup_size_control != 0 {
		size, requiredSize = 32, 32
	}
	t.rows, t.columns = min(t.rows, 2*c.M), min(t.columns, 2*c.N)
	parts := t.m / t.rows * (t.n / t.columns)
	// A workgroup stages whole quads of both tiles.
	invocations := min(parts*uint32(size), min(t.m, t.n)*t.k/4, 256)
	d := p.dispatch(shader, invocations, t.m, t.n, t.k, t.rows, t.columns, c.M, c.N, c.K,
		t.buffers, boolWord(p.form == forward))
	d.groups, d.subgroup = p.groups(t.m, t.n), requiredSize
	r.dispatch(d)
}
