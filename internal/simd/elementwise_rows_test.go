package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/sftseq/sftseq/internal/philox"
)

// rowLengths returns a function from n to the lengths of slices. Each character of shape stands for one
// slice: testRows rows of n elements (m), a single row (r), or one element per row (c).
func rowLengths(shape string) func(n int) []int {
	return func(n int) []int {
		var lengths []int
		for _, s := range shape {
			lengths = append(lengths, map[rune]int{'m': testRows * n, 'r': n, 'c': testRows}[s])
		}
		return lengths
	}
}

const testEps = 1e-5

var rowCases = []kernelCase{
	{"LayerNorm", rowLengths("mccmrr"), 3, func(k *Kernels, x [][]float32) {
		if len(x[4]) > 0 {
			k.LayerNorm(x[0], x[1], x[2], x[3], x[4], x[5], testEps)
		}
	}, func(x [][]float64) {
		d := len(x[4])
		for i := 0; i < testRows && d > 0; i++ {
			row := x[3][i*d : (i+1)*d]
			var m, q float64
			for _, v := range row {
				m += v / float64(d)
			}
			for _, v := range row {
				q += (v - m) * (v - m) / float64(d)
			}
			r := 1 / math.Sqrt(q+testEps)
			x[1][i], x[2][i] = m, r
			for c, v := range row {
				x[0][i*d+c] = x[4][c]*(v-m)*r + x[5][c]
			}
		}
	}, 1e-4, func(x [][]float32) { // a single element has no variance, two close elements nearly none
		for i := range x[3] {
			x[3][i] += 8 * float32(i&1)
		}
	}},
	{"LayerNormBackward", rowLengths("mrrmmccr"), 3, func(k *Kernels, x [][]float32) {
		k.LayerNormBackward(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
	}, func(x [][]float64) {
		clear(x[0])
		refNormBackward(x)
	}, 1e-5, smallNorm},
	{"LayerNormBackwardAdd", rowLengths("mrrmmccr"), 3, func(k *Kernels, x [][]float32) {
		k.LayerNormBackwardAdd(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
	}, refNormBackward, 1e-5, smallNorm},
	{"RowDot", rowLengths("cmr"), 1, func(k *Kernels, x [][]float32) { k.RowDot(x[0], x[1], x[2], 0.5) },
		func(x [][]float64) {
			for i := range x[0] {
				x[0][i] = 0.5
				for c, w := range x[2] {
					x[0][i] += x[1][i*len(x[2])+c] * w
				}
			}
		}, 2e-5, nil},
	{"AddOuter", rowLengths("mcr"), 1, func(k *Kernels, x [][]float32) { k.AddOuter(x[0], x[1], x[2]) },
		func(x [][]float64) {
			for i, a := range x[1] {
				for c, w := range x[2] {
					x[0][i*len(x[2])+c] += a * w
				}
			}
		}, 1e-6, nil},
	{"WeightedSum", rowLengths("rcm"), 1, func(k *Kernels, x [][]float32) { k.WeightedSum(x[0], x[1], x[2]) },
		func(x [][]float64) {
			clear(x[0])
			for i, a := range x[1] {
				for c := range x[0] {
					x[0][c] += a * x[2][i*len(x[0])+c]
				}
			}
		}, 3e-6, nil},
	{"AddRows", rowLengths("mm"), 1, func(k *Kernels, x [][]float32) {
		n := len(x[0]) / testRows
		k.AddRows(x[0], x[1], []int32{3, 0, 3, 4, 3}, n, n)
	}, func(x [][]float64) {
		n := len(x[0]) / testRows
		for i, at := range []int{3, 0, 3, 4, 3} {
			for c := range n {
				x[0][at*n+c] += x[1][i*n+c]
			}
		}
	}, 1e-6, nil},
	{"PoolBackward", rowLengths("mccmrr"), 2, func(k *Kernels, x [][]float32) {
		k.PoolBackward(x[0], x[1], x[2], x[3], x[4], x[5])
	}, func(x [][]float64) {
		d := len(x[4])
		for i, a := range x[2] {
			x[1][i] = 0
			for c, g := range x[4] {
				x[0][i*d+c] = a * g
				x[1][i] += a * g * (x[3][i*d+c] - x[5][c])
			}
		}
	}, 3e-5, nil},
	{"Convolution", convolutionLengths("y", "x", "w", "b"), 1, func(k *Kernels, x [][]float32) {
		k.Convolution(x[0], x[1], x[2], x[3], testStep*len(x[3]))
	}, func(x [][]float64) {
		d := len(x[3])
		for i := range x[0] {
			x[0][i] = x[3][i%d]
			for t := range testTaps {
				x[0][i] += x[2][t*d+i%d] * x[1][i+t*testStep*d]
			}
		}
	}, 1e-6, nil},
	{"ConvolutionBackward", convolutionLengths("y", "w", "x", "y", "w"), 2, func(k *Kernels, x [][]float32) {
		d := len(x[1]) / testTaps
		k.ConvolutionBackward(x[0], x[1], x[2], x[3], x[4], d, testStep*d)
	}, func(x [][]float64) {
		d := len(x[1]) / testTaps
		for i := range x[0] {
			for t := range testTaps {
				g := x[2][i+(testTaps-1-t)*testStep*d]
				x[0][i] += x[4][t*d+i%d] * g
				x[1][t*d+i%d] += g * x[3][i]
			}
		}
	}, 5e-6, nil},
	{"Average", averageLengths("rsrss"), 2, func(k *Kernels, x [][]float32) {
		n := len(x[1]) / testStates
		k.Average(x[0], x[1], x[2], x[3], x[4], n, n, (averageRows-1)*n, -n, averageRows)
	}, func(x [][]float64) {
		n := len(x[1]) / testStates
		for i := averageRows - 1; i >= 0; i-- {
			for s := range x[1] {
				x[1][s] = x[3][s]*x[1][s] + x[2][i*n+s%n]
				x[0][i*n+s%n] += x[4][s] * x[1][s]
			}
		}
	}, 1e-5, func(x [][]float32) { decays(x[3]) }},
	{"AverageBackward", averageLengths("rSSrrss"), 3, func(k *Kernels, x [][]float32) {
		n := len(x[5]) / testStates
		k.AverageBackward(x[0], x[1], x[2], x[3], x[4], x[5], x[6], n, n, 0, n, averageRows)
	}, func(x [][]float64) {
		states := len(x[5])
		n := states / testStates
		for i := range averageRows {
			for s := range states {
				at := i*n + s%n
				x[2][states+s] = x[5][s]*x[2][states+s] + x[2][s]
				x[2][s] = x[5][s]*x[2][s] + x[3][at]
				x[0][at] += x[6][s] * x[2][s]
				x[1][s] += x[4][at] * x[2][s]
				x[1][states+s] += x[4][at] * x[2][states+s]
			}
		}
	}, 1e-5, func(x [][]float32) { decays(x[5]) }},
}

// decays moves numbers into the range of decays, 0 … 1.
func decays(x []float32) {
	for i, v := range x {
		x[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

// testStates is large enough for a group of states in registers and a remainder.
const testStates, averageRows = 5, 7

// averageLengths returns a function from n to the lengths of an average's slices: rows (r), states
// (s), and pairs of states (S).
func averageLengths(shape string) func(n int) []int {
	return func(n int) []int {
		var lengths []int
		for _, s := range shape {
			lengths = append(lengths, n*map[rune]int{'r': averageRows, 's': testStates, 'S': 2 * testStates}[s])
		}
		return lengths
	}
}

// Parameters of the convolution: testStep is in rows; convolutionRows is two tiles and a remainder.
const testTaps, testStep, convolutionRows = 3, 2, 10

// convolutionLengths returns a function from n to the lengths of a convolution's slices: results (y),
// operands (x), weights (w) and bias (b).
func convolutionLengths(shape ...string) func(n int) []int {
	return func(n int) []int {
		var lengths []int
		for _, s := range shape {
			rows := map[string]int{"y": convolutionRows, "x": convolutionRows + (testTaps-1)*testStep,
				"w": testTaps, "b": 1}[s]
			lengths = append(lengths, rows*n)
		}
		return lengths
	}
}

// smallNorm makes 1/σ small, because the rounding errors of x̂·mean(g·x̂) grow with 1/σ².
func smallNorm(x [][]float32) {
	for i := range x[6] {
		x[6][i] /= 16
	}
}

func refNormBackward(x [][]float64) {
	d := len(x[7])
	for i, m := range x[5] {
		rs := x[6][i]
		var sum, dot float64
		for c, gain := range x[7] {
			g, h := x[3][i*d+c], (x[4][i*d+c]-m)*rs
			x[1][c] += g * h
			x[2][c] += g
			sum += gain * g / float64(d)
			dot += gain * g * h / float64(d)
		}
		for c, gain := range x[7] {
			h := (x[4][i*d+c] - m) * rs
			x[0][i*d+c] += rs * (gain*x[3][i*d+c] - sum - h*dot)
		}
	}
}

// TestNormBackwardInPlace checks that dx may share the memory of dy in LayerNormBackward.
func TestNormBackwardInPlace(t *testing.T) {
	const d = 53
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		return x
	}
	dy, x, mean, rstd, gain := draw(testRows*d), draw(testRows*d), draw(testRows), draw(testRows), draw(d)
	for _, k := range Levels() {
		want := make([]float32, len(dy))
		k.LayerNormBackward(want, make([]float32, d), make([]float32, d), dy, x, mean, rstd, gain)
		got := slices.Clone(dy)
		k.LayerNormBackward(got, make([]float32, d), make([]float32, d), got, x, mean, rstd, gain)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the result in place differs from the result in separate memory", k.Name)
		}
	}
}

// TestEqualRows checks that RowDot, and the mean and rstd of LayerNorm, do not depend on a row's position.
func TestEqualRows(t *testing.T) {
	for _, d := range []int{1, 7, 16, 53, 128, 130} {
		x := make([]float32, testRows*d)
		for i := range x {
			x[i] = float32(math.Sin(float64(i % d)))
		}
		for _, k := range Levels() {
			y := make([]float32, testRows)
			k.RowDot(y, x, x[:d], 0.25)
			mean, rstd := make([]float32, testRows), make([]float32, testRows)
			k.LayerNorm(make([]float32, len(x)), mean, rstd, x, x[:d], x[:d], testEps)
			for i := range y {
				if y[i] != y[0] || mean[i] != mean[0] || rstd[i] != rstd[0] {
					t.Errorf("%s, d %d: row %d differs from row 0", k.Name, d, i)
				}
			}
		}
	}
}

// TestDropout compares Dropout with package philox, and checks that it writes only its result.
func TestDropout(t *testing.T) {
	ys, xs := fenced(t, 2048), fenced(t, 2048)
	for i := range xs {
		xs[i] = float32(i) + 0.1
	}
	xs[len(xs)-3] = float32(math.NaN())
	for _, k := range Levels() {
		for n := range 300 {
			for _, rate := range []float32{0, 0.1, 0.5, 0.999} {
				for _, from := range []int{0, 3, len(xs) - n} {
					seed := rand.Uint64()
					counter := philox.Counter(rand.Uint32(), 1, 5, 7, rand.Uint32(), rand.Uint32())
					key := [2]uint32{uint32(seed), uint32(seed >> 32)}
					for i := range ys {
						ys[i] = untouched
					}
					y, x := ys[from:from+n], xs[from:from+n]
					before := counter
					k.Dropout(y, x, &counter, &key, DropoutThreshold(rate), 1.25)
					if counter != before {
						t.Fatal("Dropout changed the counter")
					}
					for i, got := range y {
						c := counter
						c[0] += uint32(i >> 2)
						var want float32
						if philox.Uniform(philox.Words(seed, c)[i&3]) >= rate {
							want = 1.25 * x[i]
						}
						if got != want && got == got {
							t.Fatalf("%s, n %d, rate %v: element %d is %v, want %v", k.Name, n, rate, i, got, want)
						}
					}
					for i, v := range ys {
						if (i < from || i >= from+n) && v != untouched {
							t.Fatalf("%s, n %d, rate %v: element %d, outside the result, is %v, want %v", k.Name,
								n, rate, i-from, v, untouched)
						}
					}
				}
			}
		}
	}
}

// TestDraw checks that Draw computes the same words as package philox, also in place.
func TestDraw(t *testing.T) {
	memory := wordsOf(fenced(t, 1024))
	for _, k := range Levels() {
		for n := range 200 {
			seed := rand.Uint64()
			counter := philox.Counter(rand.Uint32(), 1, 5, 7, rand.Uint32(), rand.Uint32())
			before, key := counter, [2]uint32{uint32(seed), uint32(seed >> 32)}
			positions := make([]int32, n)
			for i := range positions {
				positions[i] = int32(rand.Uint32())
			}
			for i := range memory {
				memory[i] = math.Float32bits(untouched)
			}
			words := memory[len(memory)-n:]
			if n%2 == 1 { // in place, away from the guard page
				words = memory[5:][:n]
				for i, position := range positions {
					words[i] = uint32(position)
				}
				k.Draw(words, &counter, &key, indicesOf(words))
			} else {
				k.Draw(words, &counter, &key, positions)
			}
			if counter != before {
				t.Fatal("Draw changed the counter")
			}
			for i, position := range positions {
				c := counter
				c[0] = uint32(position)
				if want := philox.Words(seed, c)[0]; words[i] != want {
					t.Fatalf("%s, n %d: word %d is %#x, want %#x", k.Name, n, i, words[i], want)
				}
			}
			written := 0
			for _, w := range memory {
				if w != math.Float32bits(untouched) {
					written++
				}
			}
			if written > n {
				t.Fatalf("%s, n %d: wrote %d words, want at most n", k.Name, n, written)
			}
		}
	}
}

// TestDropoutThreshold checks that comparing integers with the threshold is equivalent to comparing the
// uniform numbers with the rate.
func TestDropoutThreshold(t *testing.T) {
	for _, rate := range []float32{0, 1e-9, 0x1p-24, 0x1p-23, 0.1, 0.25, 0.3, 0.5, 0.9, 0.99999994} {
		threshold := DropoutThreshold(rate)
		for _, m := range []uint32{0, 1, 2, threshold - 1, threshold, threshold + 1, 1<<23 - 1} {
			if m < 1<<23 && (m >= threshold) != (philox.Uniform(m<<9) >= rate) {
				t.Errorf("rate %v: the comparisons of %d differ, threshold %d", rate, m, threshold)
			}
		}
	}
}

// wordsOf returns the memory of x as words.
func wordsOf(x []float32) []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(&x[0])), len(x)) }

// indicesOf returns the memory of x as indices.
func indicesOf(x []uint32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func BenchmarkDropout(b *testing.B) {
	x := make([]float32, 64*128)
	for _, k := range Levels() {
		b.Run(k.Name, func(b *testing.B) {
			for b.Loop() {
				k.Dropout(x, x, &[4]uint32{}, &[2]uint32{}, DropoutThreshold(0.1), 1.25)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/element")
		})
	}
}

// BenchmarkPeaks reports the throughput of the loops in Peaks.
func BenchmarkPeaks(b *testing.B) {
	small, large := make([]float32, 4<<10), make([]float32, 16<<20)
	for i := range large {
		large[i] = 1 // otherwise all pages would share a page of zeros
	}
	for _, k := range Levels() {
		for _, c := range []struct {
			name string
			f    func() int
		}{
			{"FMA", func() int { return k.FMA(10_000) }}, {"MaxAdd", func() int { return k.MaxAdd(10_000) }},
			{"ReadL1", func() int { return k.Read(small) }}, {"ReadRAM", func() int { return k.Read(large) }},
			{"CopyRAM", func() int { return k.Copy(large[:8<<20], large[8<<20:]) }},
		} {
			b.Run(c.name+"/"+k.Name, func(b *testing.B) {
				total := 0
				for b.Loop() {
					total += c.f()
				}
				b.ReportMetric(float64(total)/float64(b.Elapsed().Nanoseconds()), "G/s")
			})
		}
	}
}

// TestPeaks checks that the loops in Peaks terminate and return correct counts, that Copy copies, and, on
// Linux, that Read and Copy access nothing beyond the ends of their slices.
func TestPeaks(t *testing.T) {
	for _, k := range Levels() {
		if n := k.FMA(3); n != 3*k.FMA(1) || n <= 0 {
			t.Errorf("%s: FMA(3) returned %d, want 3·FMA(1), above 0", k.Name, n)
		}
		if n := k.MaxAdd(3); n != 3*k.MaxAdd(1) || n <= 0 {
			t.Errorf("%s: MaxAdd(3) returned %d, want 3·MaxAdd(1), above 0", k.Name, n)
		}
		for n := range 300 {
			x, y := fenced(t, n+1), fenced(t, n+1)
			x, y = x[len(x)-n:], y[len(y)-n:]
			for i := range x {
				x[i] = float32(i)
			}
			if read, copied := k.Read(x), k.Copy(y, x); read != 4*n || copied != 8*n || !slices.Equal(x, y) {
				t.Fatalf("%s: %d elements: Read returned %d, Copy %d and equal elements: %v; want %d, %d, true", k.Name,
					n, read, copied, slices.Equal(x, y), 4*n, 8*n)
			}
		}
	}
}
