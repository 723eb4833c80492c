package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMul checks every level against float64 for several sizes and for all layouts of both factors. init
// is zero, a bias or the result. Canaries around the result detect writes outside it.
func TestMul(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, level := range Levels() {
		t.Run(level.Name, func(t *testing.T) {
			for _, size := range [][3]int{{1, 1, 1}, {2, 3, 5}, {7, 16, 1}, {13, 33, 17}, {14, 32, 64}, {29, 31, 300},
				{64, 48, 257}, {5, 100, 512}} {
				for variant := range 8 {
					mulCase(t, &level.Products, rng, size[0], size[1], size[2], variant)
				}
			}
		})
	}
}

func mulCase(t *testing.T, p *Products, rng *rand.Rand, m, n, k, variant int) {
	t.Helper()
	name := fmt.Sprintf("%d×%d×%d variant %d", m, n, k, variant)
	const canary = 1e30
	offset := variant % 3 // unaligned start
	a := Matrix{random(rng, offset+m*(k+3))[offset:], k + 3, 1}
	if variant&1 != 0 {
		a = Matrix{random(rng, offset+k*(m+1))[offset:], 1, m + 1}
	}
	bT := Matrix{random(rng, n*(k+2)), 1, k + 2} // the right factor is stored transposed
	if variant&2 != 0 {
		bT = Matrix{random(rng, k*(n+2)), n + 2, 1}
	}
	stride := n + 5
	out := make([]float32, offset+m*stride+8)
	for i := range out {
		out[i] = canary
	}
	c := Matrix{out[offset:], stride, 1}
	init := Matrix{random(rng, n), 0, 1}
	if variant == 0 {
		init = Matrix{}
	}
	if variant&4 != 0 {
		init = c
		for i := range m {
			copy(out[offset+i*stride:][:n], random(rng, n))
		}
	}
	want, bound := make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			var s float64
			if init.Data != nil {
				s = float64(init.Data[i*init.Row+j])
			}
			b := math.Abs(s)
			for l := range k {
				v := float64(a.Data[i*a.Row+l*a.Col]) * float64(bT.Data[l*bT.Row+j*bT.Col])
				s, b = s+v, b+math.Abs(v)
			}
			want[i*n+j], bound[i*n+j] = s, b
		}
	}
	packed := p.Pack(make([]float32, p.PackedSize(k, n)), bT, k, n)
	p.Mul(c, a, packed, init, m)
	for i, v := range out {
		i -= offset
		if i < 0 || i >= m*stride || i%stride >= n {
			if v != canary {
				t.Fatalf("%s: element %d, outside the result, is %v, want %v as before", name, i, v, canary)
			}
			continue
		}
		at := i/stride*n + i%stride
		if d := math.Abs(float64(v) - want[at]); !(d <= bound[at]*float64(k+2)*0x1p-24) {
			t.Fatalf("%s: element (%d, %d) is %g, want %g", name, i/stride, i%stride, v, want[at])
		}
	}
	// A row computed alone must be bitwise identical to the same row of a larger product.
	row := make([]float32, n)
	last := m - 1
	if init.Row != 0 {
		return // init was overwritten
	}
	p.Mul(Rows(row, n), a.from(last), packed, init, 1)
	for j, v := range row {
		if w := c.Data[last*stride+j]; math.Float32bits(v) != math.Float32bits(w) {
			t.Fatalf("%s: column %d of the last row is %g if computed alone, want %g", name, j, v, w)
		}
	}
}

// TestView checks that products with a view and with a packed factor are equal, and, on Linux, that nothing
// beyond the end of the view's memory is read.
func TestView(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, level := range Levels() {
		p := &level.Products
		for _, n := range []int{1, 8, 16, 17, 32, 33, 48, 64} {
			const m, k = 29, 21
			stride := p.Columns(n)
			if stride < n {
				t.Fatalf("%s: Columns(%d) = %d, want at least %d", level.Name, n, stride, n)
			}
			memory := fenced(t, k*stride)
			b := memory[len(memory)-k*stride:]
			copy(b, random(rng, len(b)))
			a := random(rng, m*k)
			want, got := make([]float32, m*n), make([]float32, m*n)
			p.Mul(Rows(want, n), Rows(a, k), p.Pack(make([]float32, p.PackedSize(k, n)), Rows(b, stride), k, n),
				Matrix{}, m)
			p.Mul(Rows(got, n), Rows(a, k), p.View(b, stride, k, n), Matrix{}, m)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d columns: the products with a view and a packed factor differ", level.Name, n)
			}
		}
	}
}

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// TestMulSpecial checks that NaN and infinities propagate as in IEEE 754, and that a product with K = 0
// is init.
func TestMulSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, level := range Levels() {
		p := &level.Products
		ones := []float32{1, 1, 1}
		for _, c := range []struct{ a, b, want float32 }{
			{inf, 1, inf}, {nan, 1, nan}, {inf, -1, -inf}, {0x1p-149, 1, 0x1p-149}, {1, nan, nan},
		} {
			b := p.Pack(make([]float32, p.PackedSize(1, 1)), Rows([]float32{c.b}, 1), 1, 1)
			out := make([]float32, 3)
			p.Mul(Rows(out, 1), Rows([]float32{c.a, c.a, c.a}, 1), b, Rows(make([]float32, 1), 0), 3)
			for _, v := range out {
				if v != c.want && !(v != v && c.want != c.want) {
					t.Errorf("%s: %g·%g = %g, want %g", level.Name, c.a, c.b, v, c.want)
				}
			}
		}
		empty := p.Pack(nil, Matrix{}, 0, 1)
		out := make([]float32, 3)
		p.Mul(Rows(out, 1), Matrix{}, empty, Rows(ones, 1), 3)
		if out[0] != 1 || out[2] != 1 {
			t.Errorf("%s: got %v for an empty product, want init", level.Name, out)
		}
	}
}

// TestPackColumns compares PackColumns of every assembly level with Go.
func TestPackColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, level := range assembled() {
		for _, size := range [][2]int{{1, 1}, {3, 7}, {5, 8}, {256, 84}, {17, 33}, {2, 32}, {9, 131}} {
			rows, cols := size[0], size[1]
			src, _ := guarded(t, rng, rows*(cols+3))
			dst, intact := guarded(t, rng, rows*cols)
			sum, intactSum := guarded(t, rng, cols)
			wantSum, want := make([]float32, cols), make([]float32, rows*cols)
			level.PackColumns(dst, src, cols+3, rows, cols, sum)
			productsGo.PackColumns(want, src, cols+3, rows, cols, wantSum)
			name := fmt.Sprintf("%s PackColumns %d×%d", level.Name, rows, cols)
			intact(name)
			intactSum(name)
			closeTo(t, name, dst, want, 0)
			closeTo(t, name+" sum", sum, wantSum, 0)
		}
	}
}

func BenchmarkMul(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, level := range Levels() {
		for _, s := range [][3]int{{1024, 256, 256}, {8192, 512, 128}, {8192, 128, 512},
			{8192, 128, 128}, {1024, 64, 64}} {
			m, n, k := s[0], s[1], s[2]
			b.Run(fmt.Sprintf("%s/%dx%dx%d", level.Name, m, k, n), func(b *testing.B) {
				x, w, y := random(rng, m*k), random(rng, n*k), make([]float32, m*n)
				bias := make([]float32, n)
				p := &level.Products
				memory := make([]float32, p.PackedSize(k, n))
				for b.Loop() {
					packed := p.Pack(memory, Matrix{w, 1, k}, k, n)
					for i := 0; i < m; i += 64 {
						p.Mul(Rows(y[i*n:], n), Rows(x[i*k:], k), packed, Rows(bias, 0), 64)
					}
				}
				b.ReportMetric(2*float64(m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
