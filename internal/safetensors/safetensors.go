// Package safetensors reads and writes files of float32 and int32 tensors in the
// safetensors format (https://github.com/huggingface/safetensors, "Format"):
//
//	8 bytes   N, the header's length, little-endian
//	N bytes   a JSON object, maybe padded with spaces: per tensor
//	          "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}
//	          F32, or I32 where the reader allows it,
//	          and optionally "__metadata__": {"key": "value", …}
//	the rest  the data, little-endian, row-major; offsets count from its start
//	          and cover it without gap or overlap
//
// Files are untrusted. The error for a malformed file names the file, the tensor if one is at fault,
// and the defect. A size in the file is checked against the file's size before memory of this size is
// allocated.
package safetensors

import (
	"fmt"
	"math"
)

// Tensor is a named array. Data or Ints holds its numbers in row-major order; their number is the
// product of Shape. An empty Shape means a single number.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
	Ints  []int32 // replaces Data if Type is I32
	Type  string  // F32 or "", or I32
}

// Types of tensors.
const (
	F32 = "F32"
	I32 = "I32"
)

const (
	metadataKey = "__metadata__"
	// maxHeader is the limit of the format's reference implementation, in bytes. Headers of this
	// project's files have a few kilobytes.
	maxHeader = 100_000_000
	// maxDims prevents a small header from expanding to a much larger list of dimensions.
	maxDims = 8
)

// elements returns the product of the dimensions. It returns an error if there are too many
// dimensions, one is negative, or the number of bytes overflows an int64.
func elements(shape []int) (int64, error) {
	if len(shape) > maxDims {
		return 0, fmt.Errorf("shape: expected at most %d dimensions, found %d", maxDims, len(shape))
	}
	product, empty := int64(1), false // product of the dimensions other than 0
	for _, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("shape %v: negative dimension", shape)
		}
		if n == 0 {
			empty = true // the other dimensions are still checked
			continue
		}
		if product > math.MaxInt64/4/int64(n) {
			return 0, fmt.Errorf("shape %v: too many elements", shape)
		}
		product *= int64(n)
	}
	if empty {
		return 0, nil
	}
	return product, nil
}

// CheckFinite returns an error that names the tensor and the index of the first NaN or infinity.
func CheckFinite(tensors []Tensor) error {
	for _, t := range tensors {
		for i, x := range t.Data {
			if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
				return fmt.Errorf("tensor %q: expected finite numbers, found %v at index %d of shape %v", t.Name, x, i,
					t.Shape)
			}
		}
	}
	return nil
}
