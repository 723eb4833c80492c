//go:build cgo

package vk

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// openMixed opens a device for mixed precision. Few processors' drivers have
// cooperative matrices: Mesa's from version 26.1 on.
func openMixed(t *testing.T) *Device {
	t.Helper()
	t.Setenv("SFTSEQ_VK_VALIDATE", "1")
	d, err := Open(Options{Mixed: true})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		for _, m := range d.Messages() {
			t.Error("validation: ", m)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// half rounds to float16 or bfloat16, to nearest even; no infinities, and
// nothing small enough to be subnormal.
func (c *cooperative) half(x float32) float64 {
	low := uint32(13) // bits of float32 that float16 lacks
	if c.bfloat16 {
		low = 16
	}
	b := math.Float32bits(x)
	b += 1<<(low-1) - 1 + b>>low&1
	return float64(math.Float32frombits(b &^ (1<<low - 1)))
}

// TestMixedTilesAgree: products with operands in half precision, as TestTilesAgree.
func TestMixedTilesAgree(t *testing.T) {
	d := openMixed(t)
	t.Logf("%s, %+v", d.Name(), *d.mixed)
	for name, b := range productCases(d) {
		list := append([]mixedTile{mixedFewColumns, mixedFewRows}, mixedTiles...)
		if !b.p.aligned() {
			list = list[:1]
		}
		want := b.want(d.mixed.half)
		var first []uint32
		for _, tile := range list {
			got := b.run(t, func(r *recorder) { r.multiplyMixed(b.p, tile, d.mixed) })
			b.check(t, fmt.Sprintf("%s, tile %v", name, tile), got, want, 3e-5)
			if first == nil {
				first = got
			} else if !slices.Equal(first, got) {
				t.Errorf("%s, tile %v: differs from the first tile", name, tile)
			}
		}
	}
}
