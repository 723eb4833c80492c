package cloud

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// plyElement is an element of the header, and plyProperty one of its properties.
type plyElement struct {
	name       string
	count      int
	properties []plyProperty
}

type plyProperty struct {
	name, kind, length string // length is the type of a list's length; "" for a single number
}

// plySizes are the sizes of the number types in bytes.
var plySizes = map[string]int{"char": 1, "uchar": 1, "int8": 1, "uint8": 1, "short": 2,
	"ushort": 2, "int16": 2, "uint16": 2,
	"int": 4, "uint": 4, "int32": 4, "uint32": 4, "float": 4, "float32": 4, "double": 8, "float64": 8}

// plyBody reads numbers of given types in sequence.
type plyBody struct {
	rest  []byte
	order binary.ByteOrder // nil for text
}

var errPLYEnd = errors.New("expected more numbers, found the end")

func (b *plyBody) next(kind string) (float64, error) {
	if b.order == nil {
		b.rest = bytes.TrimLeft(b.rest, " \t\r\n")
		end := bytes.IndexAny(b.rest, " \t\r\n")
		if end < 0 {
			end = len(b.rest)
		}
		word := string(b.rest[:end])
		if b.rest = b.rest[end:]; word == "" {
			return 0, errPLYEnd
		}
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return 0, fmt.Errorf("%.40q, expected a number", word)
		}
		return v, nil
	}
	size := plySizes[kind]
	if len(b.rest) < size {
		return 0, errPLYEnd
	}
	x := b.rest[:size]
	b.rest = b.rest[size:]
	switch kind {
	case "char", "int8":
		return float64(int8(x[0])), nil
	case "uchar", "uint8":
		return float64(x[0]), nil
	case "short", "int16":
		return float64(int16(b.order.Uint16(x))), nil
	case "ushort", "uint16":
		return float64(b.order.Uint16(x)), nil
	case "int", "int32":
		return float64(int32(b.order.Uint32(x))), nil
	case "uint", "uint32":
		return float64(b.order.Uint32(x)), nil
	case "float", "float32":
		return float64(math.Float32frombits(b.order.Uint32(x))), nil
	}
	return math.Float64frombits(b.order.Uint64(x)), nil
}

// readPLY reads the Polygon File Format, text or binary: the vertex properties x, y, z, nx, ny and
// nz, and the corners of faces.
func readPLY(text []byte) (*Shape, error) {
	elements, body, err := plyHeader(text)
	if err != nil {
		return nil, err
	}
	s := &Shape{}
	for _, e := range elements {
		for i := range e.count {
			if err := s.plyElement(e, body); err != nil {
				return nil, fmt.Errorf("%s %d: %w", e.name, i, err)
			}
		}
		if e.name == "vertex" && !e.has("nx", "ny", "nz") {
			s.Normals = nil
		}
	}
	return s, nil
}

func (e *plyElement) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(e.properties, func(p plyProperty) bool { return p.name == name && p.length == "" })
	})
}

// plyElement reads one item of an element, such as a vertex or a face.
func (s *Shape) plyElement(e plyElement, body *plyBody) error {
	var point, normal Vec
	for _, p := range e.properties {
		if p.length == "" {
			v, err := body.next(p.kind)
			if err != nil {
				return err
			}
			if at := slices.Index([]string{"x", "y", "z"}, p.name); at >= 0 {
				point[at] = v
			} else if at := slices.Index([]string{"nx", "ny", "nz"}, p.name); at >= 0 {
				normal[at] = v
			}
			continue
		}
		length, err := body.next(p.length)
		if err != nil {
			return err
		}
		if !(length >= 0 && length <= float64(len(body.rest))) {
			return fmt.Errorf("found a list of %v numbers, expected 0 to %d (the remaining bytes)", length,
				len(body.rest))
		}
		faces := e.name == "face" && strings.HasPrefix(p.name, "vertex_ind")
		if faces && length > maxCorners {
			return fmt.Errorf("found a face of %v corners, expected at most %d", length, maxCorners)
		}
		var corners []int
		for range int(length) {
			v, err := body.next(p.kind)
			if err != nil {
				return err
			}
			if !faces { // other lists, such as texture coordinates
				continue
			}
			if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
				return fmt.Errorf("%v, expected a whole number", v)
			}
			corners = append(corners, int(v))
		}
		if err := s.fan(corners); err != nil {
			return err
		}
	}
	if e.name == "vertex" {
		s.Points, s.Normals = append(s.Points, point), append(s.Normals, normal)
	}
	return nil
}

// plyHeader reads the header. It returns the elements and the body after the header.
func plyHeader(text []byte) (elements []plyElement, body *plyBody, err error) {
	body = &plyBody{}
	format := ""
	for n := 1; ; n++ {
		line, rest, found := bytes.Cut(text, []byte("\n"))
		words := strings.Fields(string(line))
		bad := func(expected string) error { return fmt.Errorf("line %d: %.60q, expected %s", n, line, expected) }
		switch {
		case !found:
			return nil, nil, bad("end_header before the end")
		case n == 1:
			if len(words) != 1 || words[0] != "ply" {
				return nil, nil, bad("ply")
			}
		case len(words) == 0 || words[0] == "comment" || words[0] == "obj_info":
		case words[0] == "format" && len(words) == 3:
			format = words[1]
		case words[0] == "element" && len(words) == 3:
			count, err := strconv.Atoi(words[2])
			if err != nil || count < 0 || count > len(rest) { // each element takes at least a byte
				return nil, nil, bad("an element count that does not exceed the remaining bytes")
			}
			elements = append(elements, plyElement{name: words[1], count: count})
		case words[0] == "property" && len(elements) > 0:
			p := plyProperty{name: words[len(words)-1]}
			switch {
			case len(words) == 3:
				p.kind = words[1]
			case len(words) == 5 && words[1] == "list" && plySizes[words[2]] > 0:
				p.length, p.kind = words[2], words[3]
			}
			if plySizes[p.kind] == 0 {
				return nil, nil, bad("a property with its type and name")
			}
			e := &elements[len(elements)-1]
			e.properties = append(e.properties, p)
		case words[0] == "end_header":
			orders := map[string]binary.ByteOrder{"ascii": nil, "binary_little_endian": binary.LittleEndian,
				"binary_big_endian": binary.BigEndian}
			order, known := orders[format]
			if !known {
				return nil, nil, fmt.Errorf("format %.40q, expected ascii, binary_little_endian or binary_big_endian",
					format)
			}
			for _, e := range elements {
				if len(e.properties) == 0 && e.count > 0 {
					return nil, nil, fmt.Errorf("element %.40q has no properties", e.name)
				}
				if e.name == "vertex" && !e.has("x", "y", "z") {
					return nil, nil, errors.New("expected the properties x, y and z of vertices")
				}
			}
			body.rest, body.order = rest, order
			return elements, body, nil
		default:
			return nil, nil, bad("format, comment, element, property or end_header")
		}
		text = rest
	}
}
