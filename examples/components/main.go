// Components reads the meshes of electronic components in Debian's kicad-packages3d and writes
// tables of point clouds for sftseq data convert. A row has the class of a mesh and, with -parts,
// the part of each point.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// options are the flags.
type options struct {
	from     string
	parts    bool
	seed     uint64
	minFiles int
}

// row is a line of the output.
type row struct {
	ID     string      `json:"id"`
	Class  string      `json:"class"`
	Split  string      `json:"split"`
	Points [][]float32 `json:"points"`
	Tags   []any       `json:"tags,omitempty"` // CLASS/PART of each point; nil for a point without a part
}

func main() {
	var o options
	flag.StringVar(&o.from, "from", "",
		"`FOLDER` with a folder of .wrl files for each class, such as usr/share/kicad/3dmodels of the package")
	flag.BoolVar(&o.parts, "parts", false,
		"write 256 points of each mesh, tagged with their materials' names, not 512 points with more features")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the points and the splits")
	flag.IntVar(&o.minFiles, "min-files", 40, "leave out classes of fewer than `N` files; ignored with -parts")
	flag.Parse()
	if err := convert(&o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "components:", err)
		os.Exit(1)
	}
}

// convert writes a row to out for each selected mesh that it can use. For the other selected meshes it
// writes the reason to log.
func convert(o *options, out, log io.Writer) error {
	files, err := find(o)
	if err != nil {
		return err
	}
	maxFiles := 8 // per series: eighty connectors that differ only in their number of pins would outweigh other series
	if o.parts {
		maxFiles = 0
	}
	if files, err = split(files, o.seed, maxFiles); err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for len(files) > 0 {
		batch := files[:min(len(files), 2*runtime.GOMAXPROCS(0))]
		files = files[len(batch):]
		rows, errs := make([]row, len(batch)), make([]error, len(batch))
		var group sync.WaitGroup
		for i, f := range batch {
			group.Go(func() { rows[i], errs[i] = read(f, o) })
		}
		group.Wait()
		for i, f := range batch {
			if errs[i] != nil {
				fmt.Fprintf(log, "%s: left out: %v\n", f.path, errs[i])
			} else if err := lines.Encode(rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// find lists the meshes, sorted by class and name.
func find(o *options) (files []*file, err error) {
	names, err := fs.Glob(os.DirFS(o.from), "*/*.wrl")
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, name := range names {
		class, _, _ := strings.Cut(name, "/")
		files = append(files, &file{path: filepath.Join(o.from, name),
			id: strings.TrimSuffix(name, ".wrl"), class: class})
		count[class]++
	}
	if !o.parts {
		all := files
		files = nil
		for _, f := range all {
			if count[f.class] >= o.minFiles {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: expected folders with .wrl files (-min-files %d), found none", o.from, o.minFiles)
	}
	return files, nil
}

// read returns the row of a mesh.
func read(f *file, o *options) (r row, err error) {
	r = row{ID: f.id, Class: f.class, Split: f.split}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return r, err
	}
	s, err := readVRML(string(text))
	switch {
	case err != nil:
		return r, err
	case o.parts && !s.named:
		return r, errors.New("no material has a name")
	case !o.parts && s.ownColors:
		return r, errors.New("faces have colours other than their materials'")
	}
	n, name := 512, f.id+filepath.Ext(f.path)
	if o.parts {
		n = 256
	}
	points, err := s.sample(n, random(o.seed, name, 1))
	if err != nil {
		return r, err
	}
	var logRadius, periodicity, spacing []float32
	radius := normalize(points)
	if !o.parts {
		period, strength, err := s.period(random(o.seed, name, 2))
		if err != nil {
			return r, err
		}
		logRadius, periodicity, spacing = []float32{float32(math.Log(radius))}, waves(period,
			strength), spacings(points)
	}
	for i, p := range points {
		features := append(float32s(p.at), float32s(p.normal)...)
		switch {
		case !o.parts:
			features = append(append(append(features, float32s(p.color)...), logRadius...), periodicity...)
			features = append(features, alignment(p.normal), spacing[i])
		case p.name == "":
			r.Tags = append(r.Tags, nil)
		default:
			r.Tags = append(r.Tags, f.class+"/"+p.name)
		}
		r.Points = append(r.Points, features)
	}
	return r, nil
}

func float32s(v vec) []float32 { return []float32{float32(v[0]), float32(v[1]), float32(v[2])} }
