//go:build cgo

package vk

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/tensor"
)

// TestFeedForwardBlocks checks that the result is bitwise identical for one block of rows and for
// several.
func TestFeedForwardBlocks(t *testing.T) {
	d := open(t, Options{})
	defer func(n int) { hiddenWords = n }(hiddenWords)
	const capacity, d1, d2 = 800, 8, 24
	for _, rows := range []int{100, 640, 799} {
		var results [][]uint32
		for _, words := range []int{hiddenWords, 128 * d2} {
			hiddenWords = words
			results = append(results,
				runKernel(t, d, rows, func(in, out func(tensor.Axis, ...int) *tensor.Tensor) tensor.Kernel {
					return tensor.FeedForward{Y: out(tensor.Tokens, capacity, d1), X: in(tensor.Tokens, capacity, d1),
						Weight1: in(tensor.Fixed, d2, d1), Bias1: in(tensor.Fixed, d2),
						Weight2: in(tensor.Fixed, d1, d2),
						Bias2:   in(tensor.Fixed, d1)}
				})[0])
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("%d rows: the result of seven blocks differs from the result of one", rows)
		}
	}
}
