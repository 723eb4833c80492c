package cloud

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// write writes a file, creates its folder if needed, and returns the path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// binaryPLY returns the content of a binary PLY file with a triangle.
func binaryPLY(order binary.ByteOrder, name string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "ply\nformat %s 1.0\nelement vertex 3\nproperty float x\nproperty double y\nproperty short z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n", name)
	for _, p := range [][3]float64{{0, 0, 0}, {1, 0, 0}, {0, 2, 3}} {
		for _, v := range []any{float32(p[0]), p[1], int16(p[2])} {
			if err := binary.Write(&b, order, v); err != nil {
				panic(err)
			}
		}
	}
	for _, v := range []any{uint8(3), int32(0), int32(1), int32(2)} {
		if err := binary.Write(&b, order, v); err != nil {
			panic(err)
		}
	}
	return b.String()
}

// TestRead checks that files in every format are read as the same triangle or the same two points.
// Most files with points contain normals; some contain columns that are ignored.
func TestRead(t *testing.T) {
	triangle := &Shape{Points: []Vec{{0, 0, 0}, {1, 0, 0}, {0, 2, 3}}, Faces: [][3]int32{{0, 1, 2}}}
	pair := &Shape{Points: []Vec{{0, 0, 1}, {1, 2, 3}}, Normals: []Vec{{0, 0, 1}, {1, 0, 0}}}
	const plyPoints = "element vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty float nx\nproperty float ny\nproperty float nz\nend_header\n"
	for _, c := range []struct {
		name, text string
		want       *Shape
	}{
		{"a.off", "OFF\n# a comment\n3 1 0\n0 0 0\n1 0 0\n0 2 3\n3 0 1 2 0.5\n", triangle},
		{"b.off", "OFF3 1 0\r\n0 0 0\r\n1 0 0\r\n0 2 3\r\n3 0 1 2\r\n", triangle},
		{"a.obj", "o t\nv 0 0 0\nv 1 0 0\nv 0 2 3\nvn 0 0 1\nf 1/1/1 2/2/1 -1//1\n", triangle},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 2 3\n3 0 1 2\n", triangle},
		{"b.ply", binaryPLY(binary.LittleEndian, "binary_little_endian"), triangle},
		{"c.ply", binaryPLY(binary.BigEndian, "binary_big_endian"), triangle},
		{"d.ply", "ply\nformat ascii 1.0\n" + plyPoints + "0 0 1 0 0 1\n1 2 3 1 0 0\n", pair},
		{"a.xyz", "0 0 1 0 0 1\n1 2 3 1 0 0\n", pair},
		{"c.off", "# c\nOFF # cube\n# more\n\n3 1 0 # counts\n0 0 0 # one\n1 0 0\n0 2 3\n3 0 1 2# face\n", triangle},
		{"d.off", "\ufeffCOFF\n3 1 0\n0 0 0 255 0 0 255\n1 0 0 255 0 0 255\n0 2 3 1 0 0 255\n3 0 1 2\n", triangle},
		{"e.off", "STNOFF 3 1 0\n0 0 0 0 0 1 0 0\n1 0 0 0 0 1 0 0\n0 2 3 0 0 1 0 0\n3 0 1 2\n", triangle},
		{"b.obj", "# a \\\nv 0 0 0 # first\nv 1 \\\n 0 \\\r\n0\nusemtl a,b c;d\nv 0 2 3\nf 1 2 \\ # more\n3\n",
			triangle},
		{"e.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar float texcoord\nproperty list uchar int vertex_indices\nproperty list uchar double weights\nend_header\n0 0 0\n1 0 0\n0 2 3\n6 0.5 0 1e9 .1 0 1 3 0 1 2 1 0.25\n", triangle},
		{"a.pts", "2\n0 0 1 0 0 1\n1 2 3 1 0 0\n", pair},
		{"b.pts", "1\n0 0 1 0 0 1\n1\n1 2 3 1 0 0\n", pair},
		{"c.xyz", "\ufeff0; 0;1;0; 0;1\n1;2;3;1;0;0 # last\n", pair},
		{"d.xyz", "0, 0, 1, 0, 0, 1\n1 ,2 ,3 ,1 ,0 ,0\n", pair},
		{"e.xyz", "0 0 1 9 8 7 0 0 1\n1 2 3 0 200 3 1 0 0 5\n", &Shape{Points: pair.Points, Normals: pair.Normals,
			ignored: "9 8 7 has the length 13.93"}},
		{"f.xyz", "0 0 1 9 8 7 0 0 2\n1 2 3 0 200 3 1 0 0\n",
			&Shape{Points: pair.Points, ignored: "9 8 7 has the length 13.93"}},
		{"g.xyz", "0 0 1 9 8 7 0 0 1\n1 2 3 0 200 3\n",
			&Shape{Points: pair.Points, ignored: "9 8 7 has the length 13.93"}},
		{"b.TXT", "0,0,1,0,0,1\n\n1,2,3,1,0,0", pair},
		{"h.xyz", "// X Y Z Nx Ny Nz\n0 0 1 0 0 1\n1 2 3 1 0 0\n", pair},
		{"c.TXT", "\"x\",\"y\",\"z\",\"nx\",\"ny\",\"nz\"\r\n0,0,1,0,0,1\r\n1,2,3,1,0,0\r\n", pair},
		{"i.xyz", "# x y z in metres\n0 0 1 0 0 1\n1 2 3 1 0 0\n", pair},
		{"c.pts", "//X Y Z Nx Ny Nz\n2\n0 0 1 0 0 1\n1 2 3 1 0 0\n", pair},
	} {
		got, err := Read(write(t, filepath.Join(t.TempDir(), c.name), c.text))
		if got != nil {
			got.counting = counting{}
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, error %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// TestUnreadable checks that every error states the problem and the file, and the line or element if
// it is known.
func TestUnreadable(t *testing.T) {
	cut := binaryPLY(binary.LittleEndian, "binary_little_endian")
	cut = cut[:len(cut)-5]
	for _, c := range []struct{ name, text, want string }{
		{"a.off", "", "found the end"},
		{"a.off", "OF\n", `line 1: "OF", expected OFF`},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 x 0\n", `line 4: "x", expected a number`},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 2 3\n", "1 more faces, found the end"},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 2 3\n3 0 1 3\n", "triangle 0: corner 3, expected 0 to 2"},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 0 NaN\n0 2 3\n3 0 1 2\n", "point 1: [1 0 NaN], expected finite numbers"},
		{"a.off", "OFF\n3 1 0\n0 0 0\n1 0 1e200\n0 2 3\n3 0 1 2\n", "expected finite numbers whose squares"},
		{"a.obj", "v 0 0 0\nf 1 2 3\n", `line 2: corner "2", expected 1 to 1`},
		{"a.obj", "v 0 0\n", "line 1: found 2 numbers, expected 3"},
		{"a.xyz", "# z y x\n0 0 1\n",
			`line 1: found the column names ["z" "y" "x"], expected x, y and z for columns 1 to 3`},
		{"a.txt", "id,x,y,z\n0,0,0,1\n",
			`line 1: found the column names ["id" "x" "y" "z"], expected x, y and z for columns 1 to 3`},
		{"b.xyz", numberedLines(1, "0.5 2 %d.25"),
			"column 1 contains line numbers (1 to 9), and column 4 contains fractions: expected x y z in columns 1 to 3"},
		{"b.pts", "9\n" + numberedLines(0, "0.5 2 %d.25 7 8 9"), "column 1 contains line numbers (0 to 8)"},
		{"a.obj", "g nothing\n", "expected points, found none"},
		{"a.xyz", "0 0 1\n1 2 3 1 0 0\n", "line 2: found 6 numbers, expected a normal on"},
		{"a.xyz", "0,134;0,847;0,764\n",
			`line 1: "0,134", expected a number with a decimal point, and one kind of separator`},
		{"a.xyz", "0 0 0\n0,134 0,847 0,764\n", `line 2: "0,134", expected a number with a decimal point`},
		{"a.txt", "1,5\t2,5\t3\n", `line 1: "1,5", expected a number with a decimal point`},
		{"a.pts", "3\n0 0 0\n1 1 1\n", "expected 3 points as stated on the line before them, found 2"},
		{"a.pts", "1\n0 0 0\n1 1 1\n1\n0 0 0\n", "line 4: expected 1 points as stated on the line before them, found 2"},
		{"a.pts", "0 0 0\n3\n", "line 2: found 1 numbers, expected 3"},
		{"a.xyz", "3\n0 0 0\n", "line 1: found 1 numbers, expected 3"},
		{"a.obj", "v 0 0 0\nf 1 2 \\\n", `line 2: expected a line after \, found the end`},
		{"a.off", "BOFF\n", `"BOFF", expected OFF`},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar float vertex_index\nend_header\n0 0 0\n1 0.5\n", "face 0: 0.5, expected a whole number"},
		{"a.ply", "plx\n", "line 1: \"plx\", expected ply"},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 999999999\n",
			"line 3: \"element vertex 999999999\", expected an element count that does not exceed the remaining bytes"},
		{"a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1 ",
			"expected the properties x, y and z"},
		{"b.ply", cut, "face 0: expected more numbers, found the end"},
		{"a.stl", "", "expected a name that ends in one of"},
	} {
		path := write(t, filepath.Join(t.TempDir(), c.name), c.text)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s %.30q: got error %v, want %q", c.name, c.text, err, c.want)
		}
	}
}

// TestColours checks that columns 4 to 6 are read as normals if their length is about 1 or 0 in every
// line, but not always 0. Other columns, such as colours, are ignored and described, but they are an
// error for points with parts.
func TestColours(t *testing.T) {
	for text, want := range map[string]string{
		"0 0 0 0.58 0.58 0.58\n1 1 1 0 0 0\n2 2 2 -0.7 0.7 0\n": "",
		"0 0 0 51 95 151\n":                      "51 95 151 has the length 185.5",
		"0 0 0 0 0 1\n1 1 1 0.2 0.4 0.6\n":       "0.2 0.4 0.6 has the length 0.7483",
		"0 0 0 -1500 10 20 30\n":                 "-1500 10 20 has the length 1500",
		"0 0 0 0 0 0\n1 1 1 0 0 0\n":             "0 0 0 in every line",
		"0,134,0,847,0,764\n0,255,0,495,0,449\n": "847 0 764 has the length 1141",
	} {
		for _, extension := range []string{".xyz", ".txt", ".pts"} {
			s, err := Read(write(t, filepath.Join(t.TempDir(), "a"+extension), text))
			if err != nil || s.ignored != want || (s.Normals == nil) != (want != "") {
				t.Errorf("%s %q: got %+v, error %v, want ignored %q", extension, text, s, err, want)
			}
		}
	}
	path := write(t, filepath.Join(t.TempDir(), "a.xyz"), "0 0 0 255 0 9 1\n")
	const want = "columns 4 to 6, expected normals of length 1: 255 0 9 has the length"
	if _, err := read(path, partFormats); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("parts: got error %v, want one that contains %q", err, want)
	}
}

// TestPartFiles checks that points with parts may have normals, even after colours. A PTS file may
// begin with the number of points, which must be correct.
func TestPartFiles(t *testing.T) {
	for _, c := range []struct {
		name, text string
		parts      []int
		normals    bool
		want       string // part of the error; "" means success
	}{
		{"a.pts", "2\n0 0 1 4\n1 2 3 5\n", []int{4, 5}, false, ""},
		{"a.pts", "1\n0 0 1 4\n1\n1 2 3 5\n", []int{4, 5}, false, ""},
		{"a.pts", "3\n0 0 1 4\n1 2 3 5\n", nil, false, "expected 3 points as stated on the line before them, found 2"},
		{"a.xyz", "2\n0 0 1 4\n1 2 3 5\n", nil, false, "line 1: found 1 numbers, expected 3"},
		{"a.xyz", "0 0 1 9 8 7 0 0 1 4\n1 2 3 0 200 3 1 0 0 5\n", []int{4, 5}, true, ""},
		{"a.xyz", "0 0 1 9 8 7 0 0 2 4\n", nil, false, "columns 4 to 6, expected normals of length 1: 9 8 7"},
		{"a.xyz", "0 0 1 9 8 7 0 0 1\n", nil, false, "line 1: found 9 numbers, expected 10"},
		{"a.xyz", "0 0 1 4\n1 2 3\n", nil, false, "line 2: found 3 numbers, expected 4"},
	} {
		s, err := read(write(t, filepath.Join(t.TempDir(), c.name), c.text), partFormats)
		if c.want != "" {
			must.Fail(t, c.want, c.text)(s, err)
		} else if err != nil || !slices.Equal(s.Parts, c.parts) || (s.Normals != nil) != c.normals {
			t.Errorf("%q: got %+v, error %v; want parts %v, normals %v", c.text, s, err, c.parts, c.normals)
		}
	}
}

// farthest returns the indices of n points chosen by farthest point sampling.
func farthest(t *testing.T, s *Shape, n int, random func() float64) []int {
	t.Helper()
	taken, err := s.farthest(t.Context(), n, random)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// TestSample checks that points sampled on a square are uniformly distributed and have the normal of
// the square. Farthest point sampling of a point set must select the corners.
func TestSample(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)).Float64
	square := &Shape{Points: []Vec{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}}
	square.fan([]int{0, 1, 2, 3})
	taken, err := square.Sample(t.Context(), 4000, random)
	if err != nil {
		t.Fatal(err)
	}
	points, normals := taken.Points, taken.Normals
	var counts [4]int
	for i, p := range points {
		counts[int(2*p[0])+2*int(2*p[1])]++
		if normals[i] != (Vec{0, 0, 1}) || p[2] != 0 {
			t.Fatalf("got point %v with normal %v, want z = 0 and the normal 0 0 1", p, normals[i])
		}
	}
	for _, n := range counts {
		if math.Abs(float64(n)-1000) > 130 {
			t.Errorf("got %v of 4000 points in the quarters, want about 1000 each", counts)
		}
	}
	s := &Shape{Points: []Vec{{0.5, 0.5, 0}, {0, 0, 0}, {1, 0, 0}, {0.1, 0.1, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 0}}}
	for range 20 {
		taken := map[int]bool{}
		for _, i := range farthest(t, s, 5, random) {
			taken[i] = true
		}
		if len(taken) != 5 || !taken[2] || !taken[4] || !taken[5] || !taken[1] && !taken[6] && !taken[3] {
			t.Errorf("got the points %v, want the corners", taken)
		}
	}
	if got := farthest(t, &Shape{Points: make([]Vec, 4)}, 3, random); len(got) != 3 || got[0] == got[1] ||
		got[0] == got[2] || got[1] == got[2] {
		t.Errorf("selected %v from equal points, want three different indices", got)
	}
	if got := farthest(t, s, 7, random); len(got) != 7 {
		t.Errorf("selected %v, want all 7 points", got)
	}
	flat := &Shape{Points: make([]Vec, 3), Faces: [][3]int32{{0, 1, 2}}}
	if _, err := flat.Sample(t.Context(), 1, random); err == nil || !strings.Contains(err.Error(), "area above 0") {
		t.Errorf("surface without area: got error %v", err)
	}
	Normalize(points)
	radius := 0.0
	for _, p := range points {
		radius = max(radius, p.Norm())
	}
	if math.Abs(radius-1) > 1e-12 {
		t.Errorf("got radius %v, want 1", radius)
	}
}

// numberedLines returns nine lines with consecutive numbers from first. suffix formats the rest of
// each line.
func numberedLines(first int, suffix string) (text string) {
	for i := range 9 {
		text += fmt.Sprintf("%d "+suffix+"\n", first+i, i)
	}
	return text
}

// TestCountedPoints checks that a first column of consecutive integers is read as a coordinate if
// the integers begin at 3, or if column 4 is missing or has no fractions.
func TestCountedPoints(t *testing.T) {
	for _, behind := range []string{"2 0.%d", "0.5 2 %d", "0.5 2 0.%d5"} {
		text := numberedLines(1, behind)
		if behind == "0.5 2 0.%d5" {
			text = numberedLines(3, behind)
		}
		if _, err := Read(write(t, filepath.Join(t.TempDir(), "a.xyz"), text)); err != nil {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
