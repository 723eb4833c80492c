//go:build cgo

package vk

import (
	"errors"
	"fmt"
	"os"
)

// Extensions for mixed precision. Products in bfloat16 need both; products in float16 need only the
// first.
const (
	cooperativeExtension = "VK_KHR_cooperative_matrix"
	bfloat16Extension    = "VK_KHR_shader_bfloat16"
)

// noCooperative is the environment variable whose value 1 turns off cooperative matrices and thereby
// mixed precision.
const noCooperative = "SFTSEQ_VK_NO_COOPMAT"

// mixed holds the cooperative matrices for mixed precision. Float16 has eleven bits of precision
// and bfloat16 eight, but gradients may exceed the range of float16. If the device supports both, the
// forward pass uses float16 and the backward pass bfloat16.
type mixed struct{ forward, backward cooperative }

// shape returns the shape of the matrices for a product of form f.
func (m *mixed) shape(f form) cooperative {
	if f == forward {
		return m.forward
	}
	return m.backward
}

// String describes the matrices, such as "mixed float16 16×16×16, backward bfloat16 16×16×16".
func (m *mixed) String() string {
	if m.forward == m.backward {
		return "mixed " + m.forward.String()
	}
	return "mixed " + m.forward.String() + ", backward " + m.backward.String()
}

// bfloat16 reports whether any product has bfloat16 operands.
func (m *mixed) bfloat16() bool { return m.forward.bfloat16 || m.backward.bfloat16 }

// cooperative is the shape of the matrices that a subgroup multiplies as one operation in mixed
// precision, with operands of 16 bits and sums of 32 bits.
type cooperative struct {
	M, N, K  uint32
	bfloat16 bool
}

// cooperativeFeatures are the device features that the shaders need.
type cooperativeFeatures struct{ matrices, memoryModel, float16, bfloat16 bool }

// chooseMixed returns the largest suitable shape of each type among the shapes that a device lists.
// If only one type has a suitable shape, both passes use it. If no shape is suitable, the error
// states the reason.
func chooseMixed(shapes []CooperativeShape, f cooperativeFeatures) (*mixed, error) {
	switch {
	case os.Getenv(noCooperative) == "1":
		return nil, errors.New(noCooperative + "=1 turns cooperative matrices off")
	case !f.matrices:
		return nil, errors.New("it has no cooperative matrices (" + cooperativeExtension + ")")
	case !f.memoryModel || !f.float16:
		return nil, errors.New("it does not support all of vulkanMemoryModel, vulkanMemoryModelDeviceScope and shaderFloat16")
	}
	best := map[bool]cooperative{} // largest shape; the key is whether it uses bfloat16
	for _, s := range shapes {
		c := cooperative{M: uint32(s.M), N: uint32(s.N), K: uint32(s.K), bfloat16: s.A == "bfloat16"}
		is16Bit := s.A == "float16" || c.bfloat16 && f.bfloat16
		if is16Bit && s.B == s.A && s.C == "float32" && s.Result == "float32" && c.dividesTiles() &&
			c.size() > best[c.bfloat16].size() {
			best[c.bfloat16] = c
		}
	}
	precise, wide := best[false], best[true]
	switch {
	case precise.size() == 0 && wide.size() == 0:
		return nil, fmt.Errorf("none of its %d kinds of cooperative matrices has 16-bit operands, float32 sums and a size "+
			"that divides the tiles (sftseq devices lists them)", len(shapes))
	case precise.size() == 0:
		precise = wide
	case wide.size() == 0:
		wide = precise
	}
	return &mixed{forward: precise, backward: wide}, nil
}

func (c cooperative) size() uint32 { return c.M * c.N * c.K }

// dividesTiles reports whether the tiles of products consist of whole matrices, and the matrices of whole
// quads.
func (c cooperative) dividesTiles() bool {
	divides := func(n, size uint32) bool { return n >= 4 && size%n == 0 }
	return divides(c.M, 16) && divides(c.N, 16) && divides(c.K, 32)
}

// String returns a description such as "float16 16×16×16".
func (c cooperative) String() string {
	half := "float16"
	if c.bfloat16 {
		half = "bfloat16"
	}
	return fmt.Sprintf("%s %d×%d×%d", half, c.M, c.N, c.K)
}
