package simd

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

var productsGo = Products{}

// blasRows bounds a call: gonum gives a larger one to goroutines of its own,
// which the device's number of threads would not bound.
const blasRows = 64

// mulBLAS is Mul on every processor that has no assembly here.
func mulBLAS(c, a Matrix, b Packed, init Matrix, m int) {
	for i := 0; i < m; i += blasRows {
		rows := min(blasRows, m-i)
		from := init
		if init.Data != nil {
			from = init.from(i)
		}
		start(c.from(i), from, rows, b.N)
		trans := blas.NoTrans
		left := blas32.General{Rows: rows, Cols: b.K, Stride: max(a.Row, b.K), Data: a.from(i).Data}
		if a.Col != 1 {
			trans = blas.Trans
			left = blas32.General{Rows: b.K, Cols: rows, Stride: a.Col, Data: a.from(i).Data}
		}
		for j := 0; j < b.N; j += 4 * blasRows {
			cols := min(4*blasRows, b.N-j)
			blas32.Gemm(trans, blas.NoTrans, 1, left,
				blas32.General{Rows: b.K, Cols: cols, Stride: b.Row, Data: b.Data[j:]}, 1,
				blas32.General{Rows: rows, Cols: cols, Stride: c.Row, Data: c.Data[i*c.Row+j:]})
		}
	}
}
