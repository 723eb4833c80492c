package cloud

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// readVRML reads the surfaces of VRML 2.0 (ISO/IEC 14772-1, "VRML97"): the indexed face sets of
// all shapes, moved, turned and scaled by the transforms that they are in. Of a Switch the chosen
// node is read, of an LOD the finest. Lines, points and text have no surface and are passed over,
// and so is all that only says how a surface looks; other geometry, prototypes and files that are
// included are errors, as a part of the surface would be missing. A surface has the colour that its
// material reflects (diffuseColor), or white without a material.
func readVRML(text []byte) (*Shape, error) {
	p := &vrmlParser{text: text, line: 1, defined: map[string]*vrmlNode{}}
	roots, err := p.scene()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	s := &vrmlSurface{Shape: &Shape{Faces: [][3]int{}}, room: len(text), color: white, part: noPart, numbers: map[string]int{}}
	for _, n := range roots {
		if err := s.add(n, identityTransform); err != nil {
			return nil, err
		}
	}
	if s.colorless {
		s.Colors = nil
	}
	return s.Shape, nil
}

// readVRMLParts is readVRML of a file in which materials have names, which are those of parts.
func readVRMLParts(text []byte) (*Shape, error) {
	s, err := readVRML(text)
	if err == nil && s.PartNames == nil {
		err = errNoParts
	}
	return s, err
}

// vrmlSurface collects the faces of a scene.
type vrmlSurface struct {
	*Shape
	part    int            // of the faces that come next: its number among the names, or noPart
	numbers map[string]int // of the names of parts
	// room is how many nodes and points may still come: nodes that are used again and again make
	// more of them than a file has bytes only if it is meant to be too large.
	room int

	color     Vec  // of the faces that are added
	colorless bool // a colour is none, or faces or corners have colours of their own, which are not read
}

// Colours of a surface without a material, and of a material that does not say its own.
var (
	white   = Vec{1, 1, 1}
	diffuse = Vec{0.8, 0.8, 0.8}
)

// colorOf is the colour of a Shape, if it is one.
func colorOf(n *vrmlNode) (color Vec, ok bool) {
	look := n.nodes["appearance"]
	if len(look) == 0 || len(look[0].nodes["material"]) == 0 {
		return white, true
	}
	c, ok := look[0].nodes["material"][0].numbers["diffuseColor"]
	if !ok {
		return diffuse, true
	}
	if len(c) != 3 {
		return Vec{}, false
	}
	for i := range c {
		color[i] = max(0, min(1, c[i])) // as it is shown
	}
	return color, true
}

func (s *vrmlSurface) take(n int) error {
	if s.room -= n; s.room < 0 {
		return errors.New("its nodes are used again so often that they make more points than the file has bytes")
	}
	return nil
}

// partOf is the number of the part that a shape is, which its material names: DEF PIN-01 Material is
// of the part PIN, as the number tells materials alone apart.
func (s *vrmlSurface) partOf(shape *vrmlNode) int {
	for _, appearance := range shape.nodes["appearance"] {
		for _, material := range appearance.nodes["material"] {
			name := strings.ReplaceAll(strings.ToValidUTF8(material.name, "\uFFFD"), "/", "-") // which divides category and part
			if short := strings.TrimRight(name, "0123456789"); strings.HasSuffix(short, "-") && len(short) > 1 {
				name = short[:len(short)-1]
			}
			if name == "" {
				continue
			}
			at, met := s.numbers[name]
			if !met {
				at, s.PartNames = len(s.PartNames), append(s.PartNames, name)
				s.numbers[name] = at
			}
			return at
		}
	}
	return noPart
}

// add adds the surface of a node and of those in it.
func (s *vrmlSurface) add(n *vrmlNode, by transform) error {
	if err := s.take(1); err != nil {
		return err
	}
	inside := n.nodes["children"]
	switch n.kind {
	case "Transform":
		t, err := transformOf(n)
		if err != nil {
			return err
		}
		by = by.after(t)
	case "Switch":
		inside = n.nodes["choice"]
		if which := n.numbers["whichChoice"]; len(which) != 1 || which[0] < 0 || int(which[0]) >= len(inside) {
			inside = nil // none, as −1 says
		} else {
			inside = inside[int(which[0]):][:1]
		}
	case "LOD":
		inside = n.nodes["level"]
		inside = inside[:min(len(inside), 1)]
	case "Shape":
		inside, s.part = n.nodes["geometry"], s.partOf(n)
		color, ok := colorOf(n)
		s.color, s.colorless = color, s.colorless || !ok
	case "IndexedFaceSet":
		return s.faces(n, by)
	case "Inline", "Box", "Cone", "Cylinder", "Sphere", "ElevationGrid", "Extrusion":
		return fmt.Errorf("a node %s, expected all surfaces as IndexedFaceSet", n.kind)
	}
	for _, m := range inside {
		if err := s.add(m, by); err != nil {
			return err
		}
	}
	return nil
}

// faces adds those of a face set.
func (s *vrmlSurface) faces(n *vrmlNode, by transform) error {
	first := len(s.Points)
	s.colorless = s.colorless || n.nodes["color"] != nil
	for _, c := range n.nodes["coord"] {
		numbers := c.numbers["point"]
		if len(numbers)%3 != 0 {
			return fmt.Errorf("%d coordinates of points, expected 3 of each", len(numbers))
		}
		if err := s.take(len(numbers) / 3); err != nil {
			return err
		}
		for v := range slices.Chunk(numbers, 3) {
			s.Points = append(s.Points, by.apply(Vec(v)))
		}
	}
	index := n.numbers["coordIndex"]
	if err := s.take(len(index)); err != nil {
		return err
	}
	var corners []int
	for i, at := range append(slices.Clip(index), -1) { // which the last face may leave out
		switch {
		case at == -1 && len(corners) > 2:
			s.fan(corners)
			for len(s.FaceParts) < len(s.Faces) {
				s.FaceParts = append(s.FaceParts, s.part)
			}
			corners = corners[:0]
		case at == -1 && len(corners) == 0:
		case at == -1:
			return fmt.Errorf("a face of %d corners, expected at least 3", len(corners))
		case at != math.Trunc(at) || at < 0 || int(at) >= len(s.Points)-first:
			return fmt.Errorf("coordIndex, number %d: corner %v, expected 0 to %d", i, at, len(s.Points)-first-1)
		default:
			corners = append(corners, first+int(at))
		}
	}
	for len(s.Colors) < len(s.Faces) {
		s.Colors = append(s.Colors, s.color)
	}
	return nil
}
