package cloud

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/seq"
)

// Options say how Convert makes a data set.
type Options struct {
	Points            int // of a cloud
	Seed              uint64
	ValPart, TestPart float64 // of the files that no folder puts into a split
	Replace           bool    // a complete data set that is there already
}

// maxPoints bounds a cloud to what a row of a file takes.
const maxPoints = 1 << 20

// Validate reports options that nothing can be made with.
func (o *Options) Validate() error {
	if o.Points < 1 || o.Points > maxPoints {
		return fmt.Errorf("expected 1 to %d points, found %d", maxPoints, o.Points)
	}
	if !(o.ValPart >= 0 && o.TestPart >= 0 && o.ValPart+o.TestPart < 1) {
		return fmt.Errorf("expected parts from 0 on of less than 1 together, found %v and %v", o.ValPart, o.TestPart)
	}
	return nil
}

// file is one that becomes a row.
type file struct {
	path, relative string
	label          int32
	split          string
}

// splits are their names, in the order of a data set.
var splits = []string{"train", "val", "test"}

// Convert writes a data set of clouds, one of each file in a folder with a folder for each
// class. A folder called train, val or test on the way to a file says its split; otherwise its
// name and the seed do, and they decide which points are taken. A cloud is centred and divided
// by its radius. Either all files have normals, those with faces do, or none.
func Convert(ctx context.Context, from, dir string, o Options) (*seq.Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	files, classes, err := o.find(from)
	if err != nil {
		return nil, err
	}
	first, err := Read(files[0].path)
	if err != nil {
		return nil, err
	}
	normals := first.Faces != nil || first.Normals != nil
	spec := seq.Spec{Task: seq.Classification, Name: filepath.Base(filepath.Clean(from)), LabelNames: classes, FeatureNames: seq.PositionNames}
	if normals {
		spec.FeatureNames = slices.Concat(seq.PositionNames, seq.NormalNames)
	}
	b, err := seq.CreateDataset(dir, spec, o.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	for _, split := range splits {
		if !slices.ContainsFunc(files, func(f file) bool { return f.split == split }) {
			continue
		}
		w, err := b.Split(split)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.split != split {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e, err := o.example(f, normals)
			if err == nil {
				err = w.Write(e)
			}
			if err != nil {
				return nil, err
			}
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
	}
	return b.Finish(map[string]any{"source": from, "points": o.Points, "seed": o.Seed})
}

// find lists the files in the order of their names, and the classes.
func (o *Options) find(from string) (files []file, classes []string, err error) {
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !Reads(path) {
			return err
		}
		relative, err := filepath.Rel(from, path)
		folders := strings.Split(filepath.ToSlash(relative), "/")
		if err != nil || len(folders) < 2 {
			return err // beside the classes, such as a list of names
		}
		f := file{path: path, relative: filepath.ToSlash(relative)}
		for _, folder := range folders[:len(folders)-1] {
			if slices.Contains(splits, folder) {
				f.split = folder
			}
		}
		class := folders[0]
		if class == f.split && len(folders) > 2 {
			class = folders[1]
		}
		if at := slices.Index(classes, class); at >= 0 {
			f.label = int32(at)
		} else {
			f.label = int32(len(classes))
			classes = append(classes, class)
		}
		if f.split == "" {
			f.split = "train"
			switch u := o.random(f)(); {
			case u < o.TestPart:
				f.split = "test"
			case u < o.TestPart+o.ValPart:
				f.split = "val"
			}
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%s: expected a folder for each class, with files %s", from, strings.Join(Endings(), ", "))
	}
	return files, classes, nil
}

// random gives numbers uniform on 0 to 1, a function of the seed and the name of the file.
func (o *Options) random(f file) func() float64 {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(f.relative) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	used := uint32(0)
	return func() float64 {
		used++
		words := philox.Words(o.Seed, [4]uint32{used, philox.StreamGenerate, uint32(hash), uint32(hash >> 32)})
		return float64(philox.Uniform(words[0]))
	}
}

// example is the row of a file.
func (o *Options) example(f file, normals bool) (seq.Example, error) {
	s, err := Read(f.path)
	if err != nil {
		return seq.Example{}, err
	}
	points, directions, err := s.Sample(o.Points, o.random(f))
	if err == nil && (directions != nil) != normals {
		err = fmt.Errorf("normals are there: %v, in the first file: %v", directions != nil, normals)
	}
	if err != nil {
		return seq.Example{}, fmt.Errorf("%s: %w", f.path, err)
	}
	Normalize(points)
	e := seq.Example{Label: f.label}
	for i, p := range points {
		row := []float32{float32(p[0]), float32(p[1]), float32(p[2])}
		if normals {
			n := directions[i]
			length := n.norm()
			if length == 0 || math.IsInf(length, 0) {
				return seq.Example{}, fmt.Errorf("%s: point %d: a normal of length %v", f.path, i, length)
			}
			row = append(row, float32(n[0]/length), float32(n[1]/length), float32(n[2]/length))
		}
		e.Features = append(e.Features, row)
	}
	return e, nil
}
