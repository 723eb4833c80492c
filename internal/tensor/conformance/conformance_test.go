package conformance

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sinusoid"
)

// TestReferences compares the gradients of the references with finite differences along random
// directions. It checks that each suite declares such a gradient, except the listed suites.
func TestReferences(t *testing.T) {
	testenv.Long(t, "differentiates every reference")
	checked := map[string]int{}
	for _, k := range table {
		for _, c := range k.cases() {
			r := newFixture(c)
			c.build(r)
			for _, d := range r.derivatives {
				for i, p := range d.pairs {
					checkDerivative(t, r, c.name, i, d.loss, p)
					checked[k.name]++
				}
			}
		}
	}
	for _, k := range table {
		// The listed suites have only linear kernels, or no backward kernel.
		gradient := !slices.Contains([]string{"sample", "dropout", "add", "adamw", "feedforward", "pairweights"}, k.name)
		if gradient && checked[k.name] == 0 {
			t.Errorf("%s: no gradient was compared with finite differences", k.name)
		}
	}
}

func checkDerivative(t *testing.T, r *fixture, name string, variable int, loss func() float64, p pair) {
	t.Helper()
	direction := make([]float64, len(p.x))
	var want, size float64
	for i := range direction {
		direction[i] = r.random.NormFloat64()
		want += direction[i] * p.gradient[i]
		size += p.gradient[i] * p.gradient[i]
	}
	const h = 2e-7 // small, because kinks within the step distort the difference
	kept := slices.Clone(p.x)
	lossAt := func(step float64) float64 {
		for i, v := range kept {
			p.x[i] = v + step*direction[i]
		}
		return loss()
	}
	got := (lossAt(h) - lossAt(-h)) / (2 * h)
	copy(p.x, kept)
	if !(math.Abs(got-want) <= 1e-4*math.Sqrt(size)+1e-7) {
		t.Errorf("%s: variable %d: finite differences give %v, the reference's gradient %v", name, variable, got, want)
	}
}

// TestTablesAreTheEncoding checks that F[i−j+n−1] + G[i+j] of the reference's tables is lin(i,j) of
// [sinusoid.Reference].
func TestTablesAreTheEncoding(t *testing.T) {
	const n, ds, base = 40, 6, 100.0
	weight, bias := []float64{0.3, -1, 0.7, 2, -0.4, 0.9}, 0.25
	f, g := tables64(weight, []float64{bias}, base, ds, n)
	for i := range n {
		for j := range n {
			got := f[i-j+n-1] + g[i+j]
			want := sinusoid.Reference{Base: base, Dim: ds}.Linear(weight, bias, i, j)
			if math.Abs(got-want) > 1e-12 {
				t.Fatalf("positions %d and %d: got %v, want %v", i, j, got, want)
			}
		}
	}
}

// TestEveryKernel checks that each kernel of package tensor has cases, that they are registered under the
// name of the kernel's file, and that this package has a file of that name.
func TestEveryKernel(t *testing.T) {
	kernel := regexp.MustCompile(`(?ms)^type (\w+?)(Backward)? struct \{[^}]*op:"`)
	files := must.Get(filepath.Glob("../*.go"))(t)
	cases := map[string]string{} // name under which each kernel's cases are registered
	for _, k := range table {
		for _, c := range k.cases() {
			r := newFixture(c)
			cases[tensor.Name(c.build(r))] = k.name
		}
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := must.Get(os.ReadFile(file))(t)
		base := strings.TrimSuffix(filepath.Base(file), ".go")
		for _, m := range kernel.FindAllStringSubmatch(string(text), -1) {
			if strings.HasSuffix(m[1], "Gradient") { // operands of a kernel, such as SinusoidGradient
				continue
			}
			found++
			name := strings.ToLower(m[1])
			if m[2] != "" {
				name += "_backward"
			}
			if cases[name] != base {
				t.Errorf("kernel %q of %s.go has its cases in %q", name, base, cases[name])
			}
			if _, err := os.Stat(base + ".go"); err != nil {
				t.Error(err)
			}
		}
	}
	if found != len(cases) {
		t.Errorf("package tensor has %d kernels, %d have cases", found, len(cases))
	}
}
