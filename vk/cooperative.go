//go:build cgo

package vk

import (
	"errors"
	"fmt"
	"os"
)

// Extensions that mixed precision needs: always the first, the second for
// bfloat16.
const (
	cooperativeExtension = "VK_KHR_cooperative_matrix"
	bfloat16Extension    = "VK_KHR_shader_bfloat16"
)

// noCooperative turns cooperative matrices off, and with them mixed precision.
const noCooperative = "SFTSEQ_VK_NO_COOPMAT"

// cooperative is the shape of the matrices that a subgroup multiplies at once
// in mixed precision, operands of 16 bits and sums of 32.
type cooperative struct {
	M, N, K  uint32
	bfloat16 bool
}

// cooperativeFeatures are what a device offers of what the shaders need.
type cooperativeFeatures struct{ matrices, memoryModel, float16, bfloat16 bool }

// chooseCooperative picks one of the shapes that a device lists: bfloat16 before
// float16, whose range gradients leave, and of those the largest. The error says
// why there is none.
func chooseCooperative(shapes []CooperativeShape, f cooperativeFeatures) (*cooperative, error) {
	switch {
	case os.Getenv(noCooperative) == "1":
		return nil, errors.New(noCooperative + "=1 turns cooperative matrices off")
	case !f.matrices:
		return nil, errors.New("it has no cooperative matrices (" + cooperativeExtension + ")")
	case !f.memoryModel || !f.float16:
		return nil, errors.New("it lacks vulkanMemoryModel, vulkanMemoryModelDeviceScope or shaderFloat16, which products of cooperative matrices need")
	}
	var best *cooperative
	for _, s := range shapes {
		c := &cooperative{M: uint32(s.M), N: uint32(s.N), K: uint32(s.K), bfloat16: s.A == "bfloat16"}
		half := s.A == "float16" || c.bfloat16 && f.bfloat16
		if half && s.B == s.A && s.C == "float32" && s.Result == "float32" && c.fits() && (best == nil || c.before(best)) {
			best = c
		}
	}
	if best == nil {
		return nil, fmt.Errorf("of its %d kinds of cooperative matrices (sftseq devices lists them) none has 16-bit operands, float32 sums and a size that divides the tiles of products", len(shapes))
	}
	return best, nil
}

// fits says that tiles are made of whole matrices, and matrices of whole quads.
func (c *cooperative) fits() bool {
	divides := func(n, of uint32) bool { return n >= 4 && of%n == 0 }
	return divides(c.M, 16) && divides(c.N, 16) && divides(c.K, 32)
}

// String is what computes products, such as "mixed float16 16×16×16".
func (c *cooperative) String() string {
	half := "float16"
	if c.bfloat16 {
		half = "bfloat16"
	}
	return fmt.Sprintf("mixed %s %d×%d×%d", half, c.M, c.N, c.K)
}

func (c *cooperative) before(d *cooperative) bool {
	if c.bfloat16 != d.bfloat16 {
		return c.bfloat16
	}
	return c.M*c.N*c.K > d.M*d.N*d.K
}
