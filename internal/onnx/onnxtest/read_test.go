package onnxtest

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message appends a field with the given content to a message.
func message(m []byte, at protowire.Number, content ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(m, at, protowire.BytesType), content)
}

// TestBody checks that Read returns the initializers of a Scan's body.
func TestBody(t *testing.T) {
	constant := message(message(nil, 8, 'c'), 9, 0, 0, 128, 63)
	constant = protowire.AppendVarint(protowire.AppendTag(constant, 2, protowire.VarintType), 1) // float32
	negation := message(message(message(nil, 1, 'c'), 2, 'y'), 4, []byte("Neg")...)
	body := message(message(message(nil, 1, negation...), 5, constant...), 12, message(nil, 1, 'y')...)
	scan := message(message(nil, 4, []byte("Scan")...), 5, message(nil, 6, body...)...)
	m := Read(t, message(nil, 7, message(nil, 1, scan...)...))
	if len(m.Nodes) != 1 || m.Nodes[0].Body == nil {
		t.Fatalf("got nodes %+v, want one with a body", m.Nodes)
	}
	if c := m.Nodes[0].Body.Initializers["c"]; c.Type != 1 || !slices.Equal(c.Data, []byte{0, 0, 128, 63}) {
		t.Errorf("got the constant %+v, want the float32 1", c)
	}
}
