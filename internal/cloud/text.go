package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
)

// maxLine is the maximum length of a line in bytes. It fits a face with maxCorners corners. The
// words of a line take several times the memory of the line.
const maxLine = 32 * maxCorners

// lines calls f with the words of each line, except for empty lines and comments, which begin with
// #. It adds the line number to errors. A line that ends in \ continues on the next line, as in
// OBJ.
func lines(text []byte, f func(words []string) error) error {
	var continued []byte // first part of a continued line
	n, first := 0, 0
	for line := range bytes.Lines(text) {
		n++
		if len(continued)+len(line) > maxLine {
			return fmt.Errorf("line %d: %d bytes, expected at most %d", n, len(continued)+len(line), maxLine)
		}
		plain, _, _ := strings.Cut(string(line), "#")
		if len(continued) == 0 {
			first = n
		}
		if more, ok := strings.CutSuffix(strings.TrimSpace(plain), "\\"); ok {
			continued = append(append(continued, more...), ' ')
			continue
		}
		words := source.NumberWords(string(continued) + plain)
		if continued = continued[:0]; len(words) == 0 {
			continue
		}
		if err := f(words); err != nil {
			return fmt.Errorf("line %d: %w", first, err)
		}
	}
	if len(source.NumberWords(string(continued))) > 0 {
		return fmt.Errorf("line %d: expected a line after \\, found the end", first)
	}
	return nil
}

// parseVec parses the first three words as numbers.
func parseVec(words []string) (v Vec, err error) {
	if len(words) < 3 {
		return v, fmt.Errorf("found %d numbers, expected 3", len(words))
	}
	for c := range v {
		if v[c], err = strconv.ParseFloat(words[c], 64); err != nil && strings.Contains(words[c], ",") {
			return v, fmt.Errorf("%.40q, expected a number with a decimal point, and one kind of separator between numbers", words[c])
		}
		if err != nil {
			return v, fmt.Errorf("%.40q, expected a number", words[c])
		}
	}
	return v, nil
}

// readXYZ reads lines of x y z, or x y z nx ny nz, and ignores further columns. Columns 4 to 6 are
// normals only if they have a length of about 1, or of 0, in every line. Otherwise they may be colours:
// they are ignored with a note, and columns 7 to 9 are the normals if their lengths are valid.
func readXYZ(text []byte) (*Shape, error) {
	s := &Shape{}
	return s, s.readPoints(text, false)
}

// readPTS reads lines like readXYZ. The number of points may precede the points of each scan.
func readPTS(text []byte) (*Shape, error) {
	s := &Shape{}
	return s, s.readPoints(text, true)
}

// readPoints reads lines of points, and refuses files whose first column counts the lines.
func (s *Shape) readPoints(text []byte, counted bool) error {
	if err := s.readXYZ(text, counted); err != nil {
		return err
	}
	if s.counting.isLineNumber() {
		return fmt.Errorf("column 1 contains line numbers (%d to %g), and column 4 contains fractions: expected x y z in columns 1 to 3", s.counting.first, s.Points[len(s.Points)-1][0])
	}
	return nil
}

// readXYZ reads lines of points with optional normals. If counted is set, a line with a single
// integer is the number of points that follow.
func (s *Shape) readXYZ(text []byte, counted bool) error {
	text, err := withoutNames(text)
	if err != nil {
		return err
	}
	var normals, normals7to9 normals
	var columns7to9 []Vec
	count, before := -1, 0 // stated number of points of the current scan, and number of points before it
	check := func() error {
		if found := len(s.Points) - before; count >= 0 && found != count {
			return fmt.Errorf("expected %d points as stated on the line before them, found %d", count, found)
		}
		return nil
	}
	err = lines(text, func(words []string) error {
		if n, err := strconv.Atoi(words[0]); counted && len(words) == 1 && err == nil && n >= 0 &&
			(count >= 0 || len(s.Points) == 0) {
			err := check() // checks the previous scan
			count, before = n, len(s.Points)
			return err
		}
		p, err := parseVec(words)
		if err != nil {
			return err
		}
		has := len(words) >= 6
		if len(s.Points) > 0 && has != (s.Normals != nil) {
			return fmt.Errorf("found %d numbers, expected a normal on either all lines or none", len(words))
		}
		s.Points = append(s.Points, p)
		s.counting.add(p[0], words)
		if has {
			n, err := parseVec(words[3:])
			if err != nil {
				return err
			}
			s.Normals = append(s.Normals, n)
			normals.add(n)
		}
		if len(words) >= 9 && len(columns7to9) == len(s.Points)-1 {
			if n, err := parseVec(words[6:]); err == nil {
				columns7to9 = append(columns7to9, n)
				normals7to9.add(n)
			}
		}
		return nil
	})
	if err == nil {
		err = check()
	}
	if s.Normals != nil && !normals.areUnit() {
		s.Normals, s.ignored = nil, normals.describe()
		if len(columns7to9) == len(s.Points) && normals7to9.areUnit() {
			s.Normals = columns7to9
		}
	}
	return err
}

// counting checks whether the first column counts the lines, from 0 or 1. This is likely only if
// column 4 has fractions, like a coordinate.
type counting struct {
	first, lines int
	broken       bool // the first column does not count the lines, or a line has no column 4
	fractions    bool // column 4 has fractions
}

// add checks the first coordinate and the words of the next line.
func (c *counting) add(x float64, words []string) {
	if c.lines == 0 {
		c.first = int(x)
	}
	c.broken = c.broken || len(words) < 4 || c.first != 0 && c.first != 1 || x != float64(c.first+c.lines)
	c.fractions = c.fractions || len(words) > 3 && strings.Contains(words[3], ".")
	c.lines++
}

// minCounted is the minimum number of consecutive integers that is unlikely to occur by chance.
const minCounted = 8

// isLineNumber reports whether the first column is probably a line number.
func (c *counting) isLineNumber() bool { return !c.broken && c.fractions && c.lines >= minCounted }

// withoutNames blanks a first line of column names, which may follow # or //. The line remains, so that
// line numbers do not change. The first three columns must be called x, y and z.
func withoutNames(text []byte) ([]byte, error) {
	line := text
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		line = text[:end]
	}
	names := source.NumberWords(strings.ToLower(strings.Trim(strings.TrimSpace(string(line[:min(len(line), maxNames)])),
		"#/")))
	for i := range names {
		names[i] = strings.Trim(names[i], `"'`)
	}
	at := [3]int{}
	for i, name := range []string{"x", "y", "z"} {
		at[i] = slices.Index(names, name)
	}
	switch {
	case slices.Contains(at[:], -1):
		return text, nil
	case at != [3]int{0, 1, 2}:
		return nil, fmt.Errorf("line 1: found the column names %.80q, expected x, y and z for columns 1 to 3", names)
	}
	return append(bytes.Repeat([]byte(" "), len(line)), text[len(line):]...), nil
}

// maxNames is the number of bytes of the first line in which withoutNames looks for column names.
const maxNames = 1 << 10

// normals checks whether vectors are normals.
type normals struct {
	unit int // number of vectors of length 0.9 to 1.1
	off  Vec // first vector whose length is neither about 1 nor 0
}

// add checks the next vector.
func (n *normals) add(v Vec) {
	switch length := v.Norm(); {
	case length > 0.9 && length < 1.1:
		n.unit++
	case length != 0 && n.off == Vec{}:
		n.off = v
	}
}

// areUnit reports whether all vectors except 0 0 0 have a length of about 1. It returns false if all
// vectors are 0 0 0.
func (n *normals) areUnit() bool { return n.unit > 0 && n.off == Vec{} }

// describe returns a description of vectors that are not normals.
func (n *normals) describe() string {
	if n.off == (Vec{}) {
		return "0 0 0 in every line"
	}
	return fmt.Sprintf("%g %g %g has the length %.4g", n.off[0], n.off[1], n.off[2], n.off.Norm())
}

// maxParts is the maximum number of parts.
const maxParts = 1 << 16

// readParts reads points like readXYZ, with an integer part number in the last column: x y z part, x y z
// nx ny nz part, or x y z r g b nx ny nz part.
func readParts(text []byte) (*Shape, error) { return readWithParts(text, false) }

// readPTSParts reads lines like readParts. The number of points may precede the points of each scan.
func readPTSParts(text []byte) (*Shape, error) { return readWithParts(text, true) }

// readWithParts reads points and the part in the last column.
func readWithParts(text []byte, counted bool) (*Shape, error) {
	s := &Shape{}
	text, err := withoutNames(text)
	if err == nil {
		err = s.readXYZ(text, counted)
	}
	if err == nil && s.ignored != "" && s.Normals == nil {
		err = fmt.Errorf("columns 4 to 6, expected normals of length 1: %s", s.ignored)
	}
	if err != nil {
		return nil, err
	}
	want, expected := 4, "4 or 7: a point, an optional normal, and a part"
	switch {
	case s.ignored != "":
		want, expected = 10, "10: a point, a colour, a normal, and a part"
	case s.Normals != nil:
		want = 7
	}
	err = lines(text, func(words []string) error {
		if counted && len(words) == 1 { // the number of points
			return nil
		}
		if len(words) != want {
			return fmt.Errorf("found %d numbers, expected %s", len(words), expected)
		}
		number, err := strconv.ParseFloat(words[want-1], 64)
		if err != nil || number != math.Trunc(number) || number < 0 || number >= maxParts {
			return fmt.Errorf("part %.40q, expected a whole number from 0 to %d", words[want-1], maxParts-1)
		}
		s.Parts = append(s.Parts, int(number))
		return nil
	})
	if err == nil && len(s.Parts) != len(s.Points) {
		err = fmt.Errorf("found %d parts, expected one for each of the %d points", len(s.Parts), len(s.Points))
	}
	return s, err
}

// readOFF reads the Object File Format: the line OFF, the numbers of points, faces and edges, then
// the points and faces. It ignores the additional values per point that prefixes of OFF announce
// (ST, C, N: texture, colour, normal).
func readOFF(text []byte) (*Shape, error) {
	s := &Shape{Faces: [][3]int32{}}
	points, faces, header := -1, 0, false
	err := lines(text, func(words []string) error {
		if !header {
			prefix, counts, ok := strings.Cut(words[0], "OFF")
			if !ok || !slices.Contains([]string{"", "C", "N", "CN", "ST", "STC", "STN", "STCN"}, prefix) {
				return fmt.Errorf("%.40q, expected OFF", words[0])
			}
			header = true
			if words[0] = counts; counts == "" { // some files have the counts on the same line as OFF
				words = words[1:]
			}
			if len(words) == 0 {
				return nil
			}
		}
		switch {
		case points < 0:
			counts, err := parseVec(append(words, "0"))
			points, faces = int(counts[0]), int(counts[1])
			if err == nil && (points < 1 || faces < 0) {
				err = fmt.Errorf("found %d points and %d faces, expected at least 1 and 0", points, faces)
			}
			return err
		case len(s.Points) < points:
			p, err := parseVec(words)
			s.Points = append(s.Points, p)
			return err
		case faces > 0:
			faces--
			corners, err := indices(words[1:])
			if n, wrong := strconv.Atoi(words[0]); err == nil && (wrong != nil || n < 3 || n > len(corners)) {
				return fmt.Errorf("expected a face with %.40q corners (at least 3), found %d", words[0], len(corners))
			} else if err == nil {
				err = s.fan(corners[:n])
			}
			return err
		}
		return nil
	})
	if err == nil && (points < 0 || len(s.Points) < points || faces > 0) {
		err = fmt.Errorf("expected %d points and %d more faces, found the end after %d points",
			max(points, 0), faces, len(s.Points))
	}
	return s, err
}

// indices parses words as integers, up to the first word that is not an integer, such as a colour.
func indices(words []string) (out []int, err error) {
	for _, w := range words {
		i, wrong := strconv.Atoi(w)
		if wrong != nil {
			break
		}
		out = append(out, i)
	}
	if len(out) == 0 {
		return nil, errors.New("expected the corners of a face")
	}
	return out, nil
}

// readOBJ reads the points (v) and faces (f) of Wavefront's format. In a file without faces that
// has a normal (vn) per point, these are the normals of the points.
func readOBJ(text []byte) (*Shape, error) {
	s := &Shape{}
	err := lines(text, func(words []string) (err error) {
		var v Vec
		switch words[0] {
		case "v":
			v, err = parseVec(words[1:])
			s.Points = append(s.Points, v)
		case "vn":
			v, err = parseVec(words[1:])
			s.Normals = append(s.Normals, v)
		case "f":
			var corners []int
			for _, w := range words[1:] {
				first, _, _ := strings.Cut(w, "/")
				i, wrong := strconv.Atoi(first)
				if i < 0 { // negative indices count back from the last point
					i += len(s.Points) + 1
				}
				if wrong != nil || i < 1 || i > len(s.Points) {
					return fmt.Errorf("corner %.40q, expected 1 to %d", w, len(s.Points))
				}
				corners = append(corners, i-1)
			}
			if len(corners) < 3 {
				return fmt.Errorf("found a face of %d corners, expected at least 3", len(corners))
			}
			err = s.fan(corners)
		}
		return err
	})
	if s.Faces != nil || len(s.Normals) != len(s.Points) {
		s.Normals = nil // normals of corners of faces, not of points
	}
	return s, err
}
