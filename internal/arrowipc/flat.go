package arrowipc

import (
	"encoding/binary"
	"errors"
)

// errFlat is the error for metadata with an offset or length out of bounds.
var errFlat = errors.New("metadata is damaged: an offset or a length points outside it")

// A flatTable is a table of a FlatBuffers message with bounds-checked accessors. Arrow's own
// accessors index without checks and loop up to any stated count.
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

// flatTableAt returns the table to which the offset at position ref points.
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
	// With an odd size, Arrow would read the offset of a field beyond the vtable.
	size := int64(binary.LittleEndian.Uint16(buf[vtable:]))
	if size < 4 || size%2 != 0 || vtable+size > int64(len(buf)) {
		return flatTable{}, errFlat
	}
	return flatTable{buf: buf, pos: int(pos), vtable: int(vtable), size: int(size)}, nil
}

// field returns the position of the field in the given slot (0, 1, …). The field has width bytes. ok is
// false if the field is absent and therefore has its default value.
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

// int returns the value of an integer field of 1, 2 or 8 bytes with default 0.
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

// table returns the table to which a field refers.
func (t flatTable) table(slot int) (sub flatTable, ok bool, err error) {
	pos, ok, err := t.field(slot, 4)
	if !ok || err != nil {
		return flatTable{}, false, err
	}
	sub, err = flatTableAt(t.buf, pos)
	return sub, err == nil, err
}

// vector returns the start of a field's vector and the number of its elements, which have width
// bytes each and lie inside the buffer. An absent vector is empty.
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

// int64At returns the number at a position inside a checked vector.
func (t flatTable) int64At(pos int) int64 {
	return int64(binary.LittleEndian.Uint64(t.buf[pos:]))
}

func flatUint32(buf []byte, pos int) (uint32, bool) {
	if pos < 0 || pos+4 > len(buf) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(buf[pos:]), true
}
