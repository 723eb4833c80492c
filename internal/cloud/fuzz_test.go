package cloud

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzFormats checks that reading arbitrary bytes as each format and sampling a cloud returns an error,
// or points that Normalize moves into the unit ball.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{
		surface, "OFF3 1 0\r\n0 0 0\r\n1 0 0\r\n0 2 3\r\n3 0 1 2\r\n",
		"o t\nv 0 0 0\nv 1 0 0\nv 0 2 3\nf 1/1/1 2/2/1 -1//1\n", "0 0 1 0 0 1\n1,2,3,1,0,0",
		"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 2 3\n3 0 1 2\n",
		binaryPLY(binary.LittleEndian, "binary_little_endian"), binaryPLY(binary.BigEndian, "binary_big_endian"),
		"1e999 0 0\n", "OFF\n1e300 NaN 0\n",
	} {
		for _, extension := range Extensions() {
			f.Add([]byte(text), extension)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, extension string) {
		parse := formats[extension]
		if parse == nil {
			return
		}
		defer testenv.FuzzLimits(t, 1<<20+500*len(text))()
		s, err := parse(text)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return
		}
		taken, err := s.Sample(t.Context(), 3, rand.New(rand.NewPCG(1, 2)).Float64)
		if err != nil {
			return
		}
		points, normals := taken.Points, taken.Normals
		if len(points) == 0 || len(points) > 3 || normals != nil && len(normals) != len(points) {
			t.Fatalf("sampled %d points with %d normals, want 1 to 3 points, and a normal for each or none",
				len(points), len(normals))
		}
		Normalize(points)
		for _, p := range points {
			if n := p.Norm(); n-n != 0 || n > 1+1e-9 {
				t.Fatalf("a point has distance %v from the centre, want at most 1", n)
			}
		}
	})
}

// FuzzParts checks that reading arbitrary bytes as points with parts returns an error or a part for each
// point, and that each sampled point keeps its part.
func FuzzParts(f *testing.F) {
	for _, text := range []string{"0 0 1 0 0 1 3\n1 2 3 1 0 0 4.000\n", "0,0,1,7\n", "0 0 1 1e9\n", "0 0 1 NaN\n",
		"0 0 1 -1\n# 5\n", "0 0 1 0 0 1\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 1<<20+500*len(text))()
		s, err := readParts(text)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return
		}
		if len(s.Parts) != len(s.Points) {
			t.Fatalf("got %d parts for %d points, want one for each", len(s.Parts), len(s.Points))
		}
		for i := range s.Points {
			s.Points[i][0] = float64(s.Parts[i])
		}
		taken, err := s.Sample(t.Context(), 3, rand.New(rand.NewPCG(1, 2)).Float64)
		if err != nil || len(taken.Parts) != len(taken.Points) {
			t.Fatalf("sampled %+v, error %v; want a part for each point", taken, err)
		}
		for i, part := range taken.Parts {
			if part < 0 || part >= maxParts || taken.Points[i][0] != float64(part) {
				t.Fatalf("got part %d for the point %v, want the x coordinate, below %d", part, taken.Points[i],
					maxParts)
			}
		}
	})
}

// FuzzShapeNet checks that no name in a list file of ShapeNetPart leads out of the folder, and that
// parsing a list of categories returns an error or categories.
func FuzzShapeNet(f *testing.F) {
	for _, text := range []string{"Mug\t03797390\nAirplane\t02691156\n", `["shape_data/02691156/a1", "b/c"]`,
		`["../x"]`, `["/"]`, `[null]`, "Mug\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer testenv.FuzzLimits(t, 1<<20+500*len(text))()
		if names, err := parseCategories(text); err == nil && len(names) == 0 {
			t.Fatal("got 0 categories, error <nil>; want categories or an error")
		}
		clouds, err := parseClouds(text)
		if err != nil {
			return
		}
		for _, name := range clouds {
			if !filepath.IsLocal(name) || strings.Count(name, "/") != 1 {
				t.Fatalf("got name %q, want FOLDER/NAME", name)
			}
		}
	})
}

// FuzzModelNet checks that no name in a list of the point-cloud release of ModelNet40 leads out of the folder.
func FuzzModelNet(f *testing.F) {
	f.Add([]byte("bed\nflower_pot\n"), []byte("flower_pot_0001\nbed_2\r\n"))
	f.Add([]byte("..\n"), []byte("../_1\n"))
	f.Add([]byte("a\na_b"), []byte("a_b_c\na_b_c\n"))
	f.Fuzz(func(t *testing.T, names, list []byte) {
		defer testenv.FuzzLimits(t, 1<<20+500*(len(names)+len(list)))()
		classes, err := parseClasses(names)
		if err != nil {
			return
		}
		splits := map[string]string{}
		if parseModels(list, "train", classes, splits) != nil {
			return
		}
		for key, split := range splits {
			folder, name, ok := strings.Cut(key, "/")
			if !filepath.IsLocal(key) || !ok || classes[folder] != folder ||
				!strings.HasPrefix(name, folder+"_") || split != "train" {
				t.Fatalf("got key %q with split %s, want CLASS/CLASS_NUMBER with a listed class and split train", key,
					split)
			}
		}
	})
}
