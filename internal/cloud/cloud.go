// Package cloud reads points and surfaces of files (XYZ, OFF, OBJ, PLY) and takes point clouds
// of them: of points the farthest ones, of a surface ones that are uniform on it.
package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Shape is what a file holds.
type Shape struct {
	Points  []Vec
	Normals []Vec      // of each point; nil if there are none
	Parts   []int      // the number of each point's part; nil if they are not read
	Faces   [][3]int32 // of a surface, corners by index; nil of points alone

	counting counting // of the first column of lines
	ignored  string   // columns that seemed to be normals and are not, such as colours; "" if there are none
}

// formats are the readers by the ending of a name.
var formats = map[string]func(text []byte) (*Shape, error){
	".xyz": readXYZ, ".txt": readXYZ, ".pts": readPTS, ".off": readOFF, ".obj": readOBJ, ".ply": readPLY,
}

// partFormats are the readers of files whose points have parts.
var partFormats = map[string]func(text []byte) (*Shape, error){".xyz": readParts,
	".txt": readParts, ".pts": readPTSParts}

// Reads reports whether a file is read, by its name.
func Reads(path string) bool { return formats[strings.ToLower(filepath.Ext(path))] != nil }

// Endings are those of the names of files that are read.
func Endings() []string { return slices.Sorted(maps.Keys(formats)) }

// maxBytes bounds a file: what is read of it takes a few times its size.
const maxBytes = 256 << 20

// Read reads a file. An error names it, and the line or element where it has one.
func Read(path string) (*Shape, error) {
	s, err := read(path, formats)
	if named := (*fs.PathError)(nil); err != nil && !errors.As(err, &named) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// read reads a file by the one of some readers that its name asks for.
func read(path string, readers map[string]func(text []byte) (*Shape, error)) (*Shape, error) {
	parse := readers[strings.ToLower(filepath.Ext(path))]
	if parse == nil {
		return nil, fmt.Errorf("expected a name that ends in one of %s",
			strings.Join(slices.Sorted(maps.Keys(readers)), ", "))
	}
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxBytes)
	}
	var text bytes.Buffer
	text.Grow(int(sizeOf(path)) + bytes.MinRead) // as it grows it would take more than the file
	_, err = text.ReadFrom(io.LimitReader(f, maxBytes+1))
	if err == nil && text.Len() > maxBytes {
		err = fmt.Errorf("larger than %d bytes", maxBytes)
	}
	if err != nil {
		return nil, err
	}
	s, err := parse(bytes.TrimPrefix(text.Bytes(), []byte("\ufeff"))) // the byte-order mark
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openFile opens a file, and refuses a pipe or a device: who reads one may wait forever.
func openFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("expected a file, found a pipe or a device")
	}
	return os.Open(path)
}

// sizeOf is how many bytes are read of a file: none of one that is too large, or not there.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxBytes {
		return 0
	}
	return info.Size()
}

// check: there are points, all numbers are finite, and faces have corners that are there.
func (s *Shape) check() error {
	if len(s.Points) == 0 {
		return errors.New("expected points, found none")
	}
	if s.Normals != nil && len(s.Normals) != len(s.Points) {
		return fmt.Errorf("%d normals, expected one of each of the %d points", len(s.Normals), len(s.Points))
	}
	for _, list := range []struct {
		name string
		of   []Vec
	}{{"point", s.Points}, {"normal", s.Normals}} {
		for i, v := range list.of {
			if n := v.Norm(); n-n != 0 {
				return fmt.Errorf("%s %d: %v, expected finite numbers whose squares are finite", list.name, i, v)
			}
		}
	}
	for i, face := range s.Faces {
		for _, corner := range face {
			if corner < 0 || int(corner) >= len(s.Points) {
				return fmt.Errorf("triangle %d: corner %d, expected 0 to %d", i, corner, len(s.Points)-1)
			}
		}
	}
	return nil
}

// Bounds of the memory that a file of a few bytes a corner becomes.
const (
	maxCorners   = 1 << 16 // of a face
	maxTriangles = 1 << 24 // of a shape
)

// fan cuts a face of several corners into triangles.
func (s *Shape) fan(corners []int) error {
	if len(corners) > maxCorners {
		return fmt.Errorf("a face of %d corners, expected at most %d", len(corners), maxCorners)
	}
	if len(s.Faces)+len(corners) > maxTriangles {
		return fmt.Errorf("faces of more than %d triangles, expected at most that many", maxTriangles)
	}
	for i := 2; i < len(corners); i++ {
		s.Faces = append(s.Faces, [3]int32{int32(corners[0]), int32(corners[i-1]), int32(corners[i])})
	}
	return nil
}
