// Package onnxtest reads ONNX models, for tests of code that writes them.
package onnxtest

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Model has the tested parts of a model.
type Model struct {
	IRVersion, Opset uint64
	Nodes            []Node
	Initializers     map[string]Initializer
	Inputs, Outputs  []string
	Metadata         map[string]string
}

// Node is a node of a graph.
type Node struct {
	Operator        string
	Inputs, Outputs []string
	Body            *Model // body of a Scan; nil for other operators
}

// Initializer is a constant tensor, stored in the file.
type Initializer struct {
	Shape []uint64
	Type  uint64
	Data  []byte
}

// field is a field of a message: a varint or bytes. Values of other wire types are skipped.
type field struct {
	at     protowire.Number
	number uint64
	bytes  []byte
}

// fields returns the fields of a message in order.
func fields(t *testing.T, m []byte) (out []field) {
	t.Helper()
	for len(m) > 0 {
		at, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			t.Fatalf("malformed message: %v", protowire.ParseError(n))
		}
		m = m[n:]
		f := field{at: at}
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(m)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(m)
		default:
			n = protowire.ConsumeFieldValue(at, kind, m)
		}
		if n < 0 {
			t.Fatalf("malformed field %d: %v", at, protowire.ParseError(n))
		}
		m = m[n:]
		out = append(out, f)
	}
	return out
}

// Operators returns the operator of each node in order. The operators of a body follow the operator of its
// node.
func (m *Model) Operators() (out []string) {
	for _, n := range m.Nodes {
		if out = append(out, n.Operator); n.Body != nil {
			out = append(out, n.Body.Operators()...)
		}
	}
	return out
}

// Read reads a model. It checks that nodes read only earlier tensors, the names of tensors are unique, the
// size of each initializer matches its type and shape, and every initializer is used by a node or is an
// output.
func Read(t *testing.T, file []byte) *Model {
	t.Helper()
	m := &Model{Initializers: map[string]Initializer{}, Metadata: map[string]string{}}
	for _, f := range fields(t, file) {
		switch f.at {
		case 1:
			m.IRVersion = f.number
		case 7:
			m.graph(t, f.bytes)
		case 8:
			for _, f := range fields(t, f.bytes) {
				if f.at == 2 {
					m.Opset = f.number
				}
			}
		case 14:
			entry := map[protowire.Number]string{}
			for _, f := range fields(t, f.bytes) {
				entry[f.at] = string(f.bytes)
			}
			m.Metadata[entry[1]] = entry[2]
		}
	}
	m.check(t)
	return m
}

func (m *Model) graph(t *testing.T, text []byte) {
	for _, f := range fields(t, text) {
		switch f.at {
		case 1:
			var n Node
			for _, f := range fields(t, f.bytes) {
				switch f.at {
				case 1:
					n.Inputs = append(n.Inputs, string(f.bytes))
				case 2:
					n.Outputs = append(n.Outputs, string(f.bytes))
				case 4:
					n.Operator = string(f.bytes)
				case 5:
					for _, f := range fields(t, f.bytes) {
						if f.at == 6 {
							n.Body = &Model{Initializers: map[string]Initializer{}}
							n.Body.graph(t, f.bytes)
						}
					}
				}
			}
			m.Nodes = append(m.Nodes, n)
		case 5:
			var x Initializer
			name := ""
			for _, f := range fields(t, f.bytes) {
				switch f.at {
				case 1:
					x.Shape = append(x.Shape, f.number)
				case 2:
					x.Type = f.number
				case 8:
					name = string(f.bytes)
				case 9:
					x.Data = f.bytes
				}
			}
			if _, twice := m.Initializers[name]; twice {
				t.Errorf("duplicate tensor %s", name)
			}
			m.Initializers[name] = x
		case 11:
			m.Inputs = append(m.Inputs, valueName(t, f.bytes))
		case 12:
			m.Outputs = append(m.Outputs, valueName(t, f.bytes))
		}
	}
}

func valueName(t *testing.T, text []byte) string {
	for _, f := range fields(t, text) {
		if f.at == 1 {
			return string(f.bytes)
		}
	}
	t.Error("an input or output has no name")
	return ""
}

// elementBytes maps ONNX element types to bytes per element.
var elementBytes = map[uint64]uint64{1: 4, 6: 4, 7: 8, 11: 8}

func (m *Model) check(t *testing.T) {
	t.Helper()
	made, read := map[string]bool{}, map[string]bool{}
	give := func(name string) {
		if name == "" || made[name] {
			t.Errorf("the tensor name %q is duplicate or empty", name)
		}
		made[name] = true
	}
	var run func(m *Model)
	run = func(m *Model) {
		for name, x := range m.Initializers {
			give(name)
			size := elementBytes[x.Type]
			for _, n := range x.Shape {
				size *= n
			}
			if size != uint64(len(x.Data)) {
				t.Errorf("the tensor %s of type %d and shape %v has %d bytes, want %d", name, x.Type, x.Shape,
					len(x.Data), size)
			}
		}
		for _, name := range m.Inputs {
			give(name)
		}
		for i, n := range m.Nodes {
			for _, name := range n.Inputs {
				if !made[name] {
					t.Errorf("node %d, %s, reads %q: expected an input, an initializer or an earlier node's output", i,
						n.Operator, name)
				}
				read[name] = true
			}
			if n.Body != nil {
				run(n.Body)
			}
			for _, name := range n.Outputs {
				give(name)
			}
		}
		for _, name := range m.Outputs {
			if !made[name] {
				t.Errorf("the output %q is neither a node's output nor an input or initializer", name)
			}
			read[name] = true
		}
		for name := range m.Initializers {
			if !read[name] {
				t.Errorf("the tensor %s is neither an input of a node nor an output", name)
			}
		}
	}
	run(m)
}
