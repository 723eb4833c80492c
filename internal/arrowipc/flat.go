package arrowipc

import (
	"encoding/binary"
	"errors"
)

// errFlat is the error for metadata with offsets outside of their bounds.
var errFlat = errors.New("metadata is damaged: an offset or length points outside of it")

// A flatTable is one table of a FlatBuffers message, read with bounds checks. Arrow's own accessors
// index without checks, and loop up to any count they find.
type flatTable struct {
	buf    []byte
	pos    int // position of the table
	vtable int // position of its field offsets
	size   int // size of the vtable
}

// flatRoot returns the root table of buf.
func flatRoot(buf []byte) (flatTable, error) {
	return flatTableAt(buf, 0)
}

// flatTableAt follows the offset stored at position ref.
func flatTableAt(buf []byte, ref int) (flatTable, error) {
	offset, ok := flatUint32(buf, ref)
	if !ok || offset == 0 {
		return flatTable{}, errFlat
	}
	pos := int64(ref) + int64(offset)
	back, ok := flatUint32(buf, int(pos))
	if !ok {
		return flatTable{}, errFlat
	}
	vtable := pos - int64(int32(back))
	if vtable < 0 || vtable+4 > int64(len(buf)) {
		return flatTable{}, errFlat
	}
	// With an odd size, Arrow would read one field beyond the table.
	size := int64(binary.LittleEndian.Uint16(buf[vtable:]))
	if size < 4 || size%2 != 0 || vtable+size > int64(len(buf)) {
		return flatTable{}, errFlat
	}
	return flatTable{buf: buf, pos: int(pos), vtable: int(vtable), size: int(size)}, nil
}

// field returns the position of field slot (0, 1, …), which takes width bytes; ok is false if the
// field is absent and so has its default.
func (t flatTable) field(slot, width int) (pos int, ok bool, err error) {
	at := 4 + 2*slot
	if at+2 > t.size {
		return 0, false, nil
	}
	offset := int(binary.LittleEndian.Uint16(t.buf[t.vtable+at:]))
	if offset == 0 {
		return 0, false, nil
	}
	pos = t.pos + offset
	if pos+width > len(t.buf) {
		return 0, false, errFlat
	}
	return pos, true, nil
}

// int reads an integer field of 1, 2 or 8 bytes whose default is 0.
func (t flatTable) int(slot, width int) (int64, error) {
	pos, ok, err := t.field(slot, width)
	if !ok || err != nil {
		return 0, err
	}
	switch width {
	case 1:
		return int64(t.buf[pos]), nil
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(t.buf[pos:]))), nil
	default:
		return int64(binary.LittleEndian.Uint64(t.buf[pos:])), nil
	}
}

// table returns the table that a field refers to.
func (t flatTable) table(slot int) (sub flatTable, ok bool, err error) {
	pos, ok, err := t.field(slot, 4)
	if !ok || err != nil {
		return flatTable{}, false, err
	}
	sub, err = flatTableAt(t.buf, pos)
	return sub, err == nil, err
}

// vector returns the start of a field's vector and its number of elements of width bytes, all
// inside the buffer. An absent vector is empty.
func (t flatTable) vector(slot, width int) (start, count int, err error) {
	pos, ok, err := t.field(slot, 4)
	if !ok || err != nil {
		return 0, 0, err
	}
	offset, _ := flatUint32(t.buf, pos)
	at := int64(pos) + int64(offset)
	length, ok := flatUint32(t.buf, int(at))
	if !ok || at+4+int64(length)*int64(width) > int64(len(t.buf)) {
		return 0, 0, errFlat
	}
	return int(at) + 4, int(length), nil
}

// int64At reads a number of a struct inside a checked vector.
func (t flatTable) int64At(pos int) int64 {
	return int64(binary.LittleEndian.Uint64(t.buf[pos:]))
}

func flatUint32(buf []byte, pos int) (uint32, bool) {
	if pos < 0 || pos+4 > len(buf) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(buf[pos:]), true
}
