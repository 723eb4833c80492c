// Package cloud reads points and surfaces from files (XYZ, PTS, OFF, OBJ, PLY), samples point clouds
// and converts folders of such files to data sets. By default it samples a point set by farthest
// point sampling, and a surface uniformly.
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

// Shape is the content of a file.
type Shape struct {
	Points  []Vec
	Normals []Vec      // one normal per point; nil without normals
	Parts   []int      // part number per point; nil unless parts are read
	Faces   [][3]int32 // triangles as indices of their corners; nil without a surface

	counting counting // checks whether the first column counts the lines
	ignored  string   // description of ignored columns 4 to 6, such as colours; "" if none are ignored
}

// formats maps file name extensions to readers.
var formats = map[string]func(text []byte) (*Shape, error){
	".xyz": readXYZ, ".txt": readXYZ, ".pts": readPTS, ".off": readOFF, ".obj": readOBJ, ".ply": readPLY,
}

// partFormats maps file name extensions to readers for points with parts.
var partFormats = map[string]func(text []byte) (*Shape, error){".xyz": readParts,
	".txt": readParts, ".pts": readPTSParts}

// Reads reports whether a file name has a supported extension.
func Reads(path string) bool { return formats[strings.ToLower(filepath.Ext(path))] != nil }

// Extensions returns the supported file name extensions.
func Extensions() []string { return slices.Sorted(maps.Keys(formats)) }

// maxBytes is the maximum size of a file in bytes. Reading a file takes several times its size in
// memory.
const maxBytes = 256 << 20

// Read reads a file. Errors name the file, and the line or element if possible.
func Read(path string) (*Shape, error) {
	s, err := read(path, formats)
	if named := (*fs.PathError)(nil); err != nil && !errors.As(err, &named) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// read reads a file with the reader for its extension.
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
	text.Grow(int(sizeOf(path)) + bytes.MinRead) // reallocations would take more memory than the file
	_, err = text.ReadFrom(io.LimitReader(f, maxBytes+1))
	if err == nil && text.Len() > maxBytes {
		err = fmt.Errorf("larger than %d bytes", maxBytes)
	}
	if err != nil {
		return nil, err
	}
	s, err := parse(bytes.TrimPrefix(text.Bytes(), []byte("\ufeff"))) // byte-order mark
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openFile opens a regular file. It refuses pipes and devices, because reading them might block
// forever.
func openFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("expected a file, found a pipe or a device")
	}
	return os.Open(path)
}

// sizeOf returns the size of a file in bytes, or 0 if the size is unknown or exceeds maxBytes.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxBytes {
		return 0
	}
	return info.Size()
}

// check returns an error if there are no points, if there are normals but not one per point, if the
// norm of a point or normal is not finite, or if a corner of a face does not exist.
func (s *Shape) check() error {
	if len(s.Points) == 0 {
		return errors.New("expected points, found none")
	}
	if s.Normals != nil && len(s.Normals) != len(s.Points) {
		return fmt.Errorf("found %d normals, expected one for each of the %d points", len(s.Normals), len(s.Points))
	}
	for _, list := range []struct {
		name string
		vecs []Vec
	}{{"point", s.Points}, {"normal", s.Normals}} {
		for i, v := range list.vecs {
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

// Limits on memory. A corner of a face may take only a few bytes in the file.
const (
	maxCorners   = 1 << 16 // per face
	maxTriangles = 1 << 24 // per shape
)

// fan appends a face, split into triangles that share its first corner.
func (s *Shape) fan(corners []int) error {
	if len(corners) > maxCorners {
		return fmt.Errorf("found a face of %d corners, expected at most %d", len(corners), maxCorners)
	}
	if len(s.Faces)+len(corners) > maxTriangles {
		return fmt.Errorf("expected at most %d triangles, found more", maxTriangles)
	}
	for i := 2; i < len(corners); i++ {
		s.Faces = append(s.Faces, [3]int32{int32(corners[0]), int32(corners[i-1]), int32(corners[i])})
	}
	return nil
}
