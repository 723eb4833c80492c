package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const header = "#VRML V2.0 utf8\n"

// scene has two materials, one of them used twice, a shape without a material, lines, and an
// identity transform.
const scene = header + `# a comment {
Shape { appearance Appearance { material DEF PIN-01 Material { diffuseColor 1.5 0.7 -2 } }
  geometry IndexedFaceSet { ccw TRUE coordIndex [0, 1, 2, 3, -1] coord Coordinate { point [0 0 0, 2 0 0, 2 1 0, 0 1 0] } } }
Transform { rotation 0 0 1 0 scale 1 1 1 children [
  Shape { appearance DEF look Appearance { material DEF a/b4 Material { } } geometry IndexedLineSet { coord Coordinate { point [0 0 9, 1 1 9] } coordIndex [0 1 -1] } }
  Shape { appearance Appearance { material USE PIN-01 } geometry IndexedFaceSet { coord Coordinate { point [0 0 5 2 0 5 0 1 5] } coordIndex [0 1 2] } }
  Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 7 2 0 7 0 1 7] } coordIndex [2 1 0 -1] } }
] }
`

// TestVRML checks the corners of all faces, and the colour and the name of their material.
func TestVRML(t *testing.T) {
	s, err := readVRML(scene)
	if err != nil {
		t.Fatal(err)
	}
	pin, none := material{vec{1, 0.7, 0}, "PIN"}, material{color: vec{1, 1, 1}}
	want := []triangle{{[3]int{0, 1, 2}, pin}, {[3]int{0, 2, 3}, pin}, {[3]int{4, 5, 6}, pin}, {[3]int{9, 8, 7}, none}}
	if !slices.Equal(s.triangles, want) || len(s.points) != 10 || s.points[9] != (vec{0, 1, 7}) ||
		!s.named || s.ownColors {
		t.Errorf("%+v, expected 10 points, a name, no separate colours and the triangles %+v", s, want)
	}
	if s, err := readVRML(strings.Replace(scene, "ccw TRUE", "color Color { color [1 0 0] }", 1)); err != nil ||
		!s.ownColors {
		t.Errorf("separate colours of faces: got %+v, error %v, want ownColors true", s, err)
	}
	in, plain := &scanner{text: "{ shininess 1 }"}, material{vec{0.8, 0.8, 0.8}, "a-b4"}
	if m, err := in.material("a/b4"); err != nil || m != plain {
		t.Errorf("got %+v, error %v, want %+v", m, err, plain)
	}
}

// TestVRMLRefuses checks that readVRML returns an error for malformed and unsupported scenes.
func TestVRMLRefuses(t *testing.T) {
	face := func(points, index string) string {
		return header + "Shape { geometry IndexedFaceSet { coord Coordinate { point [" + points +
			"] } coordIndex [" + index + "] } }"
	}
	for want, text := range map[string]string{
		"expected a file that begins with": "#VRML V1.0 ascii\n",
		"expected } for each {":            header + "Group { children [ ]",
		"USE b: expected the name":         header + "Group { children USE b }",
		"Box: expected all surfaces":       header + "Shape { geometry Box { size 1 2 3 } }",
		"rotation: expected no transform":  header + "Transform { rotation 0 0 1 0.5 }",
		"scale: expected no transform":     header + "Transform { scale 1 2 1 }",
		"4 coordinates of points":          face("0 0 0 1", "0 0 0"),
		"coordIndex 3, expected 0 to 2":    face("0 0 0 1 0 0 0 1 0", "0 3 2"),
		"a face of 2 corners":              face("0 0 0 1 0 0 0 1 0", "0 1 -1"),
		`expected a number, found "1x"`:    face("0 0 0 1x 0 0 0 1 0", "0 1 2"),
		`expected a number, found ""`:      header + "Shape { geometry IndexedFaceSet { coordIndex [0 1",
	} {
		if s, err := readVRML(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, expected %q", text, s, err, want)
		}
	}
}

// comb returns a long box with teeth at regular distances.
func comb(teeth int, distance float64) *surface {
	s := &surface{}
	box := func(x, width, height float64) {
		first := len(s.points)
		for i := range 8 {
			s.points = append(s.points, vec{x + width*float64(i&1), float64(i >> 1 & 1), height * float64(i>>2)})
		}
		for _, f := range [][4]int{{0, 1, 3, 2}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 3, 7, 5}} {
			for _, c := range [][3]int{{f[0], f[1], f[2]}, {f[0], f[2], f[3]}} {
				s.triangles = append(s.triangles, triangle{corners: [3]int{first + c[0], first + c[1], first + c[2]}})
			}
		}
	}
	box(0, distance*float64(teeth), 1)
	for i := range teeth {
		box(distance*(float64(i)+0.4), 0.2*distance, -5)
	}
	return s
}

// TestPeriod checks that the period of a comb is the distance between its teeth, and that a square has
// no period. It also checks the sines and cosines of a period of two.
func TestPeriod(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)).Float64
	for _, teeth := range []int{4, 7, 20, 60} {
		period, strength, err := comb(teeth, 2.54).period(random)
		if err != nil || math.Abs(period/2.54-1) > 0.03 || strength < 0.3 || strength > 1 {
			t.Errorf("%d teeth: got period %v, strength %v, error %v, want a period within 3%% of 2.54 and a strength "+
				"from 0.3 to 1", teeth, period, strength, err)
		}
	}
	if period, strength, err := comb(0, 0).period(random); err != nil || period != 0 || strength != 0 {
		t.Errorf("a square: got period %v, strength %v, error %v, want 0 and 0", period, strength, err)
	}
	const want = "[0.000 0.500 -0.500 0.000 0.500 -0.000 0.500 -0.000]"
	if got := fmt.Sprintf("%.3f", waves(2, 0.5)); got != want {
		t.Errorf("waves(2, 0.5) = %s, want %s", got, want)
	}
}

// TestPoints checks the distribution, the normals, the radius and the spacing of points drawn from a
// square. A surface without an area is an error.
func TestPoints(t *testing.T) {
	square := &surface{points: []vec{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}},
		triangles: []triangle{{corners: [3]int{0, 1, 2}}, {corners: [3]int{0, 2, 3}}}}
	points, err := square.sample(2000, random(1, "square", 1))
	if err != nil {
		t.Fatal(err)
	}
	var quarters [4]int
	for _, p := range points {
		quarters[int(2*p.at[0])+2*int(2*p.at[1])]++
		if p.normal != (vec{0, 0, 1}) || alignment(p.normal) != 1 {
			t.Fatalf("got normal %v with alignment %v, want [0 0 1] and 1", p.normal, alignment(p.normal))
		}
	}
	if slices.Min(quarters[:]) < 430 || slices.Max(quarters[:]) > 570 {
		t.Errorf("%v of 2000 points in the quarters, expected about 500 each", quarters)
	}
	radius := normalize(points)
	if math.Abs(radius-math.Sqrt(0.5)) > 0.05 || alignment(vec{0.7, 0.7, 0.1}) != 0 {
		t.Errorf("radius %v, expected about %v; or a diagonal normal is aligned", radius, math.Sqrt(0.5))
	}
	near := spacings(points)
	slices.Sort(near)
	// The distance to the eighth neighbour is about √(8A/πn) for n points on an area A, here 1/radius².
	if want := math.Sqrt(8/(math.Pi*2000)) / radius; math.Abs((math.Exp(float64(near[1000]))-1e-3)/want-1) > 0.1 {
		t.Errorf("spacing %v, expected %v", math.Exp(float64(near[1000]))-1e-3, want)
	}
	square.triangles = square.triangles[:1]
	square.points[1] = vec{}
	if _, err := square.sample(1, random(1, "flat", 1)); err == nil {
		t.Error("sampling a degenerate surface did not fail")
	}
}

// TestRandom checks that the random numbers equal the numbers in sftseq's conversions, so that the
// clouds are the same.
func TestRandom(t *testing.T) {
	next := random(7, "dip/a.wrl", 1)
	const want = "0.609457 0.951045"
	if got := fmt.Sprintf("%.6f %.6f", next(), next()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// library writes distinct meshes of one triangle each and returns their folder. series maps the name of
// each series to its number of files.
func library(t *testing.T, series map[string]int) string {
	t.Helper()
	from := t.TempDir()
	height := 0
	for _, name := range slices.Sorted(maps.Keys(series)) {
		for i := range series[name] {
			height++
			path := filepath.Join(from, fmt.Sprintf("%s_1x%02d.wrl", name, i))
			text := fmt.Sprintf("%sShape { appearance Appearance { material DEF PIN-0%d Material { } } geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1 0 0 0 1 %d] } coordIndex [0 1 2] } }", header, i%10, height)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return from
}

// splits returns the number of files in each split of a library, and the split of each series.
func splits(t *testing.T, from string, seed uint64, maxFiles int) (count map[string]int, splitOf map[string]string) {
	t.Helper()
	files, err := find(&options{from: from, parts: true})
	if err == nil {
		files, err = split(files, seed, maxFiles)
	}
	if err != nil {
		t.Fatal(err)
	}
	count, splitOf = map[string]int{}, map[string]string{}
	for _, f := range files {
		count[f.split]++
		if other := splitOf[f.series()]; other != "" && other != f.split {
			t.Errorf("%s is in %s, but another file of its series in %s", f.id, f.split, other)
		}
		splitOf[f.series()] = f.split
	}
	return count, splitOf
}

// TestSplit checks that the series of test together contain at most a tenth of a class's files, rounded
// up, and so do the series of val. As an exception, each of these splits gets at least one series of a
// class of three or more, but not the largest if it exceeds this limit. With a limit on files per
// series, only the selected files count.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		files    []int // number of files in each series
		maxFiles int   // per series; 0 means all
		want     map[string]int
	}{
		{[]int{20, 40, 20}, 0, map[string]int{"test": 20, "val": 20, "train": 40}},
		{[]int{40, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, map[string]int{"test": 1, "val": 1, "train": 8}},
		{[]int{4, 4, 42}, 0, map[string]int{"test": 4, "val": 4, "train": 42}},
		{[]int{80, 40}, 0, map[string]int{"train": 120}},
		{[]int{5, 95}, 0, map[string]int{"test": 5, "train": 95}},
		{[]int{1, 1}, 0, map[string]int{"test": 1, "train": 1}},
		{[]int{1}, 0, map[string]int{"train": 1}},
		{slices.Repeat([]int{1}, 15), 0, map[string]int{"test": 2, "val": 2, "train": 11}},
		{[]int{50, 2, 30}, 8, map[string]int{"test": 2, "val": 8, "train": 8}},
	} {
		series := map[string]int{}
		for i, n := range c.files {
			series[fmt.Sprintf("a/%c", 'a'+i)] = n
		}
		if got, _ := splits(t, library(t, series), 0, c.maxFiles); !maps.Equal(got, c.want) {
			t.Errorf("series of %v files: %v, expected %v", c.files, got, c.want)
		}
	}
	from := library(t, map[string]int{"a/a": 8, "a/b": 8, "a/c": 9, "a/d": 4, "b/a": 8})
	tested := map[string]bool{}
	for seed := range uint64(20) {
		_, splitOf := splits(t, from, seed, 0)
		for series, split := range splitOf {
			tested[series] = tested[series] || split == "test"
		}
	}
	if !tested["a:a/a_x"] || !tested["a:a/b_x"] || !tested["a:a/d_x"] || tested["a:a/c_x"] {
		t.Errorf("series in the test split of 20 seeds: got %v, want true for a:a/a_x, a:a/b_x, a:a/d_x, not a:a/c_x",
			tested)
	}
}

// TestSameSeries checks that sameSeries joins series of a class that share an identical file, directly
// or through a third series, but not series of different classes.
func TestSameSeries(t *testing.T) {
	from := library(t, map[string]int{"a/maker": 2, "a/other": 2, "a/third": 1, "a/own": 2, "b/maker": 1})
	for to, same := range map[string]string{"a/other_1x05": "a/maker_1x01", "a/third_1x05": "a/other_1x00",
		"b/copy_1x01": "a/maker_1x01"} {
		data, err := os.ReadFile(filepath.Join(from, same+".wrl"))
		if err == nil {
			err = os.WriteFile(filepath.Join(from, to+".wrl"), data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := find(&options{from: from, parts: true})
	if err != nil {
		t.Fatal(err)
	}
	root, err := sameSeries(files)
	if err != nil {
		t.Fatal(err)
	}
	for series, want := range map[string]string{"a:a/maker_x": "a:a/maker_x", "a:a/other_x": "a:a/maker_x",
		"a:a/third_x": "a:a/maker_x", "a:a/own_x": "a:a/own_x", "b:b/copy_x": "b:b/copy_x"} {
		if got := root(series); got != want {
			t.Errorf("%s belongs to %s, expected %s", series, got, want)
		}
	}
}

// TestConvert checks that rows with classes have 512 points of 20 features, and that rows with
// parts have 256 points with tags. Classes with too few files are omitted, and unusable meshes are
// reported.
func TestConvert(t *testing.T) {
	from := library(t, map[string]int{"pins/a": 3, "pins/b": 2, "rare/c": 1})
	for name, text := range map[string]string{"pins/bad": "x",
		"pins/unnamed": header + strings.Replace(scene[len(header):strings.Index(scene, "Transform")], "DEF PIN-01 ",
			"", 1)} {
		if err := os.WriteFile(filepath.Join(from, name+".wrl"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		o                     options
		rows, points, numbers int
		log                   string
	}{
		{options{from: from, minFiles: 2}, 6, 512, 20, "bad.wrl: left out: expected a file that begins with"},
		{options{from: from, parts: true}, 6, 256, 6, "unnamed.wrl: left out: no material has a name"},
	} {
		var out, log strings.Builder
		if err := convert(&c.o, &out, &log); err != nil {
			t.Fatal(err)
		}
		n := 0
		for lines := json.NewDecoder(strings.NewReader(out.String())); lines.More(); n++ {
			var r row
			if err := lines.Decode(&r); err != nil || r.Class == "rare" != c.o.parts && r.Class != "pins" ||
				len(r.Points) != c.points || len(r.Points[0]) != c.numbers || r.Split == "" {
				t.Errorf("parts %v, row %s: got class %q, split %q, %d points, the first %v, error %v; "+
					"want class pins or rare with parts, not rare without, a split, and %d points of %d numbers",
					c.o.parts, r.ID, r.Class, r.Split, len(r.Points), r.Points[:min(1, len(r.Points))], err,
					c.points, c.numbers)
			}
			if c.o.parts && (len(r.Tags) != c.points || r.Tags[0] != r.Class+"/PIN") {
				t.Errorf("row %s: got %d tags %v, want %d, the first %s/PIN", r.ID, len(r.Tags), r.Tags, c.points,
					r.Class)
			}
		}
		if n != c.rows || !strings.Contains(log.String(), c.log) {
			t.Errorf("%d rows, expected %d: %s", n, c.rows, &log)
		}
	}
	if err := convert(&options{from: from, minFiles: 9}, &strings.Builder{}, &strings.Builder{}); err == nil ||
		!strings.Contains(err.Error(), "expected folders with .wrl files") {
		t.Error(err)
	}
}
