// Package onnx writes graphs of tensors as models in the Open Neural Network Exchange format
// (ONNX), which programs such as ONNX Runtime execute. It does not depend on the models that are
// exported.
//
// A [Graph] is built from its inputs to its outputs: each operator appends a node and returns the
// resulting tensor. The same calls always produce the same bytes.
//
// Source: onnx.proto and the operators of opset 18, https://onnx.ai/onnx/.
package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Versions of the operators and of the format. Version 18 of the operators is the first with bitwise operators.
const (
	OpsetVersion = 18
	irVersion    = 8
)

// maxBytes is the maximum size of a Protocol Buffers message.
const maxBytes = math.MaxInt32

// Type is the type of a tensor's elements.
type Type int

// The supported types.
const (
	Float32 Type = 1
	Int32   Type = 6
	Int64   Type = 7
	Float64 Type = 11
)

// Tensor is the name of a tensor of a graph.
type Tensor string

// Dim is a dimension of an input or an output: a size, or a name if the size differs between runs.
type Dim struct {
	size int
	name string
}

// Size returns a dimension of fixed size.
func Size(n int) Dim { return Dim{size: n} }

// Named returns a dimension whose size each run determines.
func Named(name string) Dim { return Dim{name: name} }

// Graph is a graph under construction. Its zero value is an empty graph.
type Graph struct {
	// Scope is the prefix for the names of the nodes that are appended next, such as "layers.0/".
	Scope string

	nodes, inputs, outputs message
	initializers           []initializer
	made                   int                 // counter for unique names of nodes
	constants              map[string]Tensor   // by type, shape and bytes
	weights                map[string]struct{} // by name
}

// Input declares an input.
func (g *Graph) Input(name string, t Type, doc string, shape ...Dim) Tensor {
	g.inputs.bytes(graphInput, valueInfo(name, t, doc, shape))
	return Tensor(name)
}

// Output declares a tensor as an output with a name.
func (g *Graph) Output(name string, x Tensor, t Type, doc string, shape ...Dim) {
	g.node("Identity", []Tensor{x}, []Tensor{Tensor(name)}, nil)
	g.outputs.bytes(graphOutput, valueInfo(name, t, doc, shape))
}

// Weight returns a tensor of numbers in row-major order. The numbers are stored at the first use of
// the name. The caller must not change them before [Graph.Model] has copied them.
func (g *Graph) Weight(name string, shape []int, data []float32) Tensor {
	return g.stored(name, Float32, shape, data)
}

// Int32s returns a vector of int32 numbers, which is stored like a [Graph.Weight].
func (g *Graph) Int32s(name string, data []int32) Tensor {
	return g.stored(name, Int32, []int{len(data)}, data)
}

// Int64s returns a vector of int64 numbers, which is stored like a [Graph.Weight].
func (g *Graph) Int64s(name string, data []int64) Tensor {
	return g.stored(name, Int64, []int{len(data)}, data)
}

func (g *Graph) stored(name string, t Type, shape []int, data any) Tensor {
	if _, stored := g.weights[name]; !stored {
		if g.weights == nil {
			g.weights = map[string]struct{}{}
		}
		g.weights[name] = struct{}{}
		g.initializers = append(g.initializers, newInitializer(name, t, shape, data))
	}
	return Tensor(name)
}

// Int returns a scalar int64 constant.
func (g *Graph) Int(v int64) Tensor { return g.constant(Int64, nil, littleEndian([]int64{v})) }

// Ints returns a constant vector of int64 numbers.
func (g *Graph) Ints(v ...int64) Tensor { return g.constant(Int64, []int{len(v)}, littleEndian(v)) }

// Float returns a scalar float32 constant.
func (g *Graph) Float(v float64) Tensor {
	return g.constant(Float32, nil, littleEndian([]float32{float32(v)}))
}

// Doubles returns a constant vector of float64 numbers.
func (g *Graph) Doubles(v ...float64) Tensor {
	return g.constant(Float64, []int{len(v)}, littleEndian(v))
}

// constant returns a constant tensor. Equal constants are stored once.
func (g *Graph) constant(t Type, shape []int, data []byte) Tensor {
	key := fmt.Sprint(t, shape, data)
	if x, ok := g.constants[key]; ok {
		return x
	}
	if g.constants == nil {
		g.constants = map[string]Tensor{}
	}
	name := "constant." + strconv.Itoa(len(g.constants))
	g.initializers = append(g.initializers, newInitializer(name, t, shape, data))
	g.constants[key] = Tensor(name)
	return Tensor(name)
}

// Scan appends a node that applies body to each slice of x along the first axis, in order, and stacks
// the results. x is a vector or a matrix. Scan calls body once, to append the nodes of the body. The
// body may use every tensor that exists before Scan.
func (g *Graph) Scan(x Tensor, in, out Type, body func(slice Tensor) Tensor) Tensor {
	m := g.body([]scanned{{"slice", in}}, []Type{out},
		func(in []Tensor) []Tensor { return []Tensor{body(in[0])} })
	return g.op("Scan", []Tensor{x}, attribute{"body", m}, attribute{"num_scan_inputs", 1})
}

// Recurrence is like [Graph.Scan] with a state. The parameter initial is the state for the first slice. For each slice,
// body returns the state for the next slice and an output. Recurrence returns the outputs, stacked in
// the order of x. If backward is true, the last slice is processed first. All tensors are float32.
func (g *Graph) Recurrence(initial, x Tensor, backward bool, body func(state, slice Tensor) (next, out Tensor)) Tensor {
	direction := []int{0}
	if backward {
		direction[0] = 1
	}
	m := g.body([]scanned{{"state", Float32}, {"slice", Float32}}, []Type{Float32, Float32},
		func(in []Tensor) []Tensor {
			next, out := body(in[0], in[1])
			return []Tensor{next, out}
		})
	return g.ops("Scan", 2, []Tensor{initial, x}, attribute{"body", m}, attribute{"num_scan_inputs", 1},
		attribute{"scan_input_directions", direction}, attribute{"scan_output_directions", direction})[1]
}

// scanned is an input of the body of a Scan.
type scanned struct {
	name string
	kind Type
}

// body returns a subgraph. The parameter in describes its inputs, and out has the types of its outputs.
// emit appends the nodes and returns the outputs.
func (g *Graph) body(in []scanned, out []Type, emit func(in []Tensor) []Tensor) message {
	name := g.Scope + "Scan." + strconv.Itoa(g.made)
	g.made++
	outer := g.nodes
	g.nodes = nil
	var inputs []Tensor
	for _, x := range in {
		inputs = append(inputs, Tensor(name+"."+x.name))
	}
	outputs := emit(inputs)
	var m message
	m = append(m, g.nodes...)
	m.string(graphName, name)
	for i, x := range in {
		m.bytes(graphInput, valueInfo(string(inputs[i]), x.kind, "", nil))
	}
	for i, x := range outputs {
		m.bytes(graphOutput, valueInfo(string(x), out[i], "", nil))
	}
	g.nodes = outer
	return m
}

// attribute is an attribute of a node: an int, a float32, a string, ints or a graph.
type attribute struct {
	name  string
	value any
}

// op appends a node with one output and returns the output.
func (g *Graph) op(operator string, in []Tensor, attributes ...attribute) Tensor {
	return g.ops(operator, 1, in, attributes...)[0]
}

// ops appends a node with several outputs and returns the outputs.
func (g *Graph) ops(operator string, outputs int, in []Tensor, attributes ...attribute) []Tensor {
	name := g.Scope + operator + "." + strconv.Itoa(g.made)
	out := []Tensor{Tensor(name)}
	for i := 1; i < outputs; i++ {
		out = append(out, Tensor(name+"."+strconv.Itoa(i)))
	}
	g.node(operator, in, out, attributes)
	return out
}

func (g *Graph) node(operator string, in, out []Tensor, attributes []attribute) {
	var m message
	for _, x := range in {
		m.string(nodeInput, string(x))
	}
	for _, x := range out {
		m.string(nodeOutput, string(x))
	}
	m.string(nodeName, string(out[0]))
	m.string(nodeOperator, operator)
	for _, a := range attributes {
		m.bytes(nodeAttribute, a.proto())
	}
	g.nodes.bytes(graphNode, m)
	g.made++
}

func (a attribute) proto() (m message) {
	m.string(attributeName, a.name)
	kind := int64(kindInt)
	switch v := a.value.(type) {
	case int:
		m.int(attributeInt, int64(v))
	case float32:
		m.float(attributeFloat, v)
		kind = kindFloat
	case string:
		m.string(attributeString, v)
		kind = kindString
	case message:
		m.bytes(attributeGraph, v)
		kind = kindGraph
	case []int:
		for _, x := range v {
			m.int(attributeInts, int64(x))
		}
		kind = kindInts
	default:
		panic(fmt.Sprintf("onnx: attribute %s: unsupported type %T", a.name, v))
	}
	m.int(attributeType, kind)
	return m
}

// Property is an entry of a model's metadata.
type Property struct{ Key, Value string }

// Model returns the encoded model, or an error if it is too large.
func (g *Graph) Model(name, doc string, metadata []Property) ([]byte, error) {
	var m, title, opset, after message
	title.string(graphName, name)
	opset.int(opsetVersion, OpsetVersion)
	after.bytes(modelOpset, opset)
	for _, p := range metadata {
		var entry message
		entry.string(metadataKey, p.Key)
		entry.string(metadataValue, p.Value)
		after.bytes(modelMetadata, entry)
	}
	graph := len(g.nodes) + len(title) + len(g.inputs) + len(g.outputs)
	for _, x := range g.initializers {
		graph += protowire.SizeTag(graphInitializer) + protowire.SizeBytes(x.size())
	}
	m.int(modelIRVersion, irVersion)
	m.string(modelProducer, "sftseq")
	m.string(modelDoc, doc)
	m.begin(modelGraph, graph)
	if n := len(m) + graph + len(after); n > maxBytes {
		return nil, fmt.Errorf("the ONNX model has %d bytes, expected at most %d", n, maxBytes)
	}
	m = slices.Grow(m, graph+len(after)) // a single allocation, because the weights may take most of the memory
	m = append(m, g.nodes...)
	m = append(m, title...)
	for _, x := range g.initializers {
		m.begin(graphInitializer, x.size())
		x.append(&m)
	}
	m = append(m, g.inputs...)
	m = append(m, g.outputs...)
	return append(m, after...), nil
}

func littleEndian(v any) []byte { return appendLittleEndian(nil, v) }

func appendLittleEndian(to []byte, v any) []byte {
	to, err := binary.Append(to, binary.LittleEndian, v)
	if err != nil {
		panic("onnx: " + err.Error()) // unsupported type
	}
	return to
}
