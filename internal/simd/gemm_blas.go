package simd

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

var productsGo = Products{}

// blasRows and blasCols limit the size of a call. gonum distributes larger calls over goroutines,
// regardless of the device's number of threads.
const blasRows, blasCols = 64, 3 * 64

// mulBLAS is Mul without assembly. It computes the product for each block of the summed
// index and adds it to the total.
func mulBLAS(c, a Matrix, b Packed, init Matrix, m int) {
	var part [blasRows * blasCols]float32
	for i := 0; i < m; i += blasRows {
		rows := min(blasRows, m-i)
		from := init
		if init.Data != nil {
			from = init.from(i)
		}
		copyInit(c.from(i), from, rows, b.N)
		for j := 0; j < b.N; j += blasCols {
			cols := min(blasCols, b.N-j)
			for k0 := 0; k0 < b.K; k0 += kBlock {
				k := min(kBlock, b.K-k0)
				trans, left := leftFactor(Matrix{a.Data[i*a.Row+k0*a.Col:], a.Row, a.Col}, rows, k)
				blas32.Gemm(trans, blas.NoTrans, 1, left,
					blas32.General{Rows: k, Cols: cols, Stride: b.Row, Data: b.Data[k0*b.Row+j:]}, 0,
					blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: part[:rows*cols]})
				for r := range rows {
					to := c.Data[(i+r)*c.Row+j:][:cols]
					for l, v := range part[r*cols:][:cols] {
						to[l] += v
					}
				}
			}
		}
	}
}

// leftFactor returns the m×k matrix a as BLAS arguments.
func leftFactor(a Matrix, m, k int) (blas.Transpose, blas32.General) {
	if a.Col != 1 {
		return blas.Trans, blas32.General{Rows: k, Cols: m, Stride: a.Col, Data: a.Data}
	}
	return blas.NoTrans, blas32.General{Rows: m, Cols: k, Stride: max(a.Row, k), Data: a.Data}
}
