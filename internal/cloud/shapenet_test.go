package cloud

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/seq"
)

// shapeNetPart writes a folder in ShapeNetPart's layout. For training there are a mug and two
// airplanes: one with three points of the parts 0 and 2, one with part 1. Validation and test have a
// mug each.
func shapeNetPart(t *testing.T) string {
	from := t.TempDir()
	write(t, filepath.Join(from, ShapeNetCategories), "Mug\t03797390\nAirplane\t02691156\n")
	for split, clouds := range map[string]string{
		"train": `["shape_data/02691156/a1", "shape_data/03797390/m1", "shape_data/02691156/a2"]`,
		"val":   `["shape_data/03797390/m2"]`, "test": `["shape_data/03797390/m3"]`,
	} {
		write(t, filepath.Join(from, fmt.Sprintf(ShapeNetLists, split)), clouds)
	}
	write(t, filepath.Join(from, "02691156/a1.txt"),
		"0.0 0.0 0.5 0.0 0.0 1.0 2.000000\n0.5 0.0 0.0 1.0 0.0 0.0 0.000000\n-0.5 0.0 0.0 -1.0 0.0 0.0 0.000000\n")
	write(t, filepath.Join(from, "02691156/a2.txt"), "0 0 0 0 0 1 1\n1 0 0 0 0 1 1\n")
	for _, name := range []string{"m1", "m2", "m3"} {
		write(t, filepath.Join(from, "03797390", name+".txt"), "0 0 0 0 0 1 37\n1 1 1 0 1 0 36\n")
	}
	return from
}

// rowsOf returns the tags of the rows of a split, as names, and their features, both by id.
func rowsOf(t *testing.T, d *seq.Dataset, split string) (tags map[string]string, features map[string][][]float32) {
	t.Helper()
	r, err := d.Reader(split)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tags, features = map[string]string{}, map[string][][]float32{}
	for {
		rows, err := r.Next()
		if err == io.EOF {
			return tags, features
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows.Len() {
			e := rows.Example(i)
			var names []string
			for _, label := range e.Labels {
				names = append(names, d.Manifest.LabelNames[label])
			}
			id := strings.Clone(e.ID)
			tags[id] = strings.Join(names, " ")
			for _, point := range e.Features {
				features[id] = append(features[id], slices.Clone(point))
			}
		}
	}
}

// TestShapeNetPart checks that the folder's lists determine categories and splits, that each point
// keeps its tag and normal, and that the same folder produces the same data set.
func TestShapeNetPart(t *testing.T) {
	from := shapeNetPart(t)
	o := Options{Points: 9, Parts: true}
	d, skipped, err := convert(t, from, o)
	if err != nil || skipped.Read != 5 || skipped.Left() != 0 {
		t.Fatalf("got report %q for %d rows, error %v; want 5 rows and none left out", skipped, skipped.Read, err)
	}
	if m := d.Manifest; m.Task != seq.Tagging ||
		!reflect.DeepEqual(m.LabelNames, []string{"Airplane/0", "Airplane/1", "Airplane/2", "Mug/36", "Mug/37"}) ||
		len(m.FeatureNames) != 6 {
		t.Errorf("got task %s, labels %q and features %q; want %s, Airplane/0 to 2, Mug/36 and 37, and 6 names",
			m.Task, m.LabelNames, m.FeatureNames, seq.Tagging)
	}
	for split, want := range map[string]map[string]string{
		"train": {"02691156/a1": "Airplane/2 Airplane/0 Airplane/0", "02691156/a2": "Airplane/1 Airplane/1",
			"03797390/m1": "Mug/37 Mug/36"},
		"val": {"03797390/m2": "Mug/37 Mug/36"}, "test": {"03797390/m3": "Mug/37 Mug/36"},
	} {
		if got, _ := rowsOf(t, d, split); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", split, got, want)
		}
	}
	_, features := rowsOf(t, d, "train")
	if a := features["02691156/a1"]; len(a) != 3 || a[0][2] <= 0 || a[0][5] != 1 || a[1][0] <= 0 ||
		a[1][3] != 1 || a[2][3] != -1 {
		t.Errorf("got the airplane %v, want 3 points: z > 0 and normal z 1, x > 0 and normal x 1, normal x -1", a)
	}
	again, _, err := convert(t, from, o)
	if err != nil || again.Fingerprint() != d.Fingerprint() {
		t.Errorf("the data sets of two conversions differ; error %v", err)
	}
	o.Parts = false
	if d, _, err = convert(t, from, o); err != nil || d.Manifest.Task != seq.Classification ||
		!reflect.DeepEqual(d.Manifest.LabelNames, []string{"Airplane", "Mug"}) || d.Manifest.Splits["train"].Rows != 3 {
		if err != nil {
			t.Fatalf("without parts: %v", err)
		}
		t.Errorf(`without parts: got task %s, labels %q and %d train rows; want %s, ["Airplane" "Mug"] and 3`,
			d.Manifest.Task, d.Manifest.LabelNames, d.Manifest.Splits["train"].Rows, seq.Classification)
	}
}

// TestPartsTaken checks that sampled points keep their parts.
func TestPartsTaken(t *testing.T) {
	from, lines := t.TempDir(), ""
	for i := range 50 {
		lines += fmt.Sprintf("%d 0 0 %d\n", i, i/25)
	}
	write(t, filepath.Join(from, "rod/1.xyz"), lines)
	d, skipped, err := convert(t, from, Options{Points: 20, Parts: true})
	if err != nil || skipped.Left() != 0 {
		t.Fatalf("got report %q, error %v; want no row left out", skipped, err)
	}
	tags, features := rowsOf(t, d, "train")
	names := strings.Fields(tags["rod/1"])
	if len(names) != 20 || !reflect.DeepEqual(d.Manifest.LabelNames, []string{"rod/0", "rod/1"}) {
		t.Fatalf(`got tags %q and labels %q, want 20 tags and labels ["rod/0" "rod/1"]`, names, d.Manifest.LabelNames)
	}
	end := float32(-9)
	for i, row := range features["rod/1"] {
		if names[i] == "rod/0" {
			end = max(end, row[0])
		}
	}
	for i, row := range features["rod/1"] {
		if (names[i] == "rod/1") != (row[0] > end) {
			t.Errorf("point %v has tag %s, want rod/1 exactly for x > %v", row, names[i], end)
		}
	}
}

// TestShapeNetLeftOut checks that clouds without a category, split, file or valid part are left out with
// a reason, and that errors for invalid lists name the line or entry.
func TestShapeNetLeftOut(t *testing.T) {
	from := shapeNetPart(t)
	write(t, filepath.Join(from, "99/x.txt"), "0 0 0 0 0 1 1\n")
	write(t, filepath.Join(from, "03797390/m4.txt"), "0 0 0 0 0 1 36\n")
	write(t, filepath.Join(from, "02691156/a2.txt"), "0 0 0 0 0 1 1\n1 0 0 0 0 1 1.5\n")
	write(t, filepath.Join(from, "03797390/m1.txt"), "0 0 0 0 0 1\n")
	if err := os.Remove(filepath.Join(from, "03797390/m2.txt")); err != nil {
		t.Fatal(err)
	}
	d, skipped, err := convert(t, from, Options{Points: 5, Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Manifest.LabelNames; !reflect.DeepEqual(got, []string{"Airplane/0", "Airplane/2", "Mug/36", "Mug/37"}) {
		t.Errorf("got labels %q, want Airplane/0, Airplane/2, Mug/36 and Mug/37", got)
	}
	const want = `1 of 7 rows left out: no file
  03797390/m2.txt: the file is listed in a list of train_test_split
1 of 7 rows left out: no label
  99/x.txt: folder "99", expected a folder that is listed in synsetoffset2category.txt
1 of 7 rows left out: no split
  03797390/m4.txt: the file is not listed in a list of train_test_split
2 of 7 rows left out: the file cannot be read
  02691156/a2.txt: line 2: part "1.5", expected a whole number from 0 to 65535
  03797390/m1.txt: line 1: found 6 numbers, expected 4 or 7: a point, an optional normal, and a part
`
	if report := strings.ReplaceAll(skipped.String(), from+"/", ""); report != want {
		t.Errorf("got\n%s\nwant\n%s", report, want)
	}
	for _, c := range []struct{ file, text, want string }{
		{ShapeNetCategories, "Mug 1 2\n", "synsetoffset2category.txt: line 1: found 3 words"},
		{ShapeNetCategories, "Mug 1\nCup 1\n", `line 2: folder "1" is already the folder of "Mug"`},
		{ShapeNetCategories, "\n", "found none"},
		{"train_test_split/shuffled_val_file_list.json", `["shape_data/03797390/m1"]`,
			"shuffled_val_file_list.json: entry 0: 03797390/m1 is also listed for train"},
		{"train_test_split/shuffled_val_file_list.json", `["m1"]`, `entry 0: "m1", expected shape_data/FOLDER/NAME`},
		{"train_test_split/shuffled_val_file_list.json", `["a/../x"]`,
			`entry 0: "a/../x", expected shape_data/FOLDER/NAME`},
		{"train_test_split/shuffled_test_file_list.json", `{}`, "expected a JSON list of strings"},
	} {
		from := shapeNetPart(t)
		write(t, filepath.Join(from, c.file), c.text)
		if _, err := Find(from); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got error %v, want %q", c.file, c.text, err, c.want)
		}
	}
}

// TestPartsWithNames checks that a first line of column names is skipped before points with parts, with
// or without capitals, quotes, // or #.
func TestPartsWithNames(t *testing.T) {
	for _, names := range []string{"", "x y z part\n", "X Y Z part\n", `"x","y","z","part"` + "\n", "//X Y Z part\n",
		"# x y z p\n"} {
		s, err := readParts([]byte(names + "0 0 0 1\n1 0 0 2\n0 1 0 1\n"))
		if err != nil || !slices.Equal(s.Parts, []int{1, 2, 1}) {
			t.Errorf("%q: got %+v, error %v; want parts [1 2 1]", names, s, err)
		}
	}
}
