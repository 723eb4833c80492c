package table

import (
	"bufio"
	"bytes"
	"fmt"
)

// Page types.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// pageHeader is the header of a page.
type pageHeader struct {
	kind                     int32
	uncompressed, compressed int32 // bytes
	crc                      *uint32
	values, encoding         int32
	definitions, repetitions int32 // encodings of the levels; in version 2, their sizes in bytes
	nulls, rows              int32 // version 2 only
	plain                    bool  // version 2: the values are not compressed
	typeHeaders              int   // number of type-specific headers
}

// maxPageHeader is the maximum size of a header in bytes, enough for statistics of long texts.
const maxPageHeader = 16 << 20

// readPageHeader reads a page header, and returns its size in bytes. A header that is longer than the
// parameter remaining or maxPageHeader is an error.
func readPageHeader(r *bufio.Reader, remaining int64) (h pageHeader, size int64, err error) {
	limit := min(remaining, maxPageHeader)
	t := &thrift{r, limit}
	readNumbers := func(into ...*int32) error {
		for _, p := range into {
			*p = -1
		}
		h.plain = false
		h.typeHeaders++
		return t.fields(1, func(id int, kind byte) (bool, error) {
			switch {
			case id == 7 && len(into) == 6:
				h.plain = kind == thriftFalse
				return kind == thriftTrue || kind == thriftFalse, nil
			case id < 1 || id > len(into):
				return false, nil
			}
			var err error
			*into[id-1], err = t.int32(kind)
			return true, err
		})
	}
	h.kind, h.uncompressed, h.compressed = -1, -1, -1
	err = t.fields(0, func(id int, kind byte) (read bool, err error) {
		switch id {
		case 1:
			h.kind, err = t.int32(kind)
		case 2:
			h.uncompressed, err = t.int32(kind)
		case 3:
			h.compressed, err = t.int32(kind)
		case 4:
			var sum int32
			sum, err = t.int32(kind)
			unsigned := uint32(sum)
			h.crc = &unsigned
		case 5:
			err = readNumbers(&h.values, &h.encoding, &h.definitions, &h.repetitions)
		case 7:
			err = readNumbers(&h.values, &h.encoding)
		case 8:
			err = readNumbers(&h.values, &h.nulls, &h.rows, &h.encoding, &h.definitions, &h.repetitions)
		default:
			return false, nil
		}
		return true, err
	})
	return h, limit - t.remaining, err
}

// encode returns the header of the uncompressed page in Thrift's encoding.
func (h *pageHeader) encode() []byte {
	var w thriftWriter
	w.int32(1, h.kind)
	w.int32(2, h.uncompressed)
	w.int32(3, h.uncompressed)
	switch h.kind {
	case pageData:
		w.writeStruct(5, h.values, h.encoding, h.definitions, h.repetitions)
	case pageDictionary:
		w.writeStruct(7, h.values, h.encoding)
	case pageDataV2:
		w.writeStruct(8, h.values, h.nulls, h.rows, h.encoding, h.definitions, h.repetitions)
		w.out = append(w.out[:len(w.out)-1], 1<<4|thriftFalse, 0) // field 7: not compressed
	}
	return append(w.out, 0)
}

// checkFooter checks that the lists in a file's metadata are as long as they claim, and that
// columns are not nested too deeply. It returns the names of logical types that Arrow's reader does
// not know, by top-level column, and hides these types from Arrow's reader.
func checkFooter(footer []byte) (unknown map[string]string, err error) {
	t := &thrift{bufio.NewReader(bytes.NewReader(footer)), int64(len(footer))}
	offset := func() int { return len(footer) - int(t.remaining) }
	unknown = map[string]string{}
	return unknown, t.fields(0, func(id int, kind byte) (bool, error) {
		if id != 2 || kind != thriftList {
			return false, nil
		}
		n, element, err := t.elements()
		if err != nil || element != thriftStruct {
			return true, errThrift
		}
		var open []int32 // remaining children of each enclosing column
		column := ""     // top-level column that contains element i
		for i := range n {
			children := int32(0)
			name, logical := "", ""
			if err := t.fields(1, func(id int, kind byte) (read bool, err error) {
				switch {
				case id == 4 && kind == thriftBinary:
					size, err := t.varint()
					from := offset()
					if err == nil {
						err = t.discard(size)
					}
					if err == nil {
						name = string(footer[from:offset()])
					}
					return true, err
				case id == 5:
					children, err = t.int32(kind)
					return true, err
				case id == logicalTypeField && kind == thriftStruct:
					head := offset() - 1
					if logical, err = t.unknownType(); err == nil && logical != "" {
						hideField(footer, head)
					}
					return true, err
				}
				return false, nil
			}); err != nil {
				return true, err
			}
			for len(open) > 0 && open[len(open)-1] == 0 {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				open[len(open)-1]--
			}
			if children < 0 || len(open) == 0 && i > 0 || len(open) == maxColumnDepth {
				return true, fmt.Errorf("schema: element %d: expected a single tree of columns, "+
					"nested at most %d deep", i, maxColumnDepth)
			}
			if len(open) == 1 {
				column = name
			}
			if logical != "" && len(open) > 0 {
				unknown[column] = logical
			}
			open = append(open, children)
		}
		return true, nil
	})
}

// logicalTypeField is the number of a schema element's field for the logical type. It is the last
// field that Arrow's reader knows.
const logicalTypeField = 10

// Field numbers of the union LogicalType, up to the last type that Arrow's reader knows, and the field
// number of the last time unit.
const (
	logicalTime      = 7
	logicalTimestamp = 8
	logicalUnused    = 9
	lastLogicalType  = 15
	lastTimeUnit     = 3
)

// logicalTypeNames are names of logical types newer than Arrow's reader.
var logicalTypeNames = map[int]string{16: "VARIANT", 17: "GEOMETRY", 18: "GEOGRAPHY"}

// unknownType reads a logical type, and returns its name if Arrow's reader does not know the type,
// otherwise "".
func (t *thrift) unknownType() (name string, err error) {
	name = "a logical type without a name"
	err = t.fields(2, func(id int, kind byte) (bool, error) {
		switch {
		case (id == logicalTime || id == logicalTimestamp) && kind == thriftStruct:
			name = "a time of an unknown unit"
			return true, t.fields(3, func(id int, kind byte) (bool, error) {
				if id != 2 || kind != thriftStruct {
					return false, nil
				}
				return true, t.fields(4, func(id int, _ byte) (bool, error) {
					if id >= 1 && id <= lastTimeUnit {
						name = ""
					}
					return false, nil
				})
			})
		case id >= 1 && id <= lastLogicalType && id != logicalUnused:
			name = ""
		case logicalTypeNames[id] != "":
			name = logicalTypeNames[id]
		default:
			name = fmt.Sprintf("logical type %d", id)
		}
		return false, nil
	})
	return name, err
}

// hideField changes the field number of a logical type to 11, which Arrow's reader skips. head is the
// index of the last byte of the field header.
func hideField(footer []byte, head int) {
	switch b := footer[head]; {
	case b&0x0f == thriftStruct && b>>4 != 0 && b>>4 != 15: // difference to the previous field number
		footer[head] += 1 << 4
	case b == 2*logicalTypeField: // absolute field number in zigzag encoding
		footer[head] += 2
	}
}

// maxColumnDepth is the maximum nesting depth of columns.
const maxColumnDepth = 64
