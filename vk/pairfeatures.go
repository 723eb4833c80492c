//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(pairFeatures), kernel(pairFeaturesBackward)) }

func pairFeatures(r *recorder, k tensor.PairFeatures) {
	r.dispatch(pairs(k.Y, k.X).elements("pairfeatures", write(k.Y), read(k.X)))
}

func pairFeaturesBackward(r *recorder, k tensor.PairFeaturesBackward) {
	r.dispatch(pairs(k.DY, k.X).elements("pairfeatures_backward", write(k.DX), read(k.DY), read(k.X)))
}

// pairs returns an extent with all rows of joined and the width of x. One block is enough, because joined
// has only one row per pair.
func pairs(joined, x *tensor.Tensor) extent { return extent{joined, 0, joined.Shape[0], x.Width()} }
