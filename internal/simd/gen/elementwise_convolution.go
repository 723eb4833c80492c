package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Depthwise convolutions process tiles of a few rows and channels. The weights of a tap are loaded
// once for all rows of a tile, and the sums stay in registers until the last tap. The sums of a
// tile are independent of each other.

// tileRows is the number of rows in a tile.
const tileRows = 4

// convolutions emits the forward and the backward pass.
func convolutions(v isa) {
	convolution(v)
	convolutionBackward(v)
}

// tiles emits body for n rows of d channels: first for tiles of tileRows rows, then for single rows. wide is
// the number of vectors of channels that body processes at a time. After the channels of a tile or row,
// tiles emits next, which advances the pointers.
func (v isa) tiles(n, d Register, wide int, body func(label string, s span, height int), next func(height int)) {
	for _, height := range []int{tileRows, 1} {
		label := fmt.Sprintf("rows%d", height)
		if height > 1 {
			SUBQ(U8(height), n)
			JLT(LabelRef(label + "_done"))
		} else {
			TESTQ(n, n)
			JLE(LabelRef(label + "_done"))
		}
		Label(label)
		part := 0
		v.sweep(label, d, wide, func(s span) {
			part++
			body(fmt.Sprintf("%s_taps%d", label, part), s, height)
		})
		next(height)
		if height > 1 {
			SUBQ(U8(height), n)
			JGE(LabelRef(label))
			Label(label + "_done")
			ADDQ(U8(height), n)
		} else {
			DECQ(n)
			JNZ(LabelRef(label))
			Label(label + "_done")
		}
	}
}

// tileRow returns the address of vector j of row r of a tile.
func (v isa) tileRow(p, stride, stride3 Register, r, j int) Mem {
	m := Mem{Base: p, Disp: j * v.bytes()}
	switch r {
	case 1:
		m.Index, m.Scale = stride, 1
	case 2:
		m.Index, m.Scale = stride, 2
	case 3:
		m.Index, m.Scale = stride3, 1
	}
	return m
}

// strides returns the distances in bytes between adjacent rows of d float32s and between rows that
// are three apart.
func strides(d Register) (stride, stride3 Register) {
	stride, stride3 = GP64(), GP64()
	MOVQ(d, stride)
	SHLQ(U8(2), stride)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	return stride, stride3
}

// skip emits code that advances pointers by the rows of a tile.
func skip(stride Register, height int, p ...Register) {
	for _, p := range p {
		if height == 1 {
			ADDQ(stride, p)
		} else {
			LEAQ(Mem{Base: p, Index: stride, Scale: tileRows}, p)
		}
	}
}

func convolution(v isa) {
	v.text("convolution", "func(y, x, weight, bias []float32, rows, taps, step int)",
		"convolution computes yᵢ = bias + Σₜ weightₜ∘x[i·d + t·step …], d = len(bias), for the rows yᵢ; the step is in bytes.")
	y, x, weight, d := slice("y"), slice("x"), slice("weight"), length("bias")
	n := Load(Param("rows"), GP64())
	stride, stride3 := strides(d)
	v.tiles(n, d, 2, func(label string, s span, height int) {
		bias, p, w, left := slice("bias"), GP64(), GP64(), Load(Param("taps"), GP64())
		sums := make([][]VecVirtual, height)
		sums[0] = s.load(bias)
		for r := 1; r < height; r++ {
			sums[r] = v.vecs(s.n)
			for j := range sums[r] {
				VMOVAPS(sums[0][j], sums[r][j])
			}
		}
		LEAQ(Mem{Base: x, Index: s.i, Scale: 4}, p)
		LEAQ(Mem{Base: weight, Index: s.i, Scale: 4}, w)
		Label(label)
		for j := range s.n {
			c := v.vec()
			v.load(Mem{Base: w, Disp: j * v.bytes()}, s.mask, c)
			for r := range height {
				from := v.tileRow(p, stride, stride3, r, j)
				if s.mask == nil {
					VFMADD231PS(from, c, sums[r][j])
					continue
				}
				u := v.vec()
				v.load(from, s.mask, u)
				VFMADD231PS(u, c, sums[r][j])
			}
		}
		ADDQ(stride, w)
		ADDQ(argument("step"), p)
		DECQ(left)
		JNZ(LabelRef(label))
		LEAQ(Mem{Base: y, Index: s.i, Scale: 4}, p)
		for r := range height {
			for j := range s.n {
				v.store(sums[r][j], s.mask, v.tileRow(p, stride, stride3, r, j))
			}
		}
	}, func(height int) { skip(stride, height, y, x) })
	end()
}

func convolutionBackward(v isa) {
	v.text("convolutionBackward", "func(dx, dweight, dy, x, weight []float32, d, rows, taps, step int)",
		"convolutionBackward adds Σₜ weightₜ∘dy[i·d − t·step …] to the rows dxᵢ, and dyᵢ₋ₜ∘xᵢ to dweightₜ; step is in bytes, and row i of dy is taps − 1 steps after the start of dy.")
	dx, dy, x, weight := slice("dx"), slice("dy"), slice("x"), slice("weight")
	gradient := slice("dweight") // offset of dweight from weight
	SUBQ(weight, gradient)
	d, n := Load(Param("d"), GP64()), Load(Param("rows"), GP64())
	stride, stride3 := strides(d)
	first := Load(Param("taps"), GP64()) // offset of the first row that the taps read
	DECQ(first)
	IMULQ(argument("step"), first)
	ADDQ(first, dy)
	v.tiles(n, d, v.width/8, func(label string, s span, height int) {
		p, w, left := GP64(), GP64(), GP64()
		rows, sums := make([][]VecVirtual, height), make([][]VecVirtual, height)
		read := func(from Register, to [][]VecVirtual) {
			LEAQ(Mem{Base: from, Index: s.i, Scale: 4}, p)
			for r := range height {
				to[r] = v.vecs(s.n)
				for j := range to[r] {
					v.load(v.tileRow(p, stride, stride3, r, j), s.mask, to[r][j])
				}
			}
		}
		read(x, rows)
		read(dx, sums)
		LEAQ(Mem{Base: dy, Index: s.i, Scale: 4}, p)
		LEAQ(Mem{Base: weight, Index: s.i, Scale: 4}, w)
		MOVQ(argument("taps"), left)
		Label(label)
		for j := range s.n {
			at := Mem{Base: w, Disp: j * v.bytes()}
			to := at
			to.Index, to.Scale = gradient, 1
			c, sum, g := v.vec(), v.vec(), v.vec()
			v.load(at, s.mask, c)
			v.load(to, s.mask, sum)
			for r := range height {
				v.load(v.tileRow(p, stride, stride3, r, j), s.mask, g)
				VFMADD231PS(g, c, sums[r][j])
				VFMADD231PS(g, rows[r][j], sum)
			}
			v.store(sum, s.mask, to)
		}
		ADDQ(stride, w)
		SUBQ(argument("step"), p)
		DECQ(left)
		JNZ(LabelRef(label))
		LEAQ(Mem{Base: dx, Index: s.i, Scale: 4}, p)
		for r := range height {
			for j := range s.n {
				v.store(sums[r][j], s.mask, v.tileRow(p, stride, stride3, r, j))
			}
		}
	}, func(height int) { skip(stride, height, dx, dy, x) })
	end()
}
