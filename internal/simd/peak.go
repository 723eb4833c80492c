package simd

// Peaks holds loops that measure the peak rates of the arithmetic units and of the memory. Each function
// returns the number of operations or bytes of the call.
type Peaks struct {
	// FMA runs n iterations of independent multiply-adds. The multiply-add of a float32 counts as two
	// operations.
	FMA func(n int) int
	// MaxAdd runs n iterations of maxima that are added to sums, the inner step of maxout scores. The
	// maximum and the addition count as one operation each.
	MaxAdd func(n int) int
	// Read sums x and returns the number of bytes read. Copy copies len(y) elements of x to y and
	// returns the number of bytes read and written. At all levels, Copy uses Go's built-in copy.
	Read func(x []float32) int
	Copy func(y, x []float32) int
}

// peakOperations is the number of multiply-adds, or of maxima with an addition, in an iteration.
const peakOperations = 12

// peaks returns Peaks for loops over registers of width float32s.
func peaks(width int, fma, maxAdd func(n int), read func([]float32) float32) Peaks {
	return Peaks{
		FMA:    func(n int) int { fma(n); return 2 * peakOperations * width * n },
		MaxAdd: func(n int) int { maxAdd(n); return 2 * peakOperations * width * n },
		Read:   func(x []float32) int { read(x); return 4 * len(x) },
		Copy:   func(y, x []float32) int { return 8 * copy(y, x[:len(y)]) },
	}
}

var peaksGo = peaks(1, fmaGo, maxAddGo, readGo)

// peakSink prevents the compiler from removing the loops.
var peakSink float32

func fmaGo(n int) {
	a := peakSink
	var s0, s1, s2, s3 float32
	for range n * peakOperations / 4 {
		s0 += float32(a * a)
		s1 += float32(a * a)
		s2 += float32(a * a)
		s3 += float32(a * a)
		a = -a // otherwise the compiler would multiply only once
	}
	peakSink = s0 + s1 + s2 + s3
}

func maxAddGo(n int) {
	a := peakSink
	var s0, s1, s2, s3 float32
	for range n * peakOperations / 4 {
		s0 += max(a, s1)
		s1 += max(a, s2)
		s2 += max(a, s3)
		s3 += max(a, s0)
	}
	peakSink = s0 + s1 + s2 + s3
}

func readGo(x []float32) float32 {
	var s0, s1, s2, s3 float32
	for ; len(x) >= 4; x = x[4:] {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
	}
	for _, v := range x {
		s0 += v
	}
	return s0 + s1 + (s2 + s3)
}
