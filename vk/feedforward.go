//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(feedForward)) }

// hiddenWords limits the number of words in the hidden rows of a block of more than 128 rows. Hidden
// rows of this size stay in the cache of a large device until the second product has read them.
var hiddenWords = 8 << 20

// feedForward processes blocks of rows. It alternates between two memories for hidden rows, so that
// the first product of a block runs concurrently with the second product of the previous block.
func feedForward(r *recorder, k tensor.FeedForward) {
	in, hidden, out := k.X.Width(), k.Weight1.Shape[0], k.Y.Width()
	var current, previous *tensor.Tensor
	multiplySecond := func() {}
	size := max(128, min(hiddenWords, blockWords)/max(in, hidden, out)/128*128)
	eachBlock(k.X.Shape[0], size, func(first, n int) {
		multiplySecond()
		current, previous = previous, current
		if current == nil {
			current = r.scratch(n * hidden)
		}
		h := current
		r.multiply(product{form: forward, c: h, a: rowsOf(k.X, first, n), b: k.Weight1, bias: k.Bias1,
			rows: k.X, first: first, m: n, n: hidden, k: in, gelu: true})
		multiplySecond = func() {
			r.multiply(product{form: forward, c: rowsOf(k.Y, first, n), a: h, b: k.Weight2, bias: k.Bias2,
				rows: k.X, first: first, m: n, n: out, k: hidden})
		}
	})
	multiplySecond()
}
