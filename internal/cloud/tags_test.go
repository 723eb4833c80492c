package cloud

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// material is a scene of a triangle whose material is called so.
func material(name string) string {
	return "#VRML V2.0 utf8\nShape { appearance Appearance { material DEF " + name + " Material { diffuseColor 1 0 0 } }\n" +
		"geometry IndexedFaceSet { coord Coordinate { point [0 0 0 1 0 0 0 1 0] } coordIndex [0 1 2] } }\n"
}

// TestTagNames: a material that is called as a part is numbered is that part, and no two tags have one
// name, whatever bytes it is of.
func TestTagNames(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "dip/train/a.xyz"), "0 0 0 0 0 1 3\n1 1 1 0 0 1 3\n")
	for name, text := range map[string]string{"b": "3", "c": "03", "d": "P\xff", "e": "P\xfe", "f": "-01"} {
		write(t, filepath.Join(from, "dip/train", name+".wrl"), material(text))
	}
	d, left, err := convert(t, from, Options{Points: 2, Parts: true})
	if err != nil || left.Left() > 0 {
		t.Fatal(err, left)
	}
	if got, want := fmt.Sprintf("%q", d.Manifest.LabelNames), `["dip/3" "dip/-01" "dip/03" "dip/P�"]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestKnownPartNames: of a specification that is known before, a face has the part that its material is
// called, and none where it says none.
func TestKnownPartNames(t *testing.T) {
	from := t.TempDir()
	write(t, filepath.Join(from, "Mug/train/a.wrl"), material("handle"))
	write(t, filepath.Join(from, "Mug/train/b.wrl"), material("body")+"Shape { geometry IndexedFaceSet { coord Coordinate { point [0 0 9 1 0 9 0 1 9] } coordIndex [0 1 2] } }\n")
	spec := seq.Spec{Task: seq.Tagging, Name: "parts", LabelNames: []string{"Mug/0", "Mug/handle", "Mug/body"}, FeatureNames: slices.Concat(seq.PositionNames, seq.NormalNames)}
	d, left, err := convert(t, from, Options{Points: 40, Parts: true, Spec: &spec})
	if err != nil || left.Left() > 0 {
		t.Fatal(err, left)
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
		e := rows.Example(i)
		met := map[int32]bool{}
		for _, label := range e.Labels {
			met[label] = true
		}
		if want := map[string]map[int32]bool{"Mug/train/a": {1: true}, "Mug/train/b": {2: true, seq.NoLabel: true}}[e.ID]; !maps.Equal(met, want) {
			t.Errorf("%s: labels %v, want %v", e.ID, met, want)
		}
	}
}
