package simd

// Peaks are what the arithmetic units and the memory can do: loops that do
// nothing else. They return how many operations or bytes a call was.
type Peaks struct {
	// FMA does n turns of independent multiplications with additions, which
	// count as two each.
	FMA func(n int) int
	// MaxAdd does n turns of maxima that are added to sums, the inner step of
	// the maxout scores; both count.
	MaxAdd func(n int) int
	// Read adds x up. Copy is y = x for len(y) elements, in all levels Go's own,
	// which has the best instructions for any length. They return bytes, Copy
	// those read and those written.
	Read func(x []float32) int
	Copy func(y, x []float32) int
}

// peakTurn is how many independent ones a turn of the loops has.
const peakTurn = 12

// peaks makes Peaks of loops over registers of some width.
func peaks(width int, fma, maxAdd func(n int), read func([]float32) float32) Peaks {
	return Peaks{
		FMA:    func(n int) int { fma(n); return 2 * peakTurn * width * n },
		MaxAdd: func(n int) int { maxAdd(n); return 2 * peakTurn * width * n },
		Read:   func(x []float32) int { read(x); return 4 * len(x) },
		Copy:   func(y, x []float32) int { return 8 * copy(y, x[:len(y)]) },
	}
}

var peaksGo = peaks(1, fmaGo, maxAddGo, readGo)

// peakSink keeps the compiler from leaving the loops out.
var peakSink float32

func fmaGo(n int) {
	a := peakSink
	var s0, s1, s2, s3 float32
	for range n * peakTurn / 4 {
		s0 += float32(a * a)
		s1 += float32(a * a)
		s2 += float32(a * a)
		s3 += float32(a * a)
		a = -a // or the compiler multiplies once
	}
	peakSink = s0 + s1 + s2 + s3
}

func maxAddGo(n int) {
	a := peakSink
	var s0, s1, s2, s3 float32
	for range n * peakTurn / 4 {
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
