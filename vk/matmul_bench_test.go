//go:build cgo

package vk

import (
	"fmt"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
)

// BenchmarkTiles measures products of a layer's sizes with candidate tiles. The large tiles of
// exactTiles and mixedTiles are chosen from its results.
//
//	go test ./vk -run '^$' -bench Tiles -benchtime 1x
func BenchmarkTiles(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		d, err := openGPU(Options{Mixed: mixed})
		if err != nil {
			b.Log(err)
			continue
		}
		list := []tile{{128, 128, 16, 8, 8, 2}, {128, 64, 16, 8, 4, 2}, {64, 64, 32, 4, 4, 1},
			{32, 64, 16, 4, 4, 2}, {32, 32, 16, 4, 4, 2}}
		name := "fp32"
		if mixed {
			name = "mixed"
			list = []tile{{128, 128, 32, 32, 32, 1}, {128, 64, 32, 32, 32, 1}, {64, 64, 32, 32, 32, 2},
				{64, 64, 64, 32, 32, 1}, {64, 64, 32, 32, 16, 2}, {64, 64, 64, 32, 16, 1},
				{64, 128, 32, 32, 32, 2}, {32, 64, 32, 16, 32, 2}, {32, 32, 32, 16, 16, 2}}
		}
		for _, rows := range []int{4096, 65536} {
			for _, f := range forms {
				for _, width := range [][2]int{{128, 128}, {512, 128}, {128, 512}} {
					n, k := width[0], width[1]
					p := product{form: f.form, m: rows, n: n, k: k}
					if f.form == weightGradient {
						p.m, p.n, p.k, p.parts = k, n, rows, chunks(rows)
					}
					for _, t := range list {
						b.Run(fmt.Sprintf("%s/%s/%d/%d×%d/%v", name, f.name, rows, k, n, t), func(b *testing.B) {
							seconds := p.fastest(b, d, t)
							b.ReportMetric(2*float64(p.m)*float64(p.n)*float64(p.k)/seconds/1e9, "GFLOP/s")
							b.ReportMetric(seconds*1e6, "µs")
							b.ReportMetric(0, "ns/op")
						})
					}
				}
			}
		}
		must.Check(b, d.Close())
	}
}

// measuredOperations is the number of operations in all runs of a product together, except on CPUs.
const measuredOperations = 5e11

// fastest returns the shortest time of a product with a tile, in seconds.
func (p product) fastest(b *testing.B, d *gpu, t tile) float64 {
	offset := 0
	operand := func(axis tensor.Axis, shape ...int) *tensor.Tensor {
		x := tensor.At(tensor.Arena, offset, "operand", shape...)
		x.Rows = axis
		offset += align(x.Words())
		return x
	}
	p.a, p.b = operand(tensor.Fixed, p.m, p.k), operand(tensor.Fixed, p.n, p.k)
	p.c = operand(tensor.Fixed, p.m*max(1, p.parts), p.n)
	if p.form.a {
		p.a.Shape, p.b.Shape = []int{p.k, p.m}, []int{p.k, p.n}
	}
	if p.form == forward {
		p.bias = operand(tensor.Fixed, p.n)
	}
	p.rows = p.a
	// The measurement must be long enough for the device to raise its clock.
	runs := max(5, int(measuredOperations/(2*float64(p.m)*float64(p.n)*float64(p.k))))
	if d.Info().Kind == "cpu" {
		runs = 3
	}
	seconds, err := d.fastest(runs, offset, 0, func(r *recorder) {
		if d.mixed != nil {
			r.multiplyMixed(p, t, d.mixed.shape(p.form))
		} else {
			r.multiplyTiled(p, t)
		}
	})
	if err != nil {
		b.Skip(err)
	}
	return seconds
}
