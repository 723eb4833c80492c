package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// lines calls f with the words of each line, and its number, but for comments and empty ones.
func lines(text []byte, f func(words []string) error) error {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		words := strings.FieldsFunc(string(line), func(r rune) bool { return strings.ContainsRune(" \t\r\n,;", r) })
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := f(words); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

// vecOf are three numbers.
func vecOf(words []string) (v Vec, err error) {
	if len(words) < 3 {
		return v, fmt.Errorf("%d numbers, expected 3", len(words))
	}
	for c := range v {
		if v[c], err = strconv.ParseFloat(words[c], 64); err != nil {
			return v, fmt.Errorf("%.40q, expected a number", words[c])
		}
	}
	return v, nil
}

// readXYZ reads lines of x y z, or x y z nx ny nz; what follows is passed over.
func readXYZ(text []byte) (*Shape, error) {
	s := &Shape{}
	return s, lines(text, func(words []string) error {
		p, err := vecOf(words)
		if err != nil {
			return err
		}
		normal := len(words) >= 6
		if len(s.Points) > 0 && normal != (s.Normals != nil) {
			return fmt.Errorf("%d numbers, where the lines before have a normal or not", len(words))
		}
		s.Points = append(s.Points, p)
		if normal {
			n, err := vecOf(words[3:])
			if err != nil {
				return err
			}
			s.Normals = append(s.Normals, n)
		}
		return nil
	})
}

// mostParts bounds the number of a part.
const mostParts = 1 << 16

// readParts reads lines of x y z part, or x y z nx ny nz part, where the part is a whole number.
func readParts(text []byte) (*Shape, error) {
	s, err := readXYZ(text)
	if err != nil {
		return nil, err
	}
	want := 4
	if s.Normals != nil {
		want = 7
	}
	return s, lines(text, func(words []string) error {
		if len(words) != want {
			return fmt.Errorf("%d numbers, expected 4 or 7, as on the first line: a point, its normal if it has one, and its part", len(words))
		}
		number, err := strconv.ParseFloat(words[want-1], 64)
		if err != nil || number != math.Trunc(number) || number < 0 || number >= mostParts {
			return fmt.Errorf("part %.40q, expected a whole number from 0 to %d", words[want-1], mostParts-1)
		}
		s.Parts = append(s.Parts, int(number))
		return nil
	})
}

// readOFF reads the Object File Format: OFF, the numbers of points, faces and edges, then these.
func readOFF(text []byte) (*Shape, error) {
	s := &Shape{Faces: [][3]int{}}
	points, faces, header := -1, 0, false
	err := lines(text, func(words []string) error {
		if !header {
			if !strings.HasPrefix(words[0], "OFF") {
				return fmt.Errorf("%.40q, expected OFF", words[0])
			}
			header = true
			if words[0] = strings.TrimPrefix(words[0], "OFF"); words[0] == "" { // some files have the numbers behind it
				words = words[1:]
			}
			if len(words) == 0 {
				return nil
			}
		}
		switch {
		case points < 0:
			counts, err := vecOf(append(words, "0"))
			points, faces = int(counts[0]), int(counts[1])
			if err == nil && (points < 1 || faces < 0) {
				err = fmt.Errorf("%d points and %d faces", points, faces)
			}
			return err
		case len(s.Points) < points:
			p, err := vecOf(words)
			s.Points = append(s.Points, p)
			return err
		case faces > 0:
			faces--
			corners, err := indices(words[1:])
			if n, wrong := strconv.Atoi(words[0]); err == nil && (wrong != nil || n < 3 || n > len(corners)) {
				return fmt.Errorf("a face of %.40q corners, with %d", words[0], len(corners))
			} else if err == nil {
				s.fan(corners[:n])
			}
			return err
		}
		return nil
	})
	if err == nil && (points < 0 || len(s.Points) < points || faces > 0) {
		err = fmt.Errorf("expected %d points and %d more faces, found the end after %d points", max(points, 0), faces, len(s.Points))
	}
	return s, err
}

// indices are numbers from 0 on; those that are not whole, such as colours, end them.
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

// readOBJ reads the points (v) and faces (f) of Wavefront's format; without faces, and with a
// normal (vn) for each point, these are theirs.
func readOBJ(text []byte) (*Shape, error) {
	s := &Shape{}
	err := lines(text, func(words []string) (err error) {
		var v Vec
		switch words[0] {
		case "v":
			v, err = vecOf(words[1:])
			s.Points = append(s.Points, v)
		case "vn":
			v, err = vecOf(words[1:])
			s.Normals = append(s.Normals, v)
		case "f":
			var corners []int
			for _, w := range words[1:] {
				first, _, _ := strings.Cut(w, "/")
				i, wrong := strconv.Atoi(first)
				if i < 0 { // from the last one back
					i += len(s.Points) + 1
				}
				if wrong != nil || i < 1 || i > len(s.Points) {
					return fmt.Errorf("corner %.40q, expected 1 to %d", w, len(s.Points))
				}
				corners = append(corners, i-1)
			}
			if len(corners) < 3 {
				return fmt.Errorf("a face of %d corners, expected at least 3", len(corners))
			}
			s.fan(corners)
		}
		return err
	})
	if s.Faces != nil || len(s.Normals) != len(s.Points) {
		s.Normals = nil // of corners of faces, which have their own
	}
	return s, err
}
