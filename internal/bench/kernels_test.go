package bench

import (
	"context"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/tensor"
)

// TestKernels checks that every kernel has a unique pair of name and size, runs, and reads and writes memory.
func TestKernels(t *testing.T) {
	device := cpu.New(0)
	seen := map[string]bool{}
	for _, k := range Kernels() {
		name := k.Name + " " + k.Size
		if seen[name] {
			t.Errorf("duplicate kernel %s", name)
		}
		seen[name] = true
		r := k.batch()
		launch := k.build(r)
		f, _, err := r.prepare(t.Context(), device, launch)
		if err == nil {
			err = f(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m := r.traffic(launch); m.read <= 0 || m.written <= 0 || m.resident > m.read+m.written {
			t.Errorf("%s: got traffic %+v, want positive numbers, and resident at most read + written", name, m)
		}
	}
}

// TestTraffic checks the bytes that kernels read and write, and that traffic does not count the
// description of the batch.
func TestTraffic(t *testing.T) {
	r := newFixture(0, 5)
	x := r.normal(tensor.Tokens, 3, 1)
	for _, c := range []struct {
		kernel tensor.Kernel
		want   traffic
	}{
		{tensor.Dropout{Y: r.out(tensor.Tokens, 3), X: x, Batch: r.batch, Rate: 0.5}, traffic{60, 60, 120}},
		{tensor.Linear{Y: r.out(tensor.Tokens, 2), X: x, Weight: r.parameter(1, 2, 3), Bias: r.parameter(1, 2)},
			traffic{60 + 24 + 8, 40, 132}},
		{tensor.Add{Y: x, A: x, B: r.normal(tensor.Tokens, 3, 1)}, traffic{120, 60, 120}},
	} {
		if got := r.traffic(c.kernel); got != c.want {
			t.Errorf("%s: got %+v, want %+v", tensor.Name(c.kernel), got, c.want)
		}
	}
}

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{4, 1}, Spread{2.5, 1, 4}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("%v: got %v, want %v", c.values, got, c.want)
		}
	}
}

func TestSecondsStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	_, err := Seconds(ctx, func(context.Context) error {
		if runs++; runs == 2 {
			cancel()
		}
		return nil
	}, 10, 0)
	if err == nil || runs != 2 {
		t.Errorf("got %d runs and error %v, want an error after 2 runs", runs, err)
	}
}

// TestCeilings checks that measured rates are positive, and that given rates determine a kernel's
// minimum time.
func TestCeilings(t *testing.T) {
	c, err := NewCeilings(cpu.New(1), 1)
	if err != nil {
		t.Fatal(err)
	}
	if c == nil || c.FMA <= 0 || c.MaxAdd <= 0 {
		t.Fatalf("got %+v, want positive rates", c)
	}
	b := c.Memory(5000)
	if b.Bytes != 8192 || b.Read <= 0 || b.Copy <= 0 || b != c.Memory(8192) {
		t.Errorf("got %+v, want positive rates for 8192 bytes, measured only once", b)
	}
	c = &Ceilings{FMA: 4, MaxAdd: 2, threads: 1, bandwidth: map[int]Bandwidth{1 << 12: {1 << 12, 8, 4}}}
	for _, s := range []struct {
		work  work
		moved traffic
		want  float64
	}{
		{work{products: 8, comparisons: 6}, traffic{99, 99, 99}, 5},
		{work{}, traffic{24, 8, 32}, 2 + 4},
		{work{}, traffic{8, 24, 32}, 8},
		{work{}, traffic{40, 24, 40}, 5}, // updated in place
	} {
		if got := c.seconds(s.work, s.moved); got != s.want {
			t.Errorf("%+v: got %v s, want %v", s, got, s.want)
		}
	}
}
