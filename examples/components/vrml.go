package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// surface is a mesh of triangles.
type surface struct {
	points    []vec
	triangles []triangle
	named     bool // at least one material has a name
	ownColors bool // faces or corners have their own colours, which readVRML skips
}

type triangle struct {
	corners [3]int
	material
}

// material is the colour and the name of a surface.
type material struct {
	color vec    // diffuseColor, 0 to 1
	name  string // DEF name without a suffix such as -01: PIN for PIN-01; "" without a name
}

// readVRML reads the indexed face sets of VRML 2.0 (ISO/IEC 14772-1) as written by the exporters of
// KiCad's library: without transforms, and with USE only for materials. Transforms that move points, USE of
// other nodes, prototypes, inlined files, and surfaces other than face sets are errors.
func readVRML(text string) (*surface, error) {
	if !strings.HasPrefix(text, "#VRML V2.0") {
		return nil, errors.New("expected a file that begins with #VRML V2.0")
	}
	s, in := &surface{}, &scanner{text: text}
	materials := map[string]material{}
	var current shape
	depth := 0
	for word := in.next(); word != ""; word = in.next() {
		name := ""
		if word == "DEF" {
			name, word = in.next(), in.next()
		}
		var err error
		switch word {
		case "{":
			depth++
		case "}":
			depth--
		case "Shape":
			err = s.add(&current)
			current = shape{material: material{color: vec{1, 1, 1}}}
		case "Material":
			current.material, err = in.material(name)
			materials[name] = current.material
			s.named = s.named || current.name != ""
		case "USE":
			name, defined := in.next(), false
			if current.material, defined = materials[name]; !defined {
				err = fmt.Errorf("USE %s: expected the name of a material", name)
			}
		case "IndexedFaceSet", "IndexedLineSet":
			current.faces = word == "IndexedFaceSet"
		case "point":
			current.numbers, err = in.numbers()
		case "coordIndex":
			current.index, err = in.numbers()
		case "Color":
			s.ownColors = s.ownColors || current.faces
		case "rotation", "scale", "translation":
			err = in.identity(word)
		case "Inline", "Box", "Cone", "Cylinder", "Sphere", "ElevationGrid", "Extrusion", "PROTO":
			err = fmt.Errorf("%s: expected all surfaces as IndexedFaceSet", word)
		}
		if err != nil {
			return nil, err
		}
	}
	if depth != 0 {
		return nil, errors.New("expected } for each {")
	}
	return s, s.add(&current)
}

// shape collects the fields of a Shape until its faces are added.
type shape struct {
	material
	faces   bool      // the geometry is an IndexedFaceSet
	numbers []float64 // x, y and z of each point
	index   []float64 // point indices of the corners; -1 ends a face
}

// add appends the faces of a shape to the surface, split into triangles.
func (s *surface) add(current *shape) error {
	if !current.faces {
		return nil
	}
	if len(current.numbers)%3 != 0 {
		return fmt.Errorf("%d coordinates of points, expected 3 for each", len(current.numbers))
	}
	first := len(s.points)
	for v := range slices.Chunk(current.numbers, 3) {
		s.points = append(s.points, vec(v))
	}
	var corners []int
	for _, index := range append(current.index, -1) { // the last face may omit its -1
		i := first + int(index)
		switch {
		case index >= 0 && i < len(s.points):
			corners = append(corners, i)
			continue
		case index != -1:
			return fmt.Errorf("coordIndex %v, expected 0 to %d", index, len(s.points)-first-1)
		case len(corners) == 1 || len(corners) == 2:
			return fmt.Errorf("a face of %d corners, expected at least 3", len(corners))
		}
		for i := 2; i < len(corners); i++ {
			s.triangles = append(s.triangles, triangle{[3]int{corners[0], corners[i-1], corners[i]}, current.material})
		}
		corners = corners[:0]
	}
	return nil
}

// scanner splits a text into words.
type scanner struct{ text string }

const (
	spaces   = " \t\r\n,"
	brackets = "{}[]"
)

// next returns the next word, or "" at the end. A word is a bracket, a string with its quotes, or a
// run of other characters.
func (s *scanner) next() string {
	for {
		s.text = strings.TrimLeft(s.text, spaces)
		if !strings.HasPrefix(s.text, "#") {
			break
		}
		_, s.text, _ = strings.Cut(s.text, "\n")
	}
	end := len(s.text)
	switch {
	case end == 0:
		return ""
	case strings.Contains(brackets, s.text[:1]):
		end = 1
	case s.text[0] == '"':
		if quote := strings.IndexByte(s.text[1:], '"'); quote >= 0 {
			end = quote + 2
		}
	default:
		if i := strings.IndexAny(s.text, spaces+brackets+`#"`); i >= 0 {
			end = i
		}
	}
	word := s.text[:end]
	s.text = s.text[end:]
	return word
}

// numbers reads a list in brackets, or all numbers up to the next word.
func (s *scanner) numbers() (out []float64, err error) {
	start := s.text
	word := s.next()
	list := word == "["
	if list {
		word = s.next()
	}
	for {
		if list && word == "]" {
			return out, nil
		}
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			if s.text = start; !list && len(out) > 0 {
				return out, nil
			}
			return nil, fmt.Errorf("expected a number, found %.20q", word)
		}
		out = append(out, v+0) // -0 becomes 0
		start = s.text
		word = s.next()
	}
}

// material reads the fields of a Material.
func (s *scanner) material(name string) (m material, err error) {
	m.name = strings.ReplaceAll(name, "/", "-") // a slash separates class and part
	if short := strings.TrimRight(m.name, "0123456789"); strings.HasSuffix(short, "-") && len(short) > 1 {
		m.name = short[:len(short)-1]
	}
	m.color = vec{0.8, 0.8, 0.8} // the standard's default
	if open := s.next(); open != "{" {
		return m, fmt.Errorf("material: expected {, found %.20q", open)
	}
	for word := s.next(); word != "}"; word = s.next() {
		if word == "" {
			return m, errors.New("material: expected }, found the end")
		}
		if word != "diffuseColor" {
			continue
		}
		color, err := s.numbers()
		if err != nil || len(color) != 3 {
			return m, fmt.Errorf("diffuseColor: %d numbers, expected 3", len(color))
		}
		for i, v := range color {
			m.color[i] = max(0, min(1, v))
		}
	}
	return m, nil
}

// identity reads a field of a Transform and returns an error if the field moves points.
func (s *scanner) identity(field string) error {
	values, err := s.numbers()
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	if field == "rotation" {
		values = values[len(values)-1:] // the angle
	}
	for _, v := range values {
		if v != 0 && field != "scale" || v != 1 && field == "scale" {
			return fmt.Errorf("%s: expected no transform", field)
		}
	}
	return nil
}
