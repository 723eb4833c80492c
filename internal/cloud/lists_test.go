package cloud

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMissingFiles checks that listed files which do not exist are reported in the order of their
// names, with the class of their folder. They must not count as files of the class.
func TestMissingFiles(t *testing.T) {
	from := shapeNetPart(t)
	train := []string{`"shape_data/02691156/a1"`}
	for i := range 9 {
		train = append(train, fmt.Sprintf(`"shape_data/03797390/x%d"`, 8-i))
	}
	write(t, filepath.Join(from, fmt.Sprintf(ShapeNetLists, "train")), "["+strings.Join(train, ",")+"]")
	files, err := Find(from)
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, f := range files.list {
		if f.excluded != nil && strings.Contains(f.relative, "/x") {
			missing = append(missing, f.relative)
			if f.class != "Mug" {
				t.Errorf("%s has class %s, want Mug", f.relative, f.class)
			}
		}
	}
	if len(missing) != 9 || !slices.IsSorted(missing) {
		t.Errorf("got missing files %v, want 9 in sorted order", missing)
	}
	// Mugs m2 and m3 exist, m1 is in no list; airplane a1 exists, and a2 is in no list.
	if removed := files.ExcludeSmallClasses(2); !slices.Equal(removed, []string{"Airplane"}) ||
		!slices.Equal(files.Classes, []string{"Mug"}) {
		t.Errorf("left out %v, kept %v, want Airplane left out and Mug kept", removed, files.Classes)
	}
	if removed := files.ExcludeSmallClasses(3); !slices.Equal(removed, []string{"Mug"}) || len(files.Classes) != 0 {
		t.Errorf("left out %v, kept %v, want Mug left out", removed, files.Classes)
	}
}

// TestLists checks that a list which is too large or malformed is an error.
func TestLists(t *testing.T) {
	from := modelNet(t)
	list := filepath.Join(from, "modelnet40_train.txt")
	for text, want := range map[string]string{
		"flower_pot_0001\nflower_pot_0001\n": "modelnet40_train.txt: line 2: flower_pot_0001 is also listed for train",
		"bed_\xff\n":                         `line 1: "bed_\xff", expected CLASS_NUMBER`,
	} {
		write(t, list, text)
		if _, err := Find(from); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if err := os.Truncate(list, maxListBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(from); err == nil || err.Error() != list+": larger than 67108864 bytes" {
		t.Errorf("got error %v, want the list refused for its size", err)
	}
	// In a folder with the lists of both layouts, the lists of ShapeNetPart are read first.
	write(t, filepath.Join(from, ShapeNetCategories), "Mug\n")
	if _, err := Find(from); err == nil || !strings.Contains(err.Error(), ShapeNetCategories+": line 1") {
		t.Errorf("got error %v, want one for line 1 of %s", err, ShapeNetCategories)
	}
}

// TestMissingSplits checks that files which are left out before reading need no split.
func TestMissingSplits(t *testing.T) {
	from := modelNet(t)
	write(t, filepath.Join(from, "bed/bed_0003.txt"), "0 0 0 0 0 1\n") // in no list
	write(t, filepath.Join(from, "lamp/lamp_0001.txt"), "0 0 0 0 0 1\n")
	write(t, filepath.Join(from, "stray.off"), "OFF\n")
	files, err := Find(from)
	if err != nil {
		t.Fatal(err)
	}
	if unassigned, training := files.MissingSplits(); unassigned || !training {
		t.Errorf("MissingSplits returned %v, %v, want false, true", unassigned, training)
	}
	plain := t.TempDir()
	write(t, filepath.Join(plain, "a/0.xyz"), "0 0 0\n")
	if files, err = Find(plain); err != nil {
		t.Fatal(err)
	}
	if unassigned, _ := files.MissingSplits(); !unassigned {
		t.Error("MissingSplits returned false for a file without a split folder")
	}
}
