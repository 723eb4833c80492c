package cloud

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// modelNet writes a folder in the layout of the point-cloud release of ModelNet40: a flower pot for
// training, a flower pot and a bed for test, each of two points.
func modelNet(t *testing.T) string {
	from := t.TempDir()
	write(t, filepath.Join(from, ModelNetClasses), "bed\nflower_pot\nsofa\n")
	write(t, filepath.Join(from, "modelnet40_train.txt"), "flower_pot_0001\n")
	write(t, filepath.Join(from, "modelnet40_test.txt"), "bed_0002\r\nflower_pot_0150\r\n")
	for _, name := range []string{"flower_pot/flower_pot_0001", "flower_pot/flower_pot_0150", "bed/bed_0002"} {
		write(t, filepath.Join(from, name+".txt"), "0.5,0.0,0.0,0.0,0.6,0.8\n-0.5,0.0,0.0,1.0,0.0,0.0\n")
	}
	return from
}

// TestModelNet checks that the folder's lists determine classes and splits, and that points keep
// their normals.
func TestModelNet(t *testing.T) {
	from := modelNet(t)
	d, skipped, err := convert(t, from, Options{Points: 9})
	if err != nil || skipped.Read != 3 || skipped.Left() != 0 {
		t.Fatalf("got report %q for %d rows, error %v; want 3 rows and none left out", skipped, skipped.Read, err)
	}
	if m := d.Manifest; !reflect.DeepEqual(m.LabelNames, []string{"bed", "flower_pot"}) || len(m.FeatureNames) != 6 {
		t.Errorf(`got labels %q and features %q, want ["bed" "flower_pot"] and 6 names`, m.LabelNames, m.FeatureNames)
	}
	for split, want := range map[string]map[string]string{
		"train": {"flower_pot/flower_pot_0001": "flower_pot"}, "val": {},
		"test": {"flower_pot/flower_pot_0150": "flower_pot", "bed/bed_0002": "bed"},
	} {
		if got := ids(t, d, split); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", split, got, want)
		}
	}
	if _, features := rowsOf(t, d, "test"); !reflect.DeepEqual(features["bed/bed_0002"],
		[][]float32{{1, 0, 0, 0, 0.6, 0.8}, {-1, 0, 0, 1, 0, 0}}) {
		t.Errorf("got features %v of the bed, want [[1 0 0 0 0.6 0.8] [-1 0 0 1 0 0]]", features["bed/bed_0002"])
	}
	d, _, err = convert(t, from, Options{Points: 9, ValPart: 0.999})
	if err != nil || d.Manifest.Splits["val"].Rows != 1 || d.Manifest.Splits["test"].Rows != 2 {
		if err != nil {
			t.Fatalf("with ValPart: %v", err)
		}
		t.Errorf("with ValPart: got %d val and %d test rows, want 1 and 2", d.Manifest.Splits["val"].Rows,
			d.Manifest.Splits["test"].Rows)
	}
}

// TestModelNetLeftOut checks that clouds without a class, unlisted clouds, and listed files that do
// not exist are left out with a reason. Errors for invalid lists must name the line.
func TestModelNetLeftOut(t *testing.T) {
	from := modelNet(t)
	write(t, filepath.Join(from, "lamp/lamp_0001.txt"), "0 0 0 0 0 1\n")
	write(t, filepath.Join(from, "bed/bed_0003.txt"), "0 0 0 0 0 1\n")
	if err := os.Remove(filepath.Join(from, "flower_pot/flower_pot_0150.txt")); err != nil {
		t.Fatal(err)
	}
	_, skipped, err := convert(t, from, Options{Points: 5})
	const want = `1 of 5 rows left out: no file
  flower_pot/flower_pot_0150.txt: the file is listed in modelnet40_train.txt or modelnet40_test.txt
1 of 5 rows left out: no label
  lamp/lamp_0001.txt: folder "lamp", expected a folder that is listed in modelnet40_shape_names.txt
1 of 5 rows left out: no split
  bed/bed_0003.txt: the file is not listed in modelnet40_train.txt or modelnet40_test.txt
1 of 5 rows repeat the points of an earlier row, 1 of them with another label, and are kept
  flower_pot/flower_pot_0001.txt
1 of 5 rows have the points of a row in another split: a model evaluated on them has seen their points in training
  flower_pot/flower_pot_0001.txt
`
	if report := strings.ReplaceAll(skipped.String(), from+"/", ""); err != nil || report != want {
		t.Errorf("got\n%s\nwant\n%s, error %v", report, want, err)
	}
	for _, c := range []struct{ file, text, want string }{
		{ModelNetClasses, "bed\nflower pot\n",
			`modelnet40_shape_names.txt: line 2: "flower pot", expected the name of a class`},
		{ModelNetClasses, "bed\n../bed\n", `line 2: "../bed", expected the name of a class`},
		{ModelNetClasses, "bed\nbed\n", `line 2: duplicate class "bed"`},
		{ModelNetClasses, "\n", "expected the names of classes, found none"},
		{"modelnet40_train.txt", "bed_0002\nsofa\n", `modelnet40_train.txt: line 2: "sofa", expected CLASS_NUMBER`},
		{"modelnet40_train.txt", "lamp_0001\n",
			`line 1: "lamp_0001", expected CLASS_NUMBER, with a class that modelnet40_shape_names.txt lists`},
		{"modelnet40_train.txt", "bed_/../1\n", `line 1: "bed_/../1", expected CLASS_NUMBER`},
		{"modelnet40_test.txt", "flower_pot_0001\n", "flower_pot_0001 is also listed for train"},
	} {
		from := modelNet(t)
		write(t, filepath.Join(from, c.file), c.text)
		if _, err := Find(from); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got error %v, want %s", c.file, c.text, err, c.want)
		}
	}
	if err := os.Remove(filepath.Join(from, "modelnet40_test.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(from); err == nil || !strings.Contains(err.Error(), "modelnet40_test.txt is missing") {
		t.Errorf("got error %v, want one for the missing modelnet40_test.txt", err)
	}
}

// TestKnownLabels checks that labels are numbered as in a known specification, and that files with
// other classes or parts, or without normals, are left out.
func TestKnownLabels(t *testing.T) {
	features := append(append([]string{}, seq.PositionNames...), seq.NormalNames...)
	from := modelNet(t)
	spec := seq.Spec{Task: seq.Classification, Name: "known", LabelNames: []string{"sofa", "flower_pot",
		"desk"}, FeatureNames: features}
	d, skipped, err := convert(t, from, Options{Points: 5, Spec: &spec})
	want := `bed_0002.txt: "bed", expected one of sofa, flower_pot, desk`
	if err != nil || !reflect.DeepEqual(d.Manifest.LabelNames, spec.LabelNames) || d.Manifest.Name != "known" ||
		!strings.Contains(skipped.String(), want) {
		if err != nil {
			t.Fatalf("got error %v and report %s", err, skipped)
		}
		t.Fatalf("got labels %q, name %q and report %s; want %q, known and %s in the report", d.Manifest.LabelNames,
			d.Manifest.Name, skipped, spec.LabelNames, want)
	}
	if got := ids(t, d, "test"); !maps.Equal(got, map[string]string{"flower_pot/flower_pot_0150": "flower_pot"}) {
		t.Errorf("got test rows %v, want only the flower pot", got)
	}
	write(t, filepath.Join(from, "flower_pot/flower_pot_0001.txt"), "0,0,0\n1,1,1\n")
	if _, skipped, err = convert(t, from, Options{Points: 5, Spec: &spec}); err != nil ||
		!strings.Contains(skipped.String(), "no normals, expected normals\n") {
		t.Errorf("got report %s and error %v, want the flower pot without normals left out", skipped, err)
	}
	spec.LabelNames = []string{"desk"}
	if _, _, err = convert(t, from, Options{Points: 5, Spec: &spec}); err == nil ||
		!strings.Contains(err.Error(), "no row can be used") {
		t.Errorf("got error %v, want none of the 3 rows used", err)
	}
	parts := seq.Spec{Task: seq.Tagging, Name: "parts", LabelNames: []string{"Mug/36", "Cap/6", "Mug/37", "Airplane/0",
		"Airplane/2"}, FeatureNames: features}
	d, skipped, err = convert(t, shapeNetPart(t), Options{Points: 5, Parts: true, Spec: &parts})
	want = "a2.txt: \"Airplane/1\", expected one of Airplane/0, Airplane/2\n"
	if err != nil || !reflect.DeepEqual(d.Manifest.LabelNames, parts.LabelNames) ||
		!strings.Contains(skipped.String(), want) {
		if err != nil {
			t.Fatalf("got error %v and report %s", err, skipped)
		}
		t.Fatalf("got labels %q and report %s; want %q and %s in the report", d.Manifest.LabelNames, skipped,
			parts.LabelNames, want)
	}
	tags := map[string]string{"02691156/a1": "Airplane/2 Airplane/0 Airplane/0", "03797390/m1": "Mug/37 Mug/36"}
	if got, _ := rowsOf(t, d, "train"); !maps.Equal(got, tags) {
		t.Errorf("got tags %v, want %v", got, tags)
	}
}

// TestDrawn checks that points are drawn with replacement and keep their normals and parts, even if
// more points are requested than exist, and that another seed draws other points.
func TestDrawn(t *testing.T) {
	o := Options{Points: 400, Parts: true, Drawn: true}
	from := shapeNetPart(t)
	d, _, err := convert(t, from, o)
	if err != nil {
		t.Fatal(err)
	}
	tags, features := rowsOf(t, d, "train")
	counts := map[string]int{}
	for i, name := range strings.Fields(tags["02691156/a1"]) {
		row := features["02691156/a1"][i]
		counts[name]++
		if up := row[5] == 1; up != (name == "Airplane/2") || up != (row[2] > 0) {
			t.Fatalf("point %v has tag %s", row, name)
		}
	}
	if counts["Airplane/2"]+counts["Airplane/0"] != 400 || counts["Airplane/2"] < 100 || counts["Airplane/2"] > 170 {
		t.Errorf("got %v, want about one third and two thirds", counts)
	}
	o.Seed = 5
	other, _, err := convert(t, from, o)
	if err != nil || other.Fingerprint() == d.Fingerprint() {
		t.Errorf("another seed produces the same data set; error %v", err)
	}
}
