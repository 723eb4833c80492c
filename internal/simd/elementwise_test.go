package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/fmath"
)

// kernelCase runs one kernel on float32 slices, and its definition on float64 copies of the slices. Both
// write their results to their slices.
type kernelCase struct {
	name      string
	lengths   func(n int) []int // lengths of the slices for a size n
	results   int               // number of result slices, which precede the operands
	run       func(k *Kernels, x [][]float32)
	reference func(x [][]float64)
	tolerance float64             // maximum error relative to |want| + 1
	prepare   func(x [][]float32) // adjusts the random numbers; may be nil
}

// same returns a function from n to the lengths of count slices of n elements.
func same(count int) func(n int) []int {
	return func(n int) []int { return slices.Repeat([]int{n}, count) }
}

const testRows = 5

// mapReference returns the reference of a kernel that applies f to each element.
func mapReference(f func(float64) float64) func(x [][]float64) {
	return func(x [][]float64) {
		for i, v := range x[1] {
			x[0][i] = f(v)
		}
	}
}

func refSoftplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
func refSigmoid(x float64) float64 {
	return math.Exp(math.Min(x, 0)) / (1 + math.Exp(-math.Abs(x)))
}
func refCDF(x float64) float64  { return 0.5 * math.Erfc(-x/math.Sqrt2) }
func refGELU(x float64) float64 { return x * refCDF(x) }
func refGELUGrad(x float64) float64 {
	return refCDF(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

var kernelCases = []kernelCase{
	{"Exp", same(2), 1, func(k *Kernels, x [][]float32) { k.Exp(x[0], x[1]) }, mapReference(math.Exp), 2e-7, nil},
	{"Softplus", same(2), 1, func(k *Kernels, x [][]float32) { k.Softplus(x[0], x[1]) },
		mapReference(refSoftplus), 3e-7, nil},
	{"Sigmoid", same(2), 1, func(k *Kernels, x [][]float32) { k.Sigmoid(x[0], x[1]) }, mapReference(refSigmoid), 2e-7,
		nil},
	{"GELU", same(2), 1, func(k *Kernels, x [][]float32) { k.GELU(x[0], x[1]) }, mapReference(refGELU), 3e-7, nil},
	{"GELUBackward", same(3), 1, func(k *Kernels, x [][]float32) { k.GELUBackward(x[0], x[1], x[2]) },
		func(x [][]float64) {
			for i, v := range x[2] {
				x[0][i] = x[1][i] * refGELUGrad(v)
			}
		}, 2e-6, nil},
	{"Add", same(3), 1, func(k *Kernels, x [][]float32) { k.Add(x[0], x[1], x[2]) }, func(x [][]float64) {
		for i := range x[0] {
			x[0][i] = x[1][i] + x[2][i]
		}
	}, 1e-7, nil},
	{"Add in place", same(2), 1, func(k *Kernels, x [][]float32) { k.Add(x[0], x[0], x[1]) }, func(x [][]float64) {
		for i := range x[0] {
			x[0][i] += x[1][i]
		}
	}, 1e-7, nil},
	{"AddScaled", same(3), 1, func(k *Kernels, x [][]float32) { k.AddScaled(x[0], x[1], x[2], 0.75) },
		func(x [][]float64) {
			for i := range x[0] {
				x[0][i] = x[1][i] + 0.75*x[2][i]
			}
		}, 3e-7, nil},
	{"Scale", same(2), 1, func(k *Kernels, x [][]float32) { k.Scale(x[0], x[1], 0.75) }, func(x [][]float64) {
		for i := range x[0] {
			x[0][i] = 0.75 * x[1][i]
		}
	}, 1e-7, nil},
	{"Mix", same(3), 1, func(k *Kernels, x [][]float32) { k.Mix(x[0], x[1], x[2], 0.25) }, func(x [][]float64) {
		for i := range x[0] {
			x[0][i] = 0.25*x[1][i] + 0.75*x[2][i]
		}
	}, 3e-7, nil},
	{"MixBackward", func(n int) []int { return []int{n, n, 1, n, n, n} }, 3, func(k *Kernels, x [][]float32) {
		x[2][0] = k.MixBackward(x[0], x[1], x[3], x[4], x[5], 0.25)
	}, func(x [][]float64) {
		x[2][0] = 0
		for i, g := range x[3] {
			x[0][i] += 0.25 * g
			x[1][i] += 0.75 * g
			x[2][0] += g * (x[4][i] - x[5][i])
		}
	}, 1e-5, nil},
	{"Max", func(n int) []int { return []int{1, n} }, 1, func(k *Kernels, x [][]float32) {
		x[0][0] = max(-1e30, k.Max(x[1])) // differences of infinities are undefined
	}, func(x [][]float64) {
		x[0][0] = -1e30
		for _, v := range x[1] {
			x[0][0] = max(x[0][0], v)
		}
	}, 1e-7, nil},
	{"ExpSum", func(n int) []int { return []int{1, n, n} }, 2, func(k *Kernels, x [][]float32) {
		x[0][0] = k.ExpSum(x[1], x[2], 1.5)
	}, func(x [][]float64) {
		x[0][0] = 0
		for i, v := range x[2] {
			x[1][i] = math.Exp(v - 1.5)
			x[0][0] += x[1][i]
		}
	}, 1e-6, func(x [][]float32) {
		for i, v := range x[2] {
			x[2][i] = 1.5 - 20*v*v
		}
	}},
	{"SumSquares", func(n int) []int { return []int{1, n} }, 1, func(k *Kernels, x [][]float32) {
		x[0][0] = float32(k.SumSquares(x[1]))
	}, func(x [][]float64) {
		x[0][0] = 0
		for _, v := range x[1] {
			x[0][0] += v * v
		}
	}, 1e-7, nil},
	{"AdamW", same(4), 3, func(k *Kernels, x [][]float32) {
		k.AdamW(x[0], x[1], x[2], x[3], &AdamWFactors{0.5, 0.9, 0.1, 0.99, 0.01, 2, 3, -0.125, 1e-3, 0.95})
	}, func(x [][]float64) {
		for i := range x[0] {
			g := 0.5 * x[3][i]
			x[1][i] = 0.9*x[1][i] + 0.1*g
			x[2][i] = 0.99*x[2][i] + 0.01*g*g
			x[0][i] = 0.95*x[0][i] - 0.125*2*x[1][i]/(math.Sqrt(3*x[2][i])+1e-3)
		}
	}, 3e-6, func(x [][]float32) {
		for i, v := range x[2] {
			x[2][i] = v * v
		}
	}},
}

// TestKernels checks every level against the definition and against Go, for all short lengths and
// some long lengths, next to either guard page and unaligned.
func TestKernels(t *testing.T) {
	lengths := []int{100, 255, 256, 257, 1000}
	for n := range 68 {
		lengths = append(lengths, n)
	}
	for _, k := range Levels() {
		for _, c := range append(slices.Clone(kernelCases), rowCases...) {
			t.Run(k.Name+"/"+c.name, func(t *testing.T) {
				var pool [][]float32
				for range c.lengths(0) {
					pool = append(pool, fenced(t, 16<<10))
				}
				for _, n := range lengths {
					for _, from := range []int{0, 1, 3, -1, -2} {
						c.check(t, k, pool, n, from)
					}
				}
			})
		}
	}
}

// untouched is the value of memory that a kernel must not write.
const untouched = 1234.5

// check runs the case on one slice of each memory in pool. The slices begin at index from; if from is
// negative, they end −from−1 elements before the end of the memory.
func (c kernelCase) check(t *testing.T, k *Kernels, pool [][]float32, n, from int) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(n), 1))
	var x, plain [][]float32
	var want [][]float64
	begins := make([]int, len(pool))
	for i, length := range c.lengths(n) {
		memory := pool[i]
		begins[i] = from
		if from < 0 {
			begins[i] = len(memory) + from + 1 - length
		}
		for j := range memory[:min(len(memory), begins[i]+length+100)] {
			memory[j] = untouched
		}
		for j := max(0, begins[i]-100); j < len(memory); j++ {
			memory[j] = untouched
		}
		part := memory[begins[i] : begins[i]+length : begins[i]+length]
		for j := range part {
			part[j] = float32(random.NormFloat64() * 2)
		}
		x = append(x, part)
	}
	if c.prepare != nil {
		c.prepare(x)
	}
	for _, v := range x {
		plain = append(plain, slices.Clone(v))
		wide := make([]float64, len(v))
		for j := range v {
			wide[j] = float64(v[j])
		}
		want = append(want, wide)
	}
	operands := slices.Clone(plain)
	for i := range operands {
		operands[i] = slices.Clone(plain[i])
	}
	c.run(k, x)
	c.run(generic, plain)
	c.reference(want)
	for i := range x {
		for j, got := range x[i] {
			if i >= c.results {
				if got != operands[i][j] {
					t.Fatalf("n %d, at %d: the kernel changed operand %d at index %d", n, from, i, j)
				}
				continue
			}
			bound := c.tolerance * (1 + math.Abs(want[i][j]))
			if err := math.Abs(float64(got) - want[i][j]); !(err <= bound) {
				t.Fatalf("n %d, at %d: result %d[%d] is %v, want %v", n, from, i, j, got, want[i][j])
			}
			if err := math.Abs(float64(got) - float64(plain[i][j])); !(err <= 2*bound) {
				t.Fatalf("n %d, at %d: result %d[%d] is %v, want %v as in Go", n, from, i, j, got, plain[i][j])
			}
		}
		memory, end := pool[i], begins[i]+len(x[i])
		for j := max(0, begins[i]-100); j < min(len(memory), end+100); j++ {
			if (j < begins[i] || j >= end) && memory[j] != untouched {
				t.Fatalf("n %d, at %d: element %d, outside slice %d of %d elements, is %v, want %v as before", n, from,
					j-begins[i], i, len(x[i]), memory[j], untouched)
			}
		}
	}
}

// unaryCases lists the functions of one variable and their maximum errors. Package fmath states these
// errors; they apply to every level.
var unaryCases = []struct {
	name      string
	f         func(k *Kernels) func(y, x []float32)
	twin      func(float32) float32         // the function of package fmath
	want      func(float64) float64         // the definition in float64
	low, high float32                       // range of the arguments
	scale     func(x, want float64) float64 // the unit of the error at x
	atMost    float64                       // maximum error in this unit
}{
	{"Exp", func(k *Kernels) func(y, x []float32) { return k.Exp }, fmath.Exp, math.Exp, -87.33654,
		88.72283, relative, 1.1e-7},
	{"Softplus", func(k *Kernels) func(y, x []float32) { return k.Softplus }, fmath.Softplus, refSoftplus, -87.33654,
		math.MaxFloat32, relative, 2.5e-7},
	{"Sigmoid", func(k *Kernels) func(y, x []float32) { return k.Sigmoid }, fmath.Sigmoid, refSigmoid, -87.33654,
		math.MaxFloat32, relative, 2e-7},
	{"GELU", func(k *Kernels) func(y, x []float32) { return k.GELU }, fmath.GELU, refGELU, -math.MaxFloat32,
		math.MaxFloat32, argument, 2e-7},
	{"GELUGrad", geluGrad, fmath.GELUGrad, refGELUGrad, -math.MaxFloat32, math.MaxFloat32, absolute, 3e-7},
}

func relative(_, want float64) float64 { return math.Abs(want) }
func absolute(_, _ float64) float64    { return 1 }
func argument(x, _ float64) float64    { return math.Max(1, math.Abs(x)) }

func geluGrad(k *Kernels) func(y, x []float32) {
	return func(y, x []float32) {
		ones := slices.Repeat([]float32{1}, len(x))
		k.GELUBackward(y, ones, x)
	}
}

// TestErrors checks the maximum errors of the kernels, on float32 bit patterns at regular steps and
// densely in the range of activations.
func TestErrors(t *testing.T) {
	for _, k := range Levels() {
		for _, c := range unaryCases {
			t.Run(k.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				var x []float32
				order := func(b int32) int32 { return b ^ b>>31&math.MaxInt32 }
				from, to := order(int32(math.Float32bits(c.low))), order(int32(math.Float32bits(c.high)))
				for i := int64(from); i < int64(to); i += 4099 * 3 {
					x = append(x, math.Float32frombits(uint32(order(int32(i)))))
				}
				for i := -(1 << 17); i <= 1<<17; i++ {
					if v := float32(i) / (1 << 12); v > c.low {
						x = append(x, v)
					}
				}
				x = append(x, c.high)
				y := make([]float32, len(x))
				c.f(k)(y, x)
				worst, at := 0.0, float32(0)
				for i, got := range y {
					want := c.want(float64(x[i]))
					err := math.Abs(float64(got) - want)
					if err > 0 {
						err /= c.scale(float64(x[i]), want)
					}
					if !(err <= worst) {
						worst, at = err, x[i]
					}
				}
				t.Logf("worst error %.3g at %v", worst, at)
				if !(worst <= c.atMost) {
					t.Errorf("error %.3g at %v, want at most %.3g", worst, at, c.atMost)
				}
			})
		}
	}
}

// TestSpecialValues compares the results for special values with package fmath, within four times
// the maximum error or the smallest float32. At infinity, GELU's slope may also be its limit.
func TestSpecialValues(t *testing.T) {
	inf := float32(math.Inf(1))
	x := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, 1e-45, -1e-45, 1e-39, -1e-39, 1e-30, -1e-30,
		1e30, -1e30, math.MaxFloat32, -math.MaxFloat32, 88.72283, 88.7229, 89, 200, -87.33654, -87.3366,
		-87.6, -88, -104, -150, -200,
		math.Float32frombits(0x7fc00001), math.Float32frombits(0xffc00001), math.Float32frombits(0x7f800001),
		math.Float32frombits(0xffffffff)}
	for _, k := range Levels() {
		for _, c := range unaryCases {
			y := make([]float32, len(x))
			c.f(k)(y, x)
			for i, got := range y {
				want := c.twin(x[i])
				if c.name == "GELUGrad" && math.IsInf(float64(x[i]), 0) && got == max(0, min(1, x[i])) {
					continue
				}
				isClose := math.Abs(float64(got)-float64(want)) <= max(4*c.atMost*math.Abs(float64(want)),
					math.SmallestNonzeroFloat32)
				if got != want && !isClose && !(got != got && want != want) {
					t.Errorf("%s: %s(%v) = %v, want %v", k.Name, c.name, x[i], got, want)
				}
				if math.Signbit(float64(got)) != math.Signbit(float64(want)) && want == want {
					t.Errorf("%s: %s(%v) = %v, want the sign of %v", k.Name, c.name, x[i], got, want)
				}
			}
		}
	}
}

// TestPositionIndependence checks that the result for an element does not depend on its position or its
// neighbours.
func TestPositionIndependence(t *testing.T) {
	x, want := make([]float32, 67), make([]float32, 67)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(random.NormFloat64() * 3)
	}
	for _, k := range Levels() {
		for _, c := range unaryCases {
			f := c.f(k)
			f(want, x)
			y := make([]float32, len(x))
			for from := range x {
				for to := from; to <= len(x); to++ {
					f(y[:to-from], x[from:to])
					if !slices.Equal(y[:to-from], want[from:to]) {
						t.Fatalf("%s: %s: the result of the part [%d:%d] differs", k.Name, c.name, from, to)
					}
				}
			}
		}
	}
}

// BenchmarkElementwise reports the time per element.
func BenchmarkElementwise(b *testing.B) {
	for _, c := range append(slices.Clone(kernelCases), rowCases...) {
		n := 4096
		if len(rowCases) > 0 && slices.ContainsFunc(rowCases, func(r kernelCase) bool { return r.name == c.name }) {
			n = 128
		}
		for _, k := range Levels() {
			b.Run(fmt.Sprintf("%s/%s", c.name, k.Name), func(b *testing.B) {
				var x [][]float32
				elements := 0
				for _, length := range c.lengths(n) {
					v := make([]float32, length)
					for i := range v {
						v[i] = float32(rand.NormFloat64())
					}
					elements = max(elements, length)
					x = append(x, v)
				}
				if c.prepare != nil {
					c.prepare(x)
				}
				for b.Loop() {
					c.run(k, x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(elements), "ns/element")
			})
		}
	}
}
