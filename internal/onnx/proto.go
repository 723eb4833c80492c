package onnx

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is an encoded message of onnx.proto. Methods append fields in the order of the calls.
type message []byte

func (m *message) int(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) float(field protowire.Number, v float32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(v))
}

func (m *message) bytes(field protowire.Number, v []byte) {
	m.begin(field, len(v))
	*m = append(*m, v...)
}

// begin appends the tag and the length of a field. The caller appends the content.
func (m *message) begin(field protowire.Number, bytes int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.BytesType), uint64(bytes))
}

func (m *message) string(field protowire.Number, v string) {
	if v != "" {
		*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), v)
	}
}

// Field numbers by message.
const (
	modelIRVersion    protowire.Number = 1
	modelProducer     protowire.Number = 2
	modelDoc          protowire.Number = 6
	modelGraph        protowire.Number = 7
	modelOpset        protowire.Number = 8
	modelMetadata     protowire.Number = 14
	opsetVersion      protowire.Number = 2
	metadataKey       protowire.Number = 1
	metadataValue     protowire.Number = 2
	graphNode         protowire.Number = 1
	graphName         protowire.Number = 2
	graphInitializer  protowire.Number = 5
	graphInput        protowire.Number = 11
	graphOutput       protowire.Number = 12
	nodeInput         protowire.Number = 1
	nodeOutput        protowire.Number = 2
	nodeName          protowire.Number = 3
	nodeOperator      protowire.Number = 4
	nodeAttribute     protowire.Number = 5
	attributeName     protowire.Number = 1
	attributeFloat    protowire.Number = 2
	attributeInt      protowire.Number = 3
	attributeString   protowire.Number = 4
	attributeGraph    protowire.Number = 6
	attributeInts     protowire.Number = 8
	attributeType     protowire.Number = 20
	tensorDims        protowire.Number = 1
	tensorType        protowire.Number = 2
	tensorName        protowire.Number = 8
	tensorData        protowire.Number = 9
	valueName         protowire.Number = 1
	valueType         protowire.Number = 2
	valueDoc          protowire.Number = 3
	typeTensor        protowire.Number = 1
	tensorTypeElement protowire.Number = 1
	tensorTypeShape   protowire.Number = 2
	shapeDim          protowire.Number = 1
	dimValue          protowire.Number = 1
	dimName           protowire.Number = 2
)

// Values of attributeType (AttributeProto.AttributeType).
const (
	kindFloat  = 1
	kindInt    = 2
	kindString = 3
	kindGraph  = 5
	kindInts   = 7
)

// initializer is a tensor whose elements are copied only when the file is built.
type initializer struct {
	head message
	data any // slice of numbers
}

func newInitializer(name string, t Type, shape []int, data any) initializer {
	var m message
	for _, n := range shape {
		m.int(tensorDims, int64(n))
	}
	m.int(tensorType, int64(t))
	m.string(tensorName, name)
	m.begin(tensorData, binary.Size(data))
	return initializer{m, data}
}

func (x initializer) size() int { return len(x.head) + binary.Size(x.data) }

func (x initializer) append(m *message) {
	*m = appendLittleEndian(append(*m, x.head...), x.data)
}

// valueInfo returns the description of an input or an output; a nil shape means unknown.
func valueInfo(name string, t Type, doc string, shape []Dim) message {
	var dims, tensor, kind, m message
	for _, d := range shape {
		var dim message
		if d.name != "" {
			dim.string(dimName, d.name)
		} else {
			dim.int(dimValue, int64(d.size))
		}
		dims.bytes(shapeDim, dim)
	}
	tensor.int(tensorTypeElement, int64(t))
	if shape != nil {
		tensor.bytes(tensorTypeShape, dims)
	}
	kind.bytes(typeTensor, tensor)
	m.string(valueName, name)
	m.bytes(valueType, kind)
	m.string(valueDoc, doc)
	return m
}
