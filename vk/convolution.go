//go:build cgo

package vk

import "github.com/sftseq/sftseq/internal/tensor"

func init() { register(kernel(convolution), kernel(convolutionBackward)) }

// convolutionRows is the number of rows per invocation in convolution.glsl. convolutionTaps is the
// number of taps per invocation in convolution_backward_parameters.comp.
const convolutionRows, convolutionTaps = 4, 8

// windowRows is the alignment of a window's first row. For every width, this number of rows occupies a
// multiple of the operand alignment.
const windowRows = grain / 4

// taps is a range of a convolution's taps for a block of rows, with the window of rows that these
// taps read.
type taps struct {
	from, to int
	window   *tensor.Tensor
	begin    int // first row of the window
}

// eachTapRange splits a convolution into blocks of rows of x, and its taps into ranges of at most maxTaps. The
// ranges are shorter if a device cannot bind all rows that the taps of a block read. The argument
// direction is 1 in the forward pass and −1 in the backward pass, where the taps have the opposite offsets.
func eachTapRange(x *tensor.Tensor, tapCount, maxTaps, dilation, direction int, f func(e extent, t taps)) {
	rows, width := x.Shape[0], x.Width()
	size := blockRows(width, 2*float64(tapCount*width))
	block, reach := size, tapCount/2
	if rows > size { // leave space for the neighbours that the taps read
		block = max(128, size/2/128*128)
		maxTaps = max(1, min(maxTaps, 1+(size-block-windowRows)/dilation))
	}
	eachBlock(rows, block, func(first, n int) {
		e := extent{x, first, n, width}
		eachBlock(tapCount, maxTaps, func(from, m int) {
			lo, hi := (from-reach)*dilation, (from+m-1-reach)*dilation
			if direction < 0 {
				lo, hi = -hi, -lo
			}
			// Taps that read no row must still bind a row. The window begins at a multiple of the
			// operand alignment.
			begin := min(max(0, first+lo), rows-1) / windowRows * windowRows
			end := max(begin+1, min(rows, first+n+hi))
			f(e, taps{from, from + m, rowsOf(x, begin, end-begin), begin})
		})
	})
}

// convolve returns a dispatch of a shader that includes convolution.glsl and computes sums over
// the taps from the window's rows.
func (e extent) convolve(shader string, t taps, dilation, reach int, result operand, weight *tensor.Tensor,
	batch *tensor.Batch, more ...operand) dispatch {
	return dispatch{shader: shader, groups: blocks(blocks(e.n, convolutionRows)*e.width, 256),
		push: e.push(uint32(dilation), uint32(reach), uint32(t.from), uint32(t.to), uint32(t.begin)),
		operands: append([]operand{result, read(t.window), read(weight), read(e.slice(batch.Sequence)),
			read(batch.Offset)}, more...)}
}

func convolution(r *recorder, k tensor.Convolution) {
	count := k.Weight.Shape[0]
	eachTapRange(k.X, count, count, k.Dilation, 1, func(e extent, t taps) {
		y, z := update(e.slice(k.Y)), write(nil)
		if t.from == 0 {
			y = write(e.slice(k.Y))
		}
		if k.Z != nil {
			z = write(e.slice(k.Z))
		}
		r.dispatch(e.convolve("convolution", t, k.Dilation, count/2, y, k.Weight, k.Batch,
			read(k.Bias), read(e.slice(k.A)), z).
			withPush(boolWord(t.from == 0), boolWord(t.to == count), boolWord(k.Z != nil)))
	})
}

func convolutionBackward(r *recorder, k tensor.ConvolutionBackward) {
	count, d := k.Weight.Shape[0], k.X.Width()
	eachTapRange(k.DZ, count, count, k.Dilation, -1, func(e extent, t taps) {
		dx, assigns := update(e.slice(k.DX)), t.from == 0 && !k.Accumulate
		if assigns {
			dx = write(e.slice(k.DX))
		}
		r.dispatch(e.convolve("convolution_backward", t, k.Dilation, count/2, dx, k.Weight, k.Batch).
			withPush(boolWord(assigns)))
	})
	n := pieces(k.X.Shape[0])
	sums := r.scratch(n * count * d)
	eachTapRange(k.DZ, count, convolutionTaps, k.Dilation, -1, func(e extent, t taps) {
		r.dispatch(e.columns("convolution_backward_parameters", n, update(sums), read(e.slice(k.X)), read(t.window),
			read(e.slice(k.Batch.Sequence)), read(k.Batch.Offset)).
			withPush(uint32(k.Dilation), uint32(count), uint32(t.from), uint32(t.to), uint32(t.begin)))
	})
	r.sumParts(k.DWeight, sums, count*d, n, assign)
	parts := chunks(k.DZ.Shape[0])
	r.sumInParts(k.DBias, parts, func(db *tensor.Tensor) { r.columnSums(db, k.DZ, parts) })
}
