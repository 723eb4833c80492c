package tensor

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestOperands checks which tensors some kernels read and write, with and without Accumulate, with
// nested operands, and with a nested forward kernel.
func TestOperands(t *testing.T) {
	p := NewProgram()
	b := NewBatch(p, 4, 1)
	batch := "tokens position sequence offset sample_offset example tower random"
	named := func(name string) *Tensor { return &Tensor{Name: name} }
	relativeBias := SinusoidBias{F: named("f"), G: named("g"), E: named("e"), P: named("p"),
		Top: named("top"), Partner: named("partner")}
	attention := Attention{O: named("o"), Norm: named("norm"), Q: named("q"), K: named("k"), V: named("v"),
		Count: named("count"), Batch: b, RelativeBias: relativeBias}
	linear := LinearBackward{DX: named("dx"), DWeight: named("dw"), DBias: named("db"), DY: named("dy"),
		X: named("x"), Weight: named("w")}
	accumulating := linear
	accumulating.Accumulate = true
	for _, c := range []struct {
		kernel        Kernel
		reads, writes string
	}{
		{Zero{Y: named("y")}, "", "y"},
		{Add{Y: named("y"), A: named("a"), B: named("b")}, "a b", "y"},
		{linear, "dy x w", "dx dw db"},
		{accumulating, "dx dy x w", "dx dw db"},
		{RowDotBackward{DX: named("dx"), DWeight: named("dw"), DBias: named("db"), DY: named("dy"), X: named("x"),
			Weight: named("w")}, "dx dy x w", "dx dw db"},
		{Leak{Y: named("y"), C: named("c"), Count: named("count"), Batch: b}, "c count " + batch, "y"},
		{attention, "q k v count " + batch + " f g e p top partner", "o norm"},
		{AttentionBackward{DQ: named("dq"), DK: named("dk"), DV: named("dv"), DO: named("do"), Forward: attention,
			Gradient: SinusoidGradient{DF: named("df"), DG: named("dg"), DP: named("dp")}},
			"do o norm q k v count " + batch + " f g e p top partner", "dq dk dv df dg dp"},
	} {
		for want, tensors := range map[string][]*Tensor{c.reads: Reads(c.kernel), c.writes: Writes(c.kernel)} {
			var names []string
			for _, t := range tensors {
				names = append(names, t.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s: got operands %q, want %q", Name(c.kernel), got, want)
			}
		}
	}
}

// TestWrongDeclarations checks that an invalid field or tag of a kernel type causes a panic that
// names the field, and that the valid fields of LayerNorm are six tensors.
func TestWrongDeclarations(t *testing.T) {
	type tag struct {
		Y *Tensor `op:"writes"`
	}
	type accumulates struct {
		Y *Tensor `op:"accumulate"`
	}
	type slice struct{ Y []*Tensor }
	type pointer struct{ Y **Tensor }
	type batch struct {
		Batch *Batch `op:"write"`
	}
	type number struct {
		Heads int `op:"add"`
	}
	for want, kernel := range map[string]any{
		"tensor.tag.Y": tag{}, "tensor.accumulates.Y": accumulates{}, "tensor.slice.Y": slice{},
		"tensor.pointer.Y":   pointer{},
		"tensor.batch.Batch": batch{}, "tensor.number.Heads": number{},
	} {
		if got := panics(func() { operandsOf(reflect.TypeOf(kernel)) }); !strings.Contains(got, want) {
			t.Errorf("%T: got panic %q, want a message with %q", kernel, got, want)
		}
	}
	if d := operandsOf(reflect.TypeFor[LayerNorm]()); len(d) != 6 ||
		slices.ContainsFunc(d, func(o operand) bool { return o.nested }) {
		t.Errorf("got operands %+v of LayerNorm, want 6 tensors", d)
	}
}
