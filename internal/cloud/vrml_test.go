package cloud

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// scene has what files of VRML have: looks that are passed over, names, nodes that are used again,
// and transforms within each other.
const scene = `#VRML V2.0 utf8
# a comment { [
WorldInfo { title "a \"scene\" { [" info ["x", "y"] }
Shape { appearance Appearance { material DEF PIN-01 Material { diffuseColor 0.8 .7 -0 transparency 0.0 }
	texture PixelTexture { image 1 2 3 0xFF00aa 0x12 } } }
DEF Outer Transform {
	translation 10 0 0   rotation 0 0 2 1.5707963267948966
	children [
		Transform { scale 2 3 4 center 1 0 0 children DEF Piece Shape {
			appearance Appearance { material USE PIN-01 }
			geometry IndexedFaceSet { creaseAngle 0.5 solid TRUE
				coord DEF Corners Coordinate { point [ 1 0 0, 2 0 0, 2 1 0 1 1 0 ] }
				coordIndex [ 0,1,2,3,-1 ] } } }
		USE Piece
		Shape { geometry IndexedLineSet { coord USE Corners coordIndex [0 1 -1] } }
	]
}
Switch { whichChoice 1 choice [ USE Outer, Shape { geometry IndexedFaceSet { coord USE Corners coordIndex [0 1 2 -1 0 2 3] } } ] }
Switch { choice [ USE Outer ] }
LOD { range [1] level [ Shape { geometry IndexedFaceSet { coord USE Corners coordIndex [2 1 0 -1] } } USE Outer ] }
ROUTE Outer.translation TO Outer.set_translation
`

// TestVRML: the faces of all shapes are read, where their transforms put them.
func TestVRML(t *testing.T) {
	s, err := readVRML([]byte(scene))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	if len(s.Points) != 16 || len(s.Faces) != 2+2+2+1 {
		t.Fatalf("%d points and %d faces", len(s.Points), len(s.Faces))
	}
	near := func(got, want Vec) {
		t.Helper()
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("%v, want %v", got, want)
				return
			}
		}
	}
	// (2, 1, 0), scaled about (1, 0, 0), is (3, 3, 0), turned by a quarter about z (−3, 3, 0).
	near(s.Points[2], Vec{7, 3, 0})
	near(s.Points[0], Vec{10, 1, 0}) // the centre of the scale stays
	near(s.Points[6], Vec{9, 2, 0})  // without the inner transform
	near(s.Points[10], Vec{2, 1, 0}) // of the switch, without any
	if s.Faces[0] != [3]int{0, 1, 2} || s.Faces[1] != [3]int{0, 2, 3} || s.Faces[6] != [3]int{14, 13, 12} {
		t.Errorf("%v", s.Faces)
	}
	if len(s.Colors) != len(s.Faces) || s.Colors[0] != (Vec{0.8, 0.7, 0}) || s.Colors[2] != s.Colors[0] || s.Colors[4] != white {
		t.Errorf("colours %v", s.Colors)
	}
	if taken, err := s.Sample(t.Context(), 5, func() float64 { return 0.5 }); err != nil || len(taken.Normals) != 5 || taken.Normals[0].Norm() == 0 {
		t.Errorf("%+v, %v", taken, err)
	}
}

// TestVRMLColors: a colour that is beyond 0 to 1 is cut off there, a material without one has the
// standard's, and files with other colours have none.
func TestVRMLColors(t *testing.T) {
	const face = "geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1 0 0 0 1 0] } coordIndex [0 1 2] %s } }\n"
	shape := func(look, more string) string {
		return "Shape { " + look + strings.ReplaceAll(face, "%s", more)
	}
	for _, c := range []struct {
		text string
		want []Vec
	}{
		{shape("", ""), []Vec{white}},
		{shape("appearance Appearance { material Material { diffuseColor 1.5 -2 0.5 } }", ""), []Vec{{1, 0, 0.5}}},
		{shape("appearance Appearance { material Material { } }", "") + shape("", ""), []Vec{diffuse, white}},
		{shape("appearance Appearance { material Material { diffuseColor 1 1 } }", ""), nil},
		{shape("appearance Appearance { material Material { diffuseColor 1 1 } }", "") + shape("", ""), nil}, // one has none
		{shape("", "color Color { color [1 0 0] } colorPerVertex FALSE"), nil},
	} {
		s, err := readVRML([]byte("#VRML V2.0 utf8\n" + c.text))
		if err != nil || !slices.Equal(s.Colors, c.want) {
			t.Errorf("%q: colours %v, %v, want %v", c.text, s.Colors, err, c.want)
		}
	}
}

// named is a scene of three triangles: a material that is defined, the same used with another number, and
// one without a name.
const named = `#VRML V2.0 utf8
Shape { appearance Appearance { material DEF PIN-01 Material { diffuseColor 0.8 0.7 0 } }
  geometry IndexedFaceSet { coord Coordinate { point [0 0 0, 2 0 0, 0 1 0] } coordIndex [0 1 2 -1] } }
Shape { appearance Appearance { material DEF PIN-02 Material { } } }
Transform { translation 0 0 5 children [
  Shape { appearance Appearance { material DEF a/b4 Material { } }
    geometry DEF Face IndexedFaceSet { coord Coordinate { point [0 0 0, 2 0 0, 0 1 0] } coordIndex [0 1 2 -1] } }
  Shape { appearance Appearance { material USE PIN-02 } geometry USE Face }
  Shape { appearance Appearance { material Material { } } geometry USE Face }
  Shape { geometry USE Face }
] }
`

// nameless is a scene whose materials have no names.
var nameless = strings.NewReplacer("DEF PIN-01 ", "", "USE PIN-01", "Material { }").Replace(scene)

// TestVRMLParts: a face is of the part that its material names, without the number that tells materials
// apart; where it names none, it has no part. Points have the parts of their faces.
func TestVRMLParts(t *testing.T) {
	s, err := readVRMLParts([]byte(named))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(s.PartNames, s.FaceParts), "[PIN a-b4] [0 1 0 -1 -1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	taken, err := s.Sample(t.Context(), 200, rand.New(rand.NewPCG(1, 2)).Float64)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range taken.Points {
		if bottom := p[2] == 0; bottom && taken.Parts[i] != 0 {
			t.Errorf("point %v has the part %d", p, taken.Parts[i])
		}
	}
	if !slices.Contains(taken.Parts, 1) || !slices.Contains(taken.Parts, noPart) {
		t.Errorf("parts %v", taken.Parts)
	}
	if _, err := readVRMLParts([]byte(nameless)); err != errNoParts {
		t.Errorf("without names: %v", err)
	}
}

// TestNamedParts: a data set of named parts has tags by category and name, none for what has no name; a file
// without names is left out with the reason.
func TestNamedParts(t *testing.T) {
	from := t.TempDir()
	for name, text := range map[string]string{"dip/a.wrl": named, "dip/b.wrl": named, "led/c.wrl": named, "led/d.wrl": nameless, "led/e.off": "OFF\n"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Find(from)
	if err != nil {
		t.Fatal(err)
	}
	d, left, err := Convert(t.Context(), files, filepath.Join(t.TempDir(), "data"), Options{Points: 100, Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(d.Manifest.LabelNames); got != "[dip/PIN dip/a-b4 led/PIN led/a-b4]" || d.Manifest.Splits["train"].Rows != 3 {
		t.Errorf("%s, %+v", got, d.Manifest.Splits)
	}
	if text := left.String(); !strings.Contains(text, "no names of parts") || !strings.Contains(text, "d.wrl: no material has a name") || left.Left() != 2 {
		t.Errorf("left out: %s", text)
	}
	r, err := d.Reader("train")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows.Len() {
		x := rows.Example(i)
		none := 0
		for at, label := range x.Labels {
			if label == seq.NoLabel {
				none++
			} else if label/2 != int32(strings.Index("dl", x.ID[:1])) || x.Features[at][2] < 0 && label%2 != 0 {
				t.Errorf("%s: point %v has the tag %s", x.ID, x.Features[at], d.Manifest.LabelNames[label])
			}
		}
		if none < 10 || none > 70 {
			t.Errorf("%s: %d points without a tag", x.ID, none)
		}
	}
}

// TestVRMLRefuses: what is missing of a surface, or is none, is an error with its line.
func TestVRMLRefuses(t *testing.T) {
	face := func(points, index string) string {
		return "Shape {\n geometry IndexedFaceSet { coord Coordinate { point [" + points + "] } coordIndex [" + index + "] } }"
	}
	again := "DEF a0 Group { children [ " + face("0 0 0 1 0 0 0 1 0", "0 1 2") + " ] }\n"
	for i := range 30 {
		again += strings.ReplaceAll("DEF aN Group { children [ USE aM USE aM ] }\n", "M", string(rune('0'+i)))
		again = strings.ReplaceAll(again, "N", string(rune('1'+i)))
	}
	for want, text := range map[string]string{
		`line 1: "#VRML V1.0 ascii", expected #VRML V2.0 utf8`: "#VRML V1.0 ascii\n",
		"expected }, found the end":                            "#VRML V2.0 utf8\nGroup { children [ ]",
		"line 3: expected ], found the end":                    "#VRML V2.0 utf8\nGroup { children [\n",
		`"children" has no value, found "}"`:                   "#VRML V2.0 utf8\nGroup { children }",
		`USE "b": no node is called so`:                        "#VRML V2.0 utf8\nGroup { children USE b }",
		"PROTO: expected nodes of the standard alone":          "#VRML V2.0 utf8\nPROTO A [] { }",
		"a node Box, expected all surfaces as IndexedFaceSet":  "#VRML V2.0 utf8\nShape { geometry Box { size 1 2 3 } }",
		"a node Inline, expected":                              "#VRML V2.0 utf8\nInline { url \"other.wrl\" }",
		"nodes within 200 others":                              "#VRML V2.0 utf8\n" + strings.Repeat("Group { children ", 300),
		"4 coordinates of points, expected 3 of each":          "#VRML V2.0 utf8\n" + face("0 0 0 1", "0 0 0"),
		"number 1: corner 3, expected 0 to 2":                  "#VRML V2.0 utf8\n" + face("0 0 0 1 0 0 0 1 0", "0 3 2"),
		"number 0: corner 0.5, expected":                       "#VRML V2.0 utf8\n" + face("0 0 0 1 0 0 0 1 0", "0.5 1 2"),
		"a face of 2 corners, expected at least 3":             "#VRML V2.0 utf8\n" + face("0 0 0 1 0 0 0 1 0", "0 1 -1"),
		`line 3: point: "1x", expected a number`:               "#VRML V2.0 utf8\n" + face("0 0 0 1x 0 0 0 1 0", "0 1 2"),
		"rotation: 3 numbers, expected 4":                      "#VRML V2.0 utf8\nTransform { rotation 0 0 1 }",
		"make more points than the file has bytes":             "#VRML V2.0 utf8\n" + again,
		`"Group", expected a node: its name and {, found ""`:   "#VRML V2.0 utf8\nGroup",
	} {
		s, err := readVRML([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %+v, %v, expected %q", text, s, err, want)
		}
	}
}
