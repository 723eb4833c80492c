package table

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// Type codes of Thrift's compact protocol, which encodes Parquet's metadata.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxThriftDepth is the maximum nesting depth, larger than in any Parquet metadata.
const maxThriftDepth = 16

// errThrift is the error of invalid metadata.
var errThrift = errors.New("metadata is damaged")

// thrift decodes Thrift's compact protocol within bounds. Generated code would allocate whatever
// length a list claims.
type thrift struct {
	r         *bufio.Reader
	remaining int64 // maximum number of bytes still to read
}

// byte reads a byte.
func (t *thrift) byte() (byte, error) {
	if t.remaining--; t.remaining < 0 {
		return 0, errThrift
	}
	b, err := t.r.ReadByte()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// varint reads an unsigned LEB128 integer.
func (t *thrift) varint() (v uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := t.byte()
		if err != nil {
			return 0, err
		}
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, nil
		}
	}
	return 0, errThrift
}

// int32 reads a 32-bit integer.
func (t *thrift) int32(kind byte) (int32, error) {
	v, err := t.varint()
	if err == nil && (kind != thriftInt32 || v > 1<<32-1) {
		err = errThrift
	}
	return int32(uint32(v)>>1) ^ -int32(uint32(v)&1), err
}

// discard skips n bytes.
func (t *thrift) discard(n uint64) error {
	if n > uint64(max(t.remaining, 0)) {
		return errThrift
	}
	t.remaining -= int64(n)
	_, err := t.r.Discard(int(n))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// fields calls visit with each field of a struct. Fields that visit does not read are skipped.
func (t *thrift) fields(depth int, visit func(id int, kind byte) (read bool, err error)) error {
	if depth > maxThriftDepth {
		return errThrift
	}
	for id := 0; ; {
		head, err := t.byte()
		if err != nil {
			return err
		}
		kind := head & 0x0f
		if head == 0 {
			return nil
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			v, err := t.varint()
			if err != nil {
				return err
			}
			id = int(int16(v>>1) ^ -int16(v&1))
		}
		read := false
		if visit != nil {
			if read, err = visit(id, kind); err != nil {
				return err
			}
		}
		if !read {
			if err := t.skip(kind, depth); err != nil {
				return err
			}
		}
	}
}

// elements reads the header of a list. It rejects more elements than remaining bytes.
func (t *thrift) elements() (n uint64, kind byte, err error) {
	head, err := t.byte()
	if err != nil {
		return 0, 0, err
	}
	if n = uint64(head >> 4); n == 15 {
		n, err = t.varint()
	}
	if err == nil && n > uint64(max(t.remaining, 0)) {
		err = errThrift
	}
	return n, head & 0x0f, err
}

// skip skips a value of the type with code kind.
func (t *thrift) skip(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse:
		return nil
	case thriftByte:
		return t.discard(1)
	case thriftInt16, thriftInt32, thriftInt64:
		_, err := t.varint()
		return err
	case thriftDouble:
		return t.discard(8)
	case thriftBinary:
		n, err := t.varint()
		if err != nil {
			return err
		}
		return t.discard(n)
	case thriftList, thriftSet:
		n, kind, err := t.elements()
		if err != nil {
			return err
		}
		return t.skipAll(n, depth, kind)
	case thriftMap:
		n, err := t.varint()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := t.byte()
		if err != nil {
			return err
		}
		if n > uint64(max(t.remaining, 0)) {
			return errThrift
		}
		return t.skipAll(n, depth, kinds>>4, kinds&0x0f)
	case thriftStruct:
		return t.fields(depth+1, nil)
	}
	return errThrift
}

// skipAll skips n elements of a list, or n pairs of a map.
func (t *thrift) skipAll(n uint64, depth int, kinds ...byte) error {
	if depth > maxThriftDepth {
		return errThrift
	}
	for range n {
		for _, kind := range kinds {
			if kind == thriftTrue || kind == thriftFalse { // booleans in a list take a byte each
				kind = thriftByte
			}
			if err := t.skip(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// thriftWriter encodes struct fields in the compact protocol.
type thriftWriter struct {
	out []byte
	id  byte
}

// field begins a field. The number id must exceed the number of the previous field by 1 to 15.
func (w *thriftWriter) field(id, kind byte) {
	w.out = append(w.out, (id-w.id)<<4|kind)
	w.id = id
}

func (w *thriftWriter) int32(id byte, v int32) {
	w.field(id, thriftInt32)
	w.out = binary.AppendUvarint(w.out, uint64(uint32(v<<1)^uint32(v>>31)))
}

// writeStruct writes a struct field with the given numbers as its fields 1, 2, ….
func (w *thriftWriter) writeStruct(id byte, numbers ...int32) {
	w.field(id, thriftStruct)
	inner := thriftWriter{out: w.out}
	for i, v := range numbers {
		inner.int32(byte(i+1), v)
	}
	w.out = append(inner.out, 0)
}
