package tensor

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestOperands checks that a kernel's reads and writes follow from its fields, their tags and
// Accumulate.
func TestOperands(t *testing.T) {
	p := NewProgram()
	b := NewBatch(p, 4, 1)
	batch := "tokens position sequence offset sample_offset example tower random"
	of := func(name string) *Tensor { return &Tensor{Name: name} }
	relativeBias := SinusoidBias{F: of("f"), G: of("g"), E: of("e"), P: of("p"), Top: of("top"), Partner: of("partner")}
	attention := Attention{O: of("o"), Norm: of("norm"), Q: of("q"), K: of("k"), V: of("v"), Count: of("count"),
		Batch: b, RelativeBias: relativeBias}
	linear := LinearBackward{DX: of("dx"), DWeight: of("dw"), DBias: of("db"), DY: of("dy"),
		X: of("x"), Weight: of("w")}
	added := linear
	added.Accumulate = true
	for _, c := range []struct {
		kernel        Kernel
		reads, writes string
	}{
		{Zero{Y: of("y")}, "", "y"},
		{Add{Y: of("y"), A: of("a"), B: of("b")}, "a b", "y"},
		{linear, "dy x w", "dx dw db"},
		{added, "dx dy x w", "dx dw db"},
		{RowDotBackward{DX: of("dx"), DWeight: of("dw"), DBias: of("db"), DY: of("dy"), X: of("x"), Weight: of("w")},
			"dx dy x w", "dx dw db"},
		{Leak{Y: of("y"), C: of("c"), Count: of("count"), Batch: b}, "c count " + batch, "y"},
		{attention, "q k v count " + batch + " f g e p top partner", "o norm"},
		{AttentionBackward{DQ: of("dq"), DK: of("dk"), DV: of("dv"), DO: of("do"), Forward: attention,
			Gradient: SinusoidGradient{DF: of("df"), DG: of("dg"), DP: of("dp")}},
			"do o norm q k v count " + batch + " f g e p top partner", "dq dk dv df dg dp"},
	} {
		for what, found := range map[string][]*Tensor{c.reads: Reads(c.kernel), c.writes: Writes(c.kernel)} {
			var names []string
			for _, t := range found {
				names = append(names, t.Name)
			}
			if got := strings.Join(names, " "); got != what {
				t.Errorf("%s: got %q, want %q", Name(c.kernel), got, what)
			}
		}
	}
}

// TestWrongDeclarations checks that invalid tags, a bug of the kernel's author, panic.
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
		if got := panics(func() { declaration(reflect.TypeOf(kernel)) }); !strings.Contains(got, want) {
			t.Errorf("%T: got panic %q, want %q", kernel, got, want)
		}
	}
	if d := declaration(reflect.TypeFor[LayerNorm]()); len(d) != 6 ||
		slices.ContainsFunc(d, func(o operand) bool { return o.within }) {
		t.Errorf("got %+v", d)
	}
}
