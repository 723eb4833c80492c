package onnx_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/onnx"
	"github.com/sftseq/sftseq/internal/onnx/onnxtest"
)

// line returns a graph of a·x + a/2 + 1/2 that uses its weight and its constant twice.
func line() *onnx.Graph {
	g := &onnx.Graph{Scope: "line/"}
	x := g.Input("x", onnx.Float32, "Any numbers.", onnx.Named("length"), onnx.Size(2))
	a := func() onnx.Tensor { return g.Weight("a", []int{2}, []float32{3, -1}) }
	y := g.Add(g.Mul(x, a()), g.Mul(a(), g.Float(0.5)))
	y = g.Add(y, g.Float(0.5))
	g.Output("y", y, onnx.Float32, "", onnx.Named("length"), onnx.Size(2))
	return g
}

// TestGraph checks that a file describes the graph, stores each constant and each weight once, and
// always has the same bytes.
func TestGraph(t *testing.T) {
	file := must.Get(line().Model("line", "A line.", []onnx.Property{{"key", "value"}, {"empty", ""}}))(t)
	again, err := line().Model("line", "A line.", []onnx.Property{{"key", "value"}, {"empty", ""}})
	if err != nil || !bytes.Equal(file, again) {
		t.Error("two calls of Model return different bytes")
	}
	m := onnxtest.Read(t, file)
	var operators []string
	for _, n := range m.Nodes {
		operators = append(operators, n.Operator)
	}
	if want := []string{"Mul", "Mul", "Add", "Add", "Identity"}; !slices.Equal(operators, want) {
		t.Errorf("got operators %v, want %v", operators, want)
	}
	if len(m.Initializers) != 2 {
		t.Errorf("got %d tensors, want the weight and one constant", len(m.Initializers))
	}
	if a := m.Initializers["a"]; !bytes.Equal(a.Data, []byte{0, 0, 64, 64, 0, 0, 128, 191}) ||
		!slices.Equal(a.Shape, []uint64{2}) {
		t.Errorf("got a with shape %v and bytes %v, want shape [2] and the numbers 3 and −1", a.Shape, a.Data)
	}
	if m.Opset != onnx.OpsetVersion || m.IRVersion == 0 || m.Metadata["key"] != "value" ||
		!slices.Equal(m.Inputs, []string{"x"}) || !slices.Equal(m.Outputs, []string{"y"}) {
		t.Errorf("got %+v, want OpsetVersion, an IR version, the metadata key: value, the input x and the output y", m)
	}
}

// TestConstants checks that constants with different types, shapes or bits are stored separately.
func TestConstants(t *testing.T) {
	g := &onnx.Graph{}
	seen := map[onnx.Tensor]bool{}
	for _, x := range []onnx.Tensor{g.Int(0), g.Ints(0), g.Ints(0, 0), g.Ints(), g.Float(0),
		g.Float(math.Copysign(0, -1)), g.Doubles(0), g.Doubles(1)} {
		if seen[x] {
			t.Errorf("%s occurs twice", x)
		}
		seen[x] = true
	}
}

// TestRecurrence checks the body and the inputs of a recurrence.
func TestRecurrence(t *testing.T) {
	g := &onnx.Graph{}
	x := g.Input("x", onnx.Float32, "", onnx.Named("length"), onnx.Size(2))
	factor := g.Float(0.5)
	y := g.Recurrence(g.Expand(g.Float(0), g.Ints(2)), x, true, func(state, slice onnx.Tensor) (next, out onnx.Tensor) {
		next = g.Add(g.Mul(state, factor), slice)
		return next, g.Neg(next)
	})
	g.Output("y", y, onnx.Float32, "", onnx.Named("length"), onnx.Size(2))
	m := onnxtest.Read(t, must.Get(g.Model("recurrence", "", nil))(t))
	if want := []string{"Expand", "Scan", "Mul", "Add", "Neg", "Identity"}; !slices.Equal(m.Operators(), want) {
		t.Fatalf("got operators %v, want %v", m.Operators(), want)
	}
	scan := m.Nodes[1]
	nodes := scan.Body.Nodes
	if want := []string{nodes[1].Outputs[0], nodes[2].Outputs[0]}; !slices.Equal(scan.Body.Outputs, want) {
		t.Errorf("the body has the outputs %v, want %v", scan.Body.Outputs, want)
	}
	if in := scan.Body.Inputs; len(in) != 2 || nodes[0].Inputs[0] != in[0] || nodes[1].Inputs[1] != in[1] {
		t.Errorf("the body has the inputs %v, but its nodes read %v and %v", in, nodes[0].Inputs, nodes[1].Inputs)
	}
	if scan.Inputs[1] != "x" || len(scan.Outputs) != 2 || m.Nodes[2].Inputs[0] != scan.Outputs[1] {
		t.Errorf("the scan reads %v, want x second; the graph's output is %v, want the second of two in %v",
			scan.Inputs, m.Nodes[2].Inputs, scan.Outputs)
	}
}

// TestMemory checks that Model copies the weights only once.
func TestMemory(t *testing.T) {
	data := make([]float32, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := &onnx.Graph{}
	for i := range 8 {
		g.Output(fmt.Sprint("y", i), g.Weight(fmt.Sprint("w", i), []int{len(data)}, data), onnx.Float32,
			"", onnx.Size(len(data)))
	}
	file, err := g.Model("weights", "", nil)
	runtime.ReadMemStats(&after)
	must.Succeed(t, err)
	if made := int(after.TotalAlloc - before.TotalAlloc); made > len(file)+1<<20 {
		t.Errorf("got %d allocated bytes for a file of %d, want at most 1 MiB more", made, len(file))
	}
}

// TestTooLarge checks that Model rejects a model above the maximum size.
func TestTooLarge(t *testing.T) {
	data := make([]float32, 1<<20)
	g := &onnx.Graph{}
	for i := range 1 << 9 {
		g.Weight(fmt.Sprint(i), []int{len(data)}, data)
	}
	must.Fail(t, "bytes, expected at most 2147483647")(g.Model("weights", "", nil))
}
