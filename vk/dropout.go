//go:build cgo

package vk

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

func init() { register(kernel(dropout)) }

func dropout(r *recorder, k tensor.Dropout) {
	offsets := k.Batch.Offset
	if k.X.Rows == tensor.Sampled {
		offsets = k.Batch.SampleOffset
	}
	rows, width := k.X.Shape[0], k.X.Width()
	aligned, elements := width%4 == 0, 256 // elements is the number per workgroup
	if aligned {
		elements *= 4
	}
	eachBlock(rows, blockRows(width, 0), func(begin, n int) {
		r.dispatch(dispatch{shader: "dropout", constants: []uint32{boolWord(aligned)}, groups: blocks(n*width,
			elements),
			push: []uint32{axis(k.X), uint32(rows), uint32(begin), uint32(n), uint32(width), k.Layer, k.Stream,
				math.Float32bits(k.Rate), math.Float32bits(1 / (1 - k.Rate))},
			operands: []operand{write(rowsOf(k.Y, begin, n)), read(rowsOf(k.X, begin, n)), read(offsets),
				read(k.Batch.Example), read(k.Batch.Tower), read(k.Batch.Random)}})
	})
}
